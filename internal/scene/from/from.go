// Package from makes scenarios of what other tools have: commands, collections, plans and scripts. What it cannot take
// over it says, with its place.
package from

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/scene"
)

// Format is a row of the table of formats.
type Format struct {
	Name  string
	About string
	Looks func(text []byte) bool // reports whether a text is of this format, by its content
	Read  func(text []byte) (*Taken, error)
}

// Table lists the formats. The first one that a text looks like is taken.
func Table() []Format {
	return []Format{
		{"postman", "a collection of Postman, v2.0 or v2.1", looksPostman, readPostman},
		{"jmeter", "a test plan of JMeter (.jmx)", looksJMeter, readJMeter},
		{gorName, "requests that GoReplay recorded (.gor)", looksGor, readGor},
		{"curl", "command lines of curl", looksCurl, readCurl},
		{"k6", "a script of k6, whose calls are read and not run", looksK6, readK6},
	}
}

// Names are those of the formats.
func Names() (names []string) {
	for _, f := range Table() {
		names = append(names, f.Name)
	}
	return names
}

// MaxInput is the largest input in bytes: 256 MiB. A HAR file with pictures easily has 100 MiB.
const MaxInput = 256 << 20

// maxSteps is the largest number of steps that a scenario may have.
const maxSteps = 1000

// maxDepth bounds folders, controllers and brackets that are in one another.
const maxDepth = 100

// The bounds of what is made of an input, whatever it repeats.
const (
	maxWork = 300_000 // values that are looked up
	maxText = 1 << 20 // bytes of a text that is put together
)

// Taken is what became of an input.
type Taken struct {
	scene.File
	Left   []Left         // what was not taken over, in the order in which it was found
	said   map[string]int // places in Left
	groups int            // made so far
	work   int            // values that were looked up, see spent
}

// Left is something that was not taken over.
type Left struct {
	Where []string // the first places in the input, such as line 14; empty: the whole of it
	More  int      // other places
	What  string   // what it is, and what to do
}

// shownPlaces is how many places of the same are listed.
const shownPlaces = 3

func (l Left) String() string {
	if len(l.Where) == 0 {
		return foreign.Line(l.What)
	}
	places := foreign.Line(strings.Join(l.Where, ", "))
	if l.More > 0 {
		places += fmt.Sprintf(" and %d more", l.More)
	}
	return places + ": " + foreign.Line(l.What)
}

// left notes what is not taken over. The same at several places is one thing.
func (t *Taken) left(where, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	i, ok := t.said[what]
	if !ok {
		if t.said == nil {
			t.said = map[string]int{}
		}
		i = len(t.Left)
		t.said[what], t.Left = i, append(t.Left, Left{What: what})
	}
	switch l := &t.Left[i]; {
	case where == "" || slices.Contains(l.Where, foreign.Cut(where, 100)):
	case len(l.Where) < shownPlaces:
		l.Where = append(l.Where, foreign.Cut(where, 100))
	default:
		l.More++
	}
}

// spent reports whether too many values were looked up. It is asked for each.
func (t *Taken) spent() bool {
	if t.work++; t.work == maxWork {
		t.left("", "more than %d values are looked up; the rest is not taken over", maxWork)
	}
	return t.work >= maxWork
}

// unsaid takes back what was noted from a number on.
func (t *Taken) unsaid(from int) {
	for _, l := range t.Left[from:] {
		delete(t.said, l.What)
	}
	t.Left = t.Left[:from]
}

// header adds a header to a step, or says why not.
func (t *Taken) header(where string, s *scene.Step, name string, value scene.Text) {
	if err := s.AddHeader(name, value); err != nil {
		t.left(where, "%v", err)
	}
}

// field adds a field of a form to a step, or says why not.
func (t *Taken) field(where string, s *scene.Step, f scene.Field) {
	if err := s.AddField(f); err != nil {
		t.left(where, "%v", err)
	}
}

func atLine(n int) string { return fmt.Sprintf("line %d", n) }

// Read makes a scenario of a text. name is that of a format, or "" for the one that the text looks like.
func Read(text []byte, name string) (*Taken, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	for _, f := range Table() {
		if f.Name != name && (name != "" || !f.Looks(text)) {
			continue
		}
		t, err := f.Read(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		case len(t.Steps) == 0:
			return t, fmt.Errorf("%s: no request in it that takt can take over", f.Name)
		case len(t.Steps) > maxSteps:
			return t, fmt.Errorf("%s: it has more than %d requests, the most that a scenario has; give a part of it, or write a list for --targets", f.Name, maxSteps)
		}
		t.oneBody()
		t.order()
		t.ShareHeads()
		t.finish(f)
		return t, nil
	}
	return nil, errors.New("takt does not know what this is; give --format " + strings.Join(Names(), ", "))
}

// repeat repeats the steps from a number on: one alone, or several as a group. false: a scenario cannot say it.
func (t *Taken) repeat(before int, line, name string) bool {
	steps := t.Steps[before:]
	has := func(s scene.Step, words ...string) bool {
		return slices.ContainsFunc(s.Lines, func(l string) bool { word, _, _ := strings.Cut(l, " "); return slices.Contains(words, word) })
	}
	if len(steps) == 1 && !has(steps[0], "@repeat", "@group") {
		steps[0].Lines = append(steps[0].Lines, line)
		return true
	}
	for _, s := range steps {
		if has(s, "@repeat", "@group", "@once") || s.Journey != "" {
			return false
		}
		for _, l := range steps[0].Lines { // a condition of the first one is one of the group
			if (strings.HasPrefix(l, "@when ") || strings.HasPrefix(l, "@unless ")) && !slices.Contains(s.Lines, l) {
				return false
			}
		}
	}
	if len(steps) < 2 {
		return false
	}
	t.groups++
	group := fmt.Sprintf("@group %s", cmp.Or(foreign.Line(strings.TrimSpace(name)), "loop"))
	if t.groups > 1 {
		group += fmt.Sprintf(" %d", t.groups)
	}
	for i := range steps {
		steps[i].Lines = append(steps[i].Lines, group)
	}
	steps[0].Lines = append(steps[0].Lines, line)
	return true
}

// The lines of steps outside of the rounds.
const (
	setUp    = "@setup"
	tearDown = "@teardown"
)

// outside puts the steps from a number on outside of the rounds.
func (t *Taken) outside(before int, line string) {
	for i := range t.Steps[before:] {
		s := &t.Steps[before+i]
		s.Journey = ""
		s.Lines = slices.DeleteFunc(s.Lines, func(l string) bool { return l == "@once" || i == 0 && strings.HasPrefix(l, "@think ") })
		s.Lines = slices.Insert(s.Lines, 0, line)
	}
}

// phase is where in a file a step is.
func phase(s scene.Step) int {
	switch {
	case slices.Contains(s.Lines, setUp):
		return -1
	case slices.Contains(s.Lines, tearDown):
		return 1
	}
	return 0
}

// order puts the steps outside of the rounds to the ends of the file, and makes steps of rounds of them if there are no others.
func (t *Taken) order() {
	if !slices.ContainsFunc(t.Steps, func(s scene.Step) bool { return phase(s) == 0 }) {
		t.left("", "all requests are sent once, before or after the load; in the file they are in each round")
		for i := range t.Steps {
			t.Steps[i].Lines = slices.DeleteFunc(t.Steps[i].Lines, func(l string) bool { return l == setUp || l == tearDown })
		}
	}
	slices.SortStableFunc(t.Steps, func(a, b scene.Step) int { return phase(a) - phase(b) })
}

// oneBody leaves out the body of a step that has a form, too.
func (t *Taken) oneBody() {
	for i := range t.Steps {
		if s := &t.Steps[i]; len(s.Form) > 0 && (s.Body != "" || s.BodyFile != "") {
			t.left(strings.SplitN(s.Comment+s.Name, "\n", 2)[0], "the request has a form and another body, which is left out")
			s.Body, s.BodyFile = "", ""
		}
	}
}

// finish puts what was left out into the file, too.
func (t *Taken) finish(f Format) {
	notes := []string{"Made by takt scenario from, of " + f.About + "."}
	if home := t.Home(); home != "" {
		notes = append(notes, "Paths are on "+home+", the URL argument of takt http.")
	}
	if len(t.Left) > 0 {
		notes = append(notes, "", "Not taken over:")
	}
	for _, l := range t.Left {
		notes = append(notes, "- "+l.String())
	}
	t.Notes = append(notes, t.Notes...)
	if first := &t.Steps[slices.IndexFunc(t.Steps, func(s scene.Step) bool { return phase(s) == 0 })]; first.Journey == "" && slices.ContainsFunc(t.Steps, func(s scene.Step) bool { return s.Journey != "" }) {
		first.Journey, first.Weight = "outside of functions", 1
	}
}
