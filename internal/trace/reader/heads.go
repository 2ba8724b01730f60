package reader

import (
	"bytes"

	"github.com/taktload/takt/internal/trace/stamp"
)

// behindHead removes the head that syslog or a container runtime has put before a line. It
// returns a line without a head unchanged.
func behindHead(line []byte) []byte {
	if rest := headless(line); len(rest) > 0 {
		return rest
	}
	return line
}

func headless(line []byte) []byte {
	if len(line) < 20 || line[0] != '<' && line[3] != ' ' && line[4] != '-' {
		return line // most lines end here
	}
	rest := line
	if rest[0] == '<' {
		number := bytes.IndexByte(rest[:6], '>')
		if number < 2 || stamp.Digits(rest[1:number]) < 0 {
			return line
		}
		rest = rest[number+1:]
		if after, ok := bytes.CutPrefix(rest, []byte("1 ")); ok {
			return firstOf(behindFields(after), line)
		}
	}
	if after := behindMonth(rest); after != nil {
		return firstOf(behindTag(after), line)
	}
	stamp, after, _ := bytes.Cut(rest, []byte(" "))
	if len(stamp) < 20 || stamp[4] != '-' || stamp[10] != 'T' {
		return line
	}
	return firstOf(firstOf(behindStream(after), behindTag(after)), line)
}

// firstOf is a, or b if a is nil.
func firstOf(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}

// behindMonth cuts off "Feb  6 12:14:14 ", the stamp of RFC 3164; nil if v has none.
func behindMonth(v []byte) []byte {
	if len(v) < 16 || stamp.MonthOf(v[:3]) < 0 || v[3] != ' ' || v[6] != ' ' || v[9] != ':' || v[12] != ':' || v[15] != ' ' {
		return nil
	}
	return v[16:]
}

// behindTag cuts off "host program[12]: "; nil if v has none.
func behindTag(v []byte) []byte {
	_, rest, _ := bytes.Cut(v, []byte(" "))
	tag, rest, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(tag) < 2 || tag[len(tag)-1] != ':' {
		return nil
	}
	return rest
}

// behindStream cuts off "stdout F ", which container runtimes write after the stamp (the CRI
// log format of Kubernetes); nil if v has none.
func behindStream(v []byte) []byte {
	for _, head := range []string{"stdout F ", "stderr F "} {
		if rest, ok := bytes.CutPrefix(v, []byte(head)); ok {
			return rest
		}
	}
	return nil
}

// behindFields cuts off stamp, host, program, process, message id and structured data (RFC
// 5424); nil if v lacks them.
func behindFields(v []byte) []byte {
	for range 5 {
		_, rest, ok := bytes.Cut(v, []byte(" "))
		if !ok {
			return nil
		}
		v = rest
	}
	if len(v) > 1 && v[0] == '[' {
		if end := bytes.Index(v, []byte("] ")); end > 0 {
			return v[end+2:]
		}
		return nil
	}
	rest, _ := bytes.CutPrefix(v, []byte("- "))
	return bytes.TrimPrefix(rest, []byte("\ufeff"))
}
