package generators

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Said is what a generator said of its run.
type Said struct {
	Generator string             `json:"generator,omitempty"` // name of the reader
	Figures   map[string]float64 `json:"figures"`             // by the names of Names; latencies in ms; a figure that is not here was not printed
	Words     []string           `json:"words,omitempty"`     // warnings
	Invalid   bool               `json:"invalid,omitempty"`   // the generator itself calls the run invalid
	Version   string             `json:"version,omitempty"`
}

// Reader reads the output of one generator.
type Reader struct {
	Name  string
	Ask   []string // arguments with which the program prints its version; nil: none
	Asked *regexp.Regexp
	Notes []string // what a reader of the verdict must know

	marks  []*regexp.Regexp // all are in the output
	others []*regexp.Regexp // none is in the output
	end    *regexp.Regexp   // is in a whole output; nil: not known
	json   bool             // a whole output has one JSON value
	rules  []Rule
	own    func(text string) (Said, error) // instead of the rules
}

// knows reports whether the output looks like one of this generator.
func (r *Reader) knows(text string) bool {
	has := func(p *regexp.Regexp) bool { return p.MatchString(text) }
	return len(r.marks) > 0 && !slices.ContainsFunc(r.marks, func(p *regexp.Regexp) bool { return !has(p) }) && !slices.ContainsFunc(r.others, has)
}

// Read reads an output of this generator. A figure that has no match was not printed. The error says what
// cannot be read, and then no figure is: a text that is read wrongly is worse than one that is not read.
func (r *Reader) Read(text string) (Said, error) {
	if r.own != nil {
		said, err := r.own(text)
		if err != nil {
			return Said{}, fmt.Errorf("%s: %w", r.Name, err)
		}
		said.Generator = r.Name
		return said, nil
	}
	if !r.ends(text) {
		return Said{}, fmt.Errorf("%s: %w", r.Name, ErrNotWhole)
	}
	said := Said{Generator: r.Name, Figures: map[string]float64{}}
	read := figures{&said, map[string]bool{}}
	for i := range r.rules {
		if err := read.apply(&r.rules[i], text); err != nil {
			return Said{}, fmt.Errorf("%s: %s: %w", r.Name, r.rules[i].Name, err)
		}
	}
	for name, known := range read.known {
		if !known {
			delete(said.Figures, name)
		}
	}
	for name, v := range said.Figures {
		if v < 0 {
			return Said{}, fmt.Errorf("%s: %s is %g: less is counted than is subtracted", r.Name, name, v)
		}
	}
	if err := r.whole(said); err != nil {
		return Said{}, err
	}
	return said, nil
}

// ends reports whether the output has its end.
func (r *Reader) ends(text string) bool {
	if r.json {
		from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
		return from >= 0 && to > from && json.Valid([]byte(text[from:to+1]))
	}
	return r.end == nil || r.end.MatchString(text)
}

// whole is an error if the output counts no requests: it is not whole, or of another version.
func (r *Reader) whole(said Said) error {
	wants := slices.ContainsFunc(r.rules, func(rule Rule) bool { return rule.Name == Answered })
	if answered, ok := said.Figures[Answered]; wants && (!ok || answered+said.Figures[Errors] == 0) {
		return fmt.Errorf("%s: %w", r.Name, ErrNotWhole)
	}
	return nil
}

// ErrNotWhole is the fault of an output that ended before its figures.
var ErrNotWhole = errors.New("the output is not whole: the run ended early, or this version prints other words")

// figures are the figures of one output, while rules are applied.
type figures struct {
	said  *Said
	known map[string]bool // of figures with a rule of =: whether one matched
}

func (f *figures) apply(r *Rule, text string) error {
	matches := r.pattern.FindAllStringSubmatch(text, -1)
	if slices.Contains(texts(), r.Name) {
		f.text(r.Name, matches)
		return nil
	}
	if r.how == is {
		f.known[r.Name] = f.known[r.Name] || len(matches) > 0
	}
	total := 0.0
	for i, m := range matches {
		v, err := r.value(m[1])
		switch {
		case err != nil:
			return err
		case r.how != is:
			total += v
		case i > 0 && v != total:
			return fmt.Errorf("the output has different values, %q and %q; let the rule match one place only", matches[0][1], m[1])
		default:
			total = v
		}
	}
	if r.how == minus {
		total = -total
	}
	f.said.Figures[r.Name] += total
	return nil
}

func (f *figures) text(name string, matches [][]string) {
	for _, m := range matches {
		switch word := strings.TrimSpace(m[1]); {
		case word == "":
		case name == Version:
			f.said.Version = word
		case name == Invalid:
			f.said.Invalid = true
		case !slices.Contains(f.said.Words, word):
			f.said.Words = append(f.said.Words, word)
		}
	}
}

// Custom is a reader of rules that somebody gave.
func Custom(texts []string) (*Reader, []error) {
	r, faults := &Reader{Name: "--read"}, []error(nil)
	for _, text := range texts {
		rule, err := ParseRule(text)
		if err != nil {
			faults = append(faults, err)
		}
		r.rules = append(r.rules, rule)
	}
	return r, faults
}
