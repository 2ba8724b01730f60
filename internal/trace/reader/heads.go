package reader

import (
	"bytes"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/trace/parse"
)

// head removes what stands around a line of a server: the heads of syslog, of container runtimes
// and of docker compose, and the JSON in which Docker and journald keep lines.
type head struct {
	memory []byte // the line of the last JSON object, without its escapes
}

// behind returns the line of the server. A line without a head is unchanged.
func (h *head) behind(line []byte) []byte {
	if rest := behindService(line); rest != nil {
		line = rest
	}
	if inner := h.wrapped(line); inner != nil {
		line = inner
	}
	if rest := headless(line); len(rest) > 0 {
		return rest
	}
	return line
}

// Members of the objects of Docker's driver json-file and of journalctl -o json.
var (
	dockerStart = []byte(`{"log":"`)
	dockerEnd   = []byte(`","stream":"`)
	journalMark = []byte(`"__REALTIME_TIMESTAMP":"`)
	journalLine = []byte(`"MESSAGE":"`)
)

// wrapped returns the line inside an object; nil: it is no such object.
func (h *head) wrapped(line []byte) []byte {
	if len(line) == 0 || line[0] != '{' {
		return nil
	}
	inner, ok := bytes.CutPrefix(line, dockerStart)
	if ok = ok && bytes.Contains(inner, dockerEnd); !ok && isJournal(line) {
		_, inner, ok = bytes.Cut(line, journalLine)
	}
	end := -1
	if ok {
		end = parse.EndQuote(inner)
	}
	if end < 0 {
		return nil
	}
	h.memory = parse.Unescape(h.memory[:0], inner[:end])
	return bytes.TrimRight(h.memory, "\r\n")
}

// isJournal reports whether an object is of journald, whose names have no small letters: a name with
// one at the begin saves the search.
func isJournal(line []byte) bool {
	return len(line) > 2 && (line[2] < 'a' || line[2] > 'z') && bytes.Contains(line, journalMark)
}

// longestService is the largest number of bytes before the bar of docker compose.
const longestService = 64

// behindService cuts off "web-1  | ", which docker compose writes before a line; nil if v has none.
func behindService(v []byte) []byte {
	n := bytes.IndexByte(v[:min(len(v), longestService)], '|')
	if n < 2 || v[n-1] != ' ' || n+2 > len(v) || v[n+1] != ' ' {
		return nil
	}
	name := bytes.TrimRight(v[:n], " ")
	for _, c := range name {
		if !parse.IsDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && c != '-' && c != '_' && c != '.' {
			return nil
		}
	}
	if len(name) == 0 || len(v) == n+2 {
		return nil
	}
	return v[n+2:]
}

func headless(line []byte) []byte {
	if len(line) < 20 || line[0] != '<' && line[3] != ' ' && line[4] != '-' {
		return line // most lines end here
	}
	rest := line
	if rest[0] == '<' {
		number := bytes.IndexByte(rest[:6], '>')
		if number < 2 || parse.Digits(rest[1:number]) < 0 {
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
	return firstOf(firstOf(firstOf(behindStream(after), behindTag(after)), behindHost(after)), line)
}

// behindHost cuts off "host " before an object; nil if v has none.
func behindHost(v []byte) []byte {
	_, rest, _ := bytes.Cut(v, []byte(" "))
	if rest = bytes.TrimLeft(rest, " "); len(rest) > 0 && rest[0] == '{' {
		return rest
	}
	return nil
}

// messages are the members in which collectors of logs keep the line of a server.
var messages = [][]byte{[]byte(`"message":`), []byte(`"log":`), []byte(`"textPayload":`), []byte(`"original":`), []byte(`"line":`), []byte(`"_raw":`)}

// message returns the line of the server that an object contains, beside what the collector knows of it; nil: it
// contains none.
func (h *head) message(line []byte) []byte {
	if len(line) == 0 || line[0] != '{' {
		return nil
	}
	for _, name := range messages {
		_, inner, ok := bytes.Cut(line, name)
		if inner = bytes.TrimLeft(inner, " "); !ok || len(inner) == 0 || inner[0] != '"' {
			continue
		}
		end := parse.EndQuote(inner[1:])
		if end < 1 {
			continue
		}
		h.memory = parse.Unescape(h.memory[:0], inner[1:end+1])
		text := bytes.TrimSpace(h.memory)
		if rest := new(head).behind(text); len(rest) < len(text) {
			text = rest
		} else if rest := behindTag(text); rest != nil {
			text = rest
		}
		if len(text) > 0 {
			return text
		}
	}
	return nil
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
	if len(v) < 16 || parse.MonthOf(v[:3]) < 0 || v[3] != ' ' || v[6] != ' ' || v[9] != ':' || v[12] != ':' || v[15] != ' ' {
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
	return files.TextOf(rest) // RFC 5424, 6.4
}
