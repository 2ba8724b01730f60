// Package properties reads the client properties of Kafka's Java clients, and says which flags of
// takt they mean. It changes nothing itself.
package properties

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/files"
)

// maxBytes limits a file. Real files have a few lines; one with
// certificates within it has some KiB.
const maxBytes = 1 << 20

// entry is a property as the file has it.
type entry struct {
	key, value string
	line       int  // number of its first line, from 1
	plain      bool // the line has no separator, so the key may be anything
}

// readFile reads a file. open: others can read it.
func readFile(path string) (list []entry, open bool, err error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	text, err := files.ReadAll(f, path, maxBytes)
	if err != nil {
		return nil, false, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	list, err = parse(text)
	if err != nil {
		return nil, false, fmt.Errorf("%s:%w", path, err)
	}
	return list, isOpen(info), nil
}

// parse reads the format of java.util.Properties, which Kafka's clients read as ISO 8859-1: what
// the broker knows as a password is what Java makes of the bytes. The last entry of a key counts.
// An error begins with the number of the line, and quotes nothing: a value may be a password.
func parse(text []byte) ([]entry, error) {
	text = files.TextOf(text)
	var list []entry
	for s := (scanner{rest: text}); ; {
		line, number, ok := s.logical()
		if !ok {
			return list, nil
		}
		e, err := cut(line)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", number, err)
		}
		e.line = number
		list = append(list, e)
	}
}

// scanner finds the lines of a file.
type scanner struct {
	rest []byte
	line int // number of the last natural line
}

// logical is the next line that is neither empty nor a comment, with its continuations, and the
// number of its first natural line.
func (s *scanner) logical() (line []byte, number int, ok bool) {
	for {
		natural, more := s.natural()
		if !more {
			return nil, 0, false
		}
		if len(natural) == 0 || natural[0] == '#' || natural[0] == '!' || string(natural) == `\` {
			continue // the line after a lone backslash may be a comment
		}
		number = s.line
		for continues(natural) {
			line = append(line, natural[:len(natural)-1]...)
			if natural, more = s.natural(); !more {
				return line, number, true
			}
		}
		return append(line, natural...), number, true
	}
}

// natural is the next line without leading blanks, which continuations have, too. It ends with
// \n, \r or \r\n.
func (s *scanner) natural() (line []byte, ok bool) {
	if len(s.rest) == 0 {
		return nil, false
	}
	s.line++
	end := bytes.IndexAny(s.rest, "\r\n")
	if end < 0 {
		line, s.rest = s.rest, nil
	} else {
		line = s.rest[:end]
		if s.rest[end] == '\r' && end+1 < len(s.rest) && s.rest[end+1] == '\n' {
			end++
		}
		s.rest = s.rest[end+1:]
	}
	return bytes.TrimLeft(line, blanks), true
}

const blanks = " \t\f"

// continues reports whether the line ends with an odd number of backslashes.
func continues(line []byte) bool {
	return (len(line)-len(bytes.TrimRight(line, `\`)))%2 == 1
}

// cut divides a line into key and value: at the first =, : or blank without a backslash.
func cut(line []byte) (e entry, err error) {
	end := 0
	for end < len(line) && !strings.ContainsRune(blanks+"=:", rune(line[end])) {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	rest := bytes.TrimLeft(line[end:], blanks)
	e.plain = len(rest) == 0 && end == len(line)
	if len(rest) > 0 && (rest[0] == '=' || rest[0] == ':') {
		rest = bytes.TrimLeft(rest[1:], blanks)
	}
	key, err1 := unescape(line[:end])
	value, err2 := unescape(rest)
	e.key, e.value = key, value
	return e, errors.Join(err1, err2)
}

var errEscape = errors.New(`a backslash with u needs four hexadecimal digits, as in \u00e9; write \\ for a backslash`)

// unescape replaces backslashes and decodes ISO 8859-1. Two escapes may be one character above
// U+FFFF, in UTF-16.
func unescape(text []byte) (string, error) {
	var b strings.Builder
	var units []uint16
	flush := func() {
		b.WriteString(decodeUTF16(units))
		units = units[:0]
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' || i+1 == len(text) {
			if c != '\\' { // Java drops a backslash at the end of the file
				flush()
				b.WriteRune(rune(c))
			}
			continue
		}
		i++
		if text[i] == 'u' {
			if i+4 >= len(text) {
				return "", errEscape
			}
			n, err := strconv.ParseUint(string(text[i+1:i+5]), 16, 16)
			if err != nil {
				return "", errEscape
			}
			units = append(units, uint16(n))
			i += 4
			continue
		}
		flush()
		if at := strings.IndexByte("tnrf", text[i]); at >= 0 {
			b.WriteByte("\t\n\r\f"[at])
		} else {
			b.WriteRune(rune(text[i]))
		}
	}
	flush()
	return b.String(), nil
}
