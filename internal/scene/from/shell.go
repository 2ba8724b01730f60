package from

import (
	"fmt"
	"strconv"
	"strings"
)

// word is a word of a command, without its quotes.
type word struct {
	text string
	line int
}

// shellWords takes the text of a shell apart into commands. said gets what a shell would replace, with its line.
func shellWords(text string, said func(line int, what string)) (commands [][]word, err error) {
	s := shellReader{text: text, line: 1, said: said}
	for s.at < len(s.text) {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	s.endCommand()
	return s.commands, nil
}

type shellReader struct {
	text     string
	at, line int
	said     func(line int, what string)
	commands [][]word
	command  []word
	current  []byte
	begun    bool // a word has begun, which may be empty
	begin    int  // its line
}

func (s *shellReader) endWord() {
	if s.begun {
		s.command = append(s.command, word{string(s.current), s.begin})
	}
	s.current, s.begun = nil, false
}

func (s *shellReader) endCommand() {
	if s.endWord(); len(s.command) > 0 {
		s.commands = append(s.commands, s.command)
	}
	s.command = nil
}

func (s *shellReader) add(text string) {
	if !s.begun {
		s.begun, s.begin = true, s.line
	}
	s.current = append(s.current, text...)
	s.line += strings.Count(text, "\n")
}

// next reads a character outside of quotes, or all that is between quotes.
func (s *shellReader) next() error {
	rest := s.text[s.at:]
	c := rest[0]
	s.at++
	switch {
	case strings.HasPrefix(rest, "\\\r\n"):
		s.at += 2
		s.line++
	case strings.HasPrefix(rest, "\\\n"):
		s.at++
		s.line++
	case c == '\\' && len(rest) > 1:
		s.at++
		s.add(rest[1:2])
	case c == '\n':
		s.endCommand()
		s.line++
	case c == ';' || c == '|' || c == '&':
		s.endCommand()
	case c == ' ' || c == '\t' || c == '\r':
		s.endWord()
	case c == '#' && !s.begun:
		n := strings.IndexByte(rest, '\n')
		if n < 0 {
			n = len(rest)
		}
		s.at += n - 1
	case c == '\'':
		return s.single(rest)
	case c == '"':
		return s.double()
	case strings.HasPrefix(rest, "$'"):
		return s.ansi(rest)
	case c == '`' || c == '$':
		s.variable(rest)
	default:
		s.add(rest[:1])
	}
	return nil
}

func (s *shellReader) unclosed() error {
	return fmt.Errorf("line %d: a quote is not closed", s.line)
}

func (s *shellReader) single(rest string) error {
	n := strings.IndexByte(rest[1:], '\'')
	if n < 0 {
		return s.unclosed()
	}
	s.add(rest[1 : n+1])
	s.at += n + 1
	return nil
}

func (s *shellReader) double() error {
	s.add("")
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		s.at++
		switch {
		case rest[0] == '"':
			return nil
		case strings.HasPrefix(rest, "\\\n"):
			s.at++
			s.line++
		case rest[0] == '\\' && len(rest) > 1 && strings.IndexByte("\\\"$`", rest[1]) >= 0:
			s.at++
			s.add(rest[1:2])
		case rest[0] == '$' || rest[0] == '`':
			s.variable(rest)
		default:
			s.add(rest[:1])
		}
	}
	return s.unclosed()
}

// ansi reads $'…', which Chrome writes for what has quotes in it.
func (s *shellReader) ansi(rest string) error {
	var b []byte
	for i := 2; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\'':
			s.add(string(b))
			s.at += i
			return nil
		case c == '\\' && i+1 < len(rest):
			r, many, tail, err := strconv.UnquoteChar(rest[i:], '\'')
			if err != nil { // \" and what is no escape
				b = append(b, rest[i+1])
				i++
				continue
			}
			if i = len(rest) - len(tail) - 1; many {
				b = append(b, string(r)...)
			} else {
				b = append(b, byte(r))
			}
		default:
			b = append(b, c)
		}
	}
	return s.unclosed()
}

// variable leaves what a shell would replace as it is, and says so.
func (s *shellReader) variable(rest string) {
	n := 1
	for n < len(rest) && (rest[n] == '_' || rest[n]|0x20 >= 'a' && rest[n]|0x20 <= 'z' || n > 1 && rest[n] >= '0' && rest[n] <= '9') {
		n++
	}
	what := rest[:n]
	switch {
	case rest[0] == '`' || strings.HasPrefix(rest, "$("):
		s.said(s.line, "the output of a command ("+rest[:1]+"…) is not taken over; write the value itself")
	case strings.HasPrefix(rest, "${"):
		if i := strings.IndexByte(rest, '}'); i > 0 {
			what = rest[:i+1]
		}
		fallthrough
	case n > 1:
		s.said(s.line, what+" is a variable of the shell; write its value instead, or a placeholder such as {{file \"values.txt\"}}")
	}
	s.at += len(what) - 1
	s.add(what)
}
