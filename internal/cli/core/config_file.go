package core

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/files"
)

// maxConfig is the largest config file, in bytes.
const maxConfig = 1 << 20

// configStdin is the path that means standard input; stdinName is its name in faults.
const (
	configStdin = "-"
	stdinName   = "stdin"
)

// configLine is a line of a config file: a setting, or the head of a section, whose name is "".
//
//	# a comment; a line may also begin with ;
//	rate = 500/s            # a comment
//	header = "X-Id: 1 # 2"  # quoted as in Go: \" \\ \n
//	insecure                # on
//	[http]                  # the following lines are only for takt http
//	timeout = 5s
type configLine struct {
	number  int    // from 1
	section string // the command that the line is for; "": all commands
	name    string
	Value   string
	bare    bool // the line is a name without =
}

// Name is the name of the setting; "": the line begins a section.
func (l configLine) Name() string { return l.name }

// Where is the file and the number of the line.
func (l configLine) Where(file string) string { return fmt.Sprintf("%s:%d", file, l.number) }

// others is why another user decides what is in a config file; nil: none does. strangers leaves out the file's group.
type others struct{ any, strangers error }

// readConfig reads the whole file at path, or stdin.
func readConfig(path string, stdin io.Reader) (text string, o others, err error) {
	r := stdin
	if path != configStdin {
		f, err := files.Open(path)
		if err != nil {
			return "", o, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return "", o, err
		}
		o.any, o.strangers = door.Theirs(path, info)
		r = f
	}
	b, err := files.ReadAll(r, path, maxConfig)
	return string(b), o, err
}

// ParseConfig reads the text of a config file. Faults begin with file:line, and do not show the
// value, which may be a secret.
func ParseConfig(file, text string) (lines []configLine, faults []error) {
	section := ""
	text = string(files.TextOf([]byte(text)))
	for i, s := range strings.Split(text, "\n") {
		s = strings.TrimSpace(s)
		if s == "" || s[0] == '#' || s[0] == ';' {
			continue
		}
		l, err := parseLine(s)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: %w", file, i+1, err))
			continue
		}
		if l.name == "" {
			section = l.section
		}
		l.number, l.section = i+1, section
		lines = append(lines, l)
	}
	return lines, faults
}

// parseLine reads a line that is neither empty nor a comment.
func parseLine(s string) (l configLine, err error) {
	if s[0] == '[' {
		name, after, closed := strings.Cut(s[1:], "]")
		l.section = strings.TrimSpace(name)
		if !closed || l.section == "" || !isComment(after) {
			return l, errors.New("a section is written [COMMAND], such as [http]")
		}
		return l, nil
	}
	name, value, given := strings.Cut(s, "=")
	if !given {
		name, value = uncomment(name), ""
	}
	l.name, l.bare = strings.TrimSpace(name), !given
	if !isName(l.name) {
		return l, errors.New("the line does not begin with the name of a flag; write name = value, such as rate = 500/s")
	}
	l.Value, err = parseValue(strings.TrimSpace(value))
	if err != nil {
		return l, fmt.Errorf("bad %s: %w", l.name, err)
	}
	return l, nil
}

// parseValue removes the quotes or the comment.
func parseValue(s string) (string, error) {
	if s == "" || s[0] != '"' {
		return uncomment(s), nil
	}
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", errors.New(`the quoted value does not end, or has an unknown escape; a " within it is written \", a backslash \\`)
	}
	if !isComment(s[len(quoted):]) {
		return "", errors.New(`there is text after the quoted value; a " within it is written \"`)
	}
	return strconv.Unquote(quoted)
}

// uncomment removes a comment, which begins with a # after white space. A ; does not begin a
// comment here, because header values contain it.
func uncomment(s string) string {
	for i := range len(s) {
		if s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			s = s[:i]
			break
		}
	}
	return strings.TrimSpace(s)
}

// isComment reports whether s is empty or a comment.
func isComment(s string) bool {
	s = strings.TrimSpace(s)
	return s == "" || s[0] == '#' || s[0] == ';'
}

// isName reports whether s may be the name of a flag.
func isName(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) && (s[i] < '0' || s[i] > '9') && s[i] != '-' && s[i] != '_' && s[i] != '.' {
			return false
		}
	}
	return s != ""
}

// FormatValue writes a value so that parseValue can read it again, without quotes if possible.
func FormatValue(s string) string {
	printable := utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) })
	if s == "" || s[0] == '"' || s != uncomment(s) || !printable {
		return strconv.Quote(s)
	}
	return s
}
