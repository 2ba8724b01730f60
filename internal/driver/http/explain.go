package http

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/payload"
)

// said is an @ line of a step.
type said struct{ word, rest string }

// Explanation is a scenario in words.
type Explanation struct {
	File     string             `json:"file"`
	Counts   string             `json:"rate_counts"` // what --rate counts: rounds or requests
	Journeys []ExplainedJourney `json:"journeys"`
	Files    []ExplainedFile    `json:"files,omitempty"` // with values for placeholders
}

// ExplainedJourney is one journey.
type ExplainedJourney struct {
	Name  string          `json:"name,omitempty"`
	Share float64         `json:"share_percent"` // of all rounds
	Steps []ExplainedStep `json:"steps"`
}

// ExplainedStep is one step.
type ExplainedStep struct {
	Number  int     `json:"number"` // from 1
	Line    int     `json:"line"`   // of the file
	Name    string  `json:"name"`
	Request string  `json:"request"` // method and path, with placeholders
	Facts   []Fact  `json:"facts,omitempty"`
	Tried   []Tried `json:"tried,omitempty"`
}

// Fact is what a step does, in words.
type Fact struct {
	What string `json:"what"` // such as sends, needs, captures
	Text string `json:"text"`
}

// ExplainedFile is a file with values.
type ExplainedFile struct {
	Path  string `json:"path"`
	Lines int    `json:"lines"`
	Use   string `json:"use"`
}

// Explain is the scenario in words, after Validate.
func (o *Options) Explain(hide func(string) string) Explanation {
	s := o.requests.(*scenario)
	e := Explanation{File: s.name, Counts: "requests"}
	if s.reacts {
		e.Counts = "rounds"
	}
	sum := 0.0
	for _, t := range s.tracks {
		sum += t.weight
	}
	for _, t := range s.tracks {
		j := ExplainedJourney{Name: t.name, Share: 100}
		if len(s.tracks) > 1 {
			j.Share = 100 * t.weight / sum
		}
		for i := range t.rules {
			j.Steps = append(j.Steps, s.explain(t.from+i, hide))
		}
		e.Journeys = append(e.Journeys, j)
	}
	for _, f := range s.files {
		e.Files = append(e.Files, ExplainedFile{f.Path, f.Lines, uses[strings.TrimPrefix(strings.TrimPrefix(f.Use, "header"), " ")]})
	}
	return e
}

// uses are how a round gets its line of a file, by the word of its placeholders.
var uses = map[string]string{
	"":          "in turn: round number modulo the number of lines",
	"random":    "any line",
	"once":      "each line once; the run ends after the last one",
	"exclusive": "a line that no other round has",
}

// explain is step i in words.
func (s *scenario) explain(i int, hide func(string) string) ExplainedStep {
	at := s.steps[i]
	x := ExplainedStep{Number: i + 1, Line: at.line, Name: hide(at.name), Request: hide(at.text.Method + " " + at.text.Target)}
	add := func(what, format string, args ...any) {
		x.Facts = append(x.Facts, Fact{what, foreign.Text(fmt.Sprintf(format, args...))})
	}
	for _, h := range at.text.Header {
		add("sends", "%s", hide(h.Name+": "+h.Value))
	}
	if n := len(at.text.Body); n > 0 && len(at.form) == 0 {
		add("sends", "a body of %d bytes: %s", n, foreign.Cut(hide(string(at.text.Body[:min(n, 4*shownBody)])), shownBody))
	}
	for _, n := range s.needs(i) {
		add("needs", "%s", n)
	}
	for _, l := range at.said {
		if w, ok := inWords[l.word]; !ok {
			add("with", "%s %s", l.word, l.rest)
		} else if w.what != "" {
			add(w.what, "%s", hide(w.text(l.rest)))
		}
	}
	return x
}

// shownBody is how many characters of a body are shown.
const shownBody = 200

// needs are the values and files of step i, and where they are from.
func (s *scenario) needs(i int) (list []string) {
	at := s.steps[i]
	add := func(text string) {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	look := func(t *payload.Template) {
		for _, name := range t.Names() {
			add(name + ", from " + s.origin(i, name))
		}
		paths, columns := t.Files()
		for k, path := range paths {
			if columns[k] == 0 {
				add("a line of " + path)
			} else {
				add(fmt.Sprintf("column %d of %s", columns[k], path))
			}
		}
	}
	for _, t := range append([]*payload.Template{at.target, at.body}, at.header...) {
		look(t)
	}
	for _, c := range at.asks {
		look(c.want)
	}
	for _, c := range at.conditions {
		look(c.want)
		add(c.name + ", from " + s.origin(i, c.name))
	}
	if l := at.repeat.List; l != "" {
		add(l + ", from " + s.origin(i, l))
	}
	return list
}

// origin says which step gives a value to step i.
func (s *scenario) origin(i int, name string) string {
	if s.steps[i].repeat.Name == name {
		return "the repetition"
	}
	for k := i - 1; k >= 0; k-- {
		for _, c := range s.steps[k].captures {
			if c.Name == name {
				return fmt.Sprintf("step %d (%s)", k+1, s.steps[k].name)
			}
		}
	}
	return "an earlier step"
}

// inWords says what an @ line does; without a what another fact has it.
var inWords = map[string]struct {
	what string
	text func(rest string) string
}{
	"@name": {}, "@journey": {}, "@body": {},
	"@think": {"waits", func(rest string) string { return rest + " before it" }},
	"@check": {"checks", func(rest string) string { return rest }},
	"@form":  {"sends", func(rest string) string { return "the field " + strings.Replace(rest, " ", ": ", 1) }},
	"@file": {"sends", func(rest string) string {
		name, file, _ := strings.Cut(rest, " ")
		return "the file " + strings.TrimSpace(file) + " as " + name
	}},
	"@capture": {"captures", func(rest string) string {
		name, source, _ := strings.Cut(rest, " ")
		if one, list := strings.CutPrefix(strings.TrimSpace(source), "all "); list {
			return "the list " + name + " from all of " + one
		}
		return name + " from " + strings.TrimSpace(source)
	}},
	"@optional": {"if it fails", func(string) string { return "the round goes on" }},
	"@when":     {"only if", holding},
	"@unless":   {"not if", holding},
	"@repeat": {"repeats", func(rest string) string {
		if name, values, ok := strings.Cut(rest, " in "); ok {
			return "for each " + name + " of " + values
		}
		return rest + " times"
	}},
	"@until": {"until", func(rest string) string { return rest }},
	"@poll": {"asks again", func(rest string) string {
		return strings.Replace(rest, " ", " after each answer, and at most this often: ", 1)
	}},
	"@retry": {"tries again", func(rest string) string {
		words := strings.Fields(rest)
		text := fmt.Sprintf("up to %s times", words[0])
		if len(words) > 1 {
			return text + " after " + strings.Join(words[1:], ", with a pause that begins with ")
		}
		return text + " after " + retried
	}},
}

func holding(rest string) string {
	if !strings.Contains(rest, " ") {
		return rest + " has a value"
	}
	return rest
}
