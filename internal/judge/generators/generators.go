// Package generators judges other load generators: it reads what they print, and compares it with what the
// target recorded and with what users of the schedule felt. Package trial makes these figures. Each
// generator has a small file of rules, in the syntax of takt judge --read; only JMeter's table of samples
// has a reader of its own.
package generators

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed rules
var files embed.FS

// table are all readers: one for each file, and those in code.
var table = sync.OnceValue(func() (list []*Reader) {
	entries, err := files.ReadDir("rules")
	if err != nil {
		panic(err) // the files are part of the program
	}
	for _, e := range entries {
		text, err := files.ReadFile("rules/" + e.Name())
		if err == nil {
			var r *Reader
			if r, err = parse(e.Name(), string(text)); err == nil {
				list = append(list, r)
			}
		}
		if err != nil {
			panic(fmt.Sprintf("rules/%s: %v", e.Name(), err)) // a test reads all of them
		}
	}
	return append(list, jtl())
})

// parse reads a file of rules: a line each, and lines with # are comments. Besides rules a file has
//
//	is=REGEX     is in each output of this generator
//	not=REGEX    is in none
//	end=REGEX    is in each output that is whole; end=json: the output has one whole JSON value
//	ask=ARG ARG  with these arguments the program prints its version,
//	asked=REGEX  and this finds the version there
//	note=TEXT    what a reader of the verdict must know
//
// The name of the generator is the file's up to + or .
func parse(file, text string) (*Reader, error) {
	name, _, _ := strings.Cut(file, ".")
	name, _, _ = strings.Cut(name, "+")
	r := &Reader{Name: name}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := r.add(line); err != nil {
			return nil, err
		}
	}
	if len(r.marks) == 0 {
		return nil, errors.New("no line is=REGEX, so every output would be of this generator")
	}
	return r, nil
}

func (r *Reader) add(line string) (err error) {
	key, rest, _ := strings.Cut(line, "=")
	switch key {
	case "is", "not", "asked":
		p, err := compile(rest)
		switch {
		case err != nil:
			return fmt.Errorf("%q: %w", line, err)
		case key == "is":
			r.marks = append(r.marks, p)
		case key == "not":
			r.others = append(r.others, p)
		default:
			r.Asked = p
		}
	case "end":
		if r.json = rest == "json"; !r.json {
			r.end, err = compile(rest)
		}
		return err
	case "ask":
		r.Ask = strings.Fields(rest)
	case "note":
		r.Notes = append(r.Notes, rest)
	default:
		rule, err := ParseRule(line)
		if err != nil {
			return err
		}
		r.rules = append(r.rules, rule)
	}
	return nil
}

// Known are the names of the generators that takt can read.
func Known() (names []string) {
	for _, r := range table() {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Find returns the reader of an output.
func Find(text string) (*Reader, error) {
	var found []*Reader
	for _, r := range table() {
		if r.knows(text) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("the output is of no generator that takt can read (%s); say with --read where its figures are, as in --read 'p99=99%%: (\\S+) ms:ms'", strings.Join(Known(), ", "))
	case 1:
		return found[0], nil
	}
	var names []string
	for _, r := range found {
		names = append(names, r.Name)
	}
	return nil, fmt.Errorf("the output could be of %s; say with --read where its figures are", strings.Join(names, " or of "))
}
