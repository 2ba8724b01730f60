package value

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrUnknownFlag is in the fault of a flag that a command does not have. The rest of such a fault quotes the line.
var ErrUnknownFlag = errors.New("unknown flag")

// Fault is a fault in the values of flags. It names the flags, so that a command can add where
// each value is from: the command line, the environment or a config file.
type Fault struct {
	Flags []string // long names, or single letters
	Text  string   // the value that is wrong, of a flag with several; "": all values of Flags
	err   error
}

func (f *Fault) Error() string { return f.err.Error() }
func (f *Fault) Unwrap() error { return f.err }

// Reworded is f with another text, and without its cause.
func (f *Fault) Reworded(text string) error { return &Fault{f.Flags, f.Text, errors.New(text)} }

// flagWord matches a flag in a format: --rate, -o or --%s.
var flagWord = regexp.MustCompile(`(?:^|[^\w-])--?([a-zA-Z][a-zA-Z0-9-]*|%s)`)

// Faultf is fmt.Errorf for a Fault of the flags that the format names before its first "; ", or
// if there are none, of those in the advice after it. The name of --%s is an argument.
func Faultf(format string, args ...any) error {
	f := &Fault{err: fmt.Errorf(format, args...)}
	end := strings.Index(format+"; ", "; ")
	for _, at := range flagWord.FindAllStringSubmatchIndex(format, -1) {
		if at[0] >= end && len(f.Flags) > 0 {
			break
		}
		name := format[at[2]:at[3]]
		if name == "%s" {
			before := strings.ReplaceAll(format[:at[2]], "%%", "")
			name = fmt.Sprint(args[strings.Count(before, "%")])
		}
		f.Flags = append(f.Flags, name)
	}
	return f
}

// About is err as a Fault of flags, whose names may begin with dashes.
func About(err error, flags ...string) error {
	if err == nil {
		return nil
	}
	f := &Fault{err: err}
	for _, name := range flags {
		f.Flags = append(f.Flags, strings.TrimLeft(name, "-"))
	}
	return f
}

// Bad is the Fault of a value of a flag: text, as the user wrote it.
func Bad(flag, text string, err error) error {
	if err == nil {
		return nil
	}
	return &Fault{[]string{flag}, text, err}
}
