package script

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/exchange"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/pkg/takt"
)

// said is an @ line of a step.
type said struct{ word, rest string }

// Explanation is a scenario in words.
type Explanation struct {
	File     string             `json:"file"`
	Counts   string             `json:"rate_counts"`                // what --rate counts: rounds or requests
	Hosts    []string           `json:"other_hosts,omitempty"`      // besides that of the url argument
	Every    []Fact             `json:"every_step_sends,omitempty"` // header lines that all steps have
	Setup    []ExplainedStep    `json:"setup,omitempty"`            // once, before the load
	Journeys []ExplainedJourney `json:"journeys"`
	Teardown []ExplainedStep    `json:"teardown,omitempty"` // once, after the load
	Files    []ExplainedFile    `json:"files,omitempty"`    // with values for placeholders
	Random   bool               `json:"random,omitempty"`   // steps have random values, which are those of each run with the same seed
}

// ExplainedJourney is one journey.
type ExplainedJourney struct {
	Name  string          `json:"name,omitempty"`
	Share float64         `json:"share_percent"` // of all rounds
	Steps []ExplainedStep `json:"steps"`
}

// ExplainedStep is one step.
type ExplainedStep struct {
	Number  int     `json:"number"` // from 1, in the order of the file
	Line    int     `json:"line"`   // of the file
	Name    string  `json:"name"`
	Request string  `json:"request"` // method and path, with placeholders
	Facts   []Fact  `json:"facts,omitempty"`
	Tried   []Tried `json:"tried,omitempty"`
}

// Fact is what a step does, in words: What is such as sends, needs, captures.
type Fact = exchange.Fact

// ExplainedFile is a file with values.
type ExplainedFile struct {
	Path  string `json:"path"`
	Lines int    `json:"lines"`
	Use   string `json:"use"`
}

// Explain is the scenario in words. hide leaves secrets out of a text.
func (s *File) Explain(hide func(string) string) Explanation {
	e := Explanation{File: s.Name, Counts: "requests"}
	if s.Reacts {
		e.Counts = "rounds"
	}
	e.Hosts = s.Hosts[1:].Names()
	for _, h := range s.all()[0].Text.Header {
		if len(s.all()) > 1 && s.inEvery(h) {
			e.Every = append(e.Every, Fact{What: "sends", Text: foreign.Text(hide(h.Name + ": " + h.Value))})
		}
	}
	e.Setup, e.Teardown = s.explainAll(&s.Before, hide), s.explainAll(&s.After, hide)
	sum := 0.0
	for _, t := range s.Tracks {
		sum += t.Weight
	}
	for _, t := range s.Tracks {
		j := ExplainedJourney{Name: t.name, Share: 100, Steps: s.explainAll(t, hide)}
		if len(s.Tracks) > 1 {
			j.Share = 100 * t.Weight / sum
		}
		e.Journeys = append(e.Journeys, j)
	}
	for _, f := range s.files {
		e.Files = append(e.Files, ExplainedFile{f.Path, f.Lines, uses[strings.TrimPrefix(strings.TrimPrefix(f.Use, "header"), " ")]})
	}
	e.Random = slices.ContainsFunc(s.all(), (*Step).random)
	return e
}

// random reports whether a step has values that depend on --seed.
func (s *Step) random() bool {
	all := append(slices.Clone(s.Header), s.Target, s.Body)
	for _, one := range s.Sets {
		all = append(all, one.Value)
	}
	return slices.ContainsFunc(all, (*payload.Template).Random)
}

// uses are how a round gets its line of a file, by the word of its placeholders.
var uses = map[string]string{
	"":          "in turn: round number modulo the number of lines",
	"random":    "any line",
	"once":      "each line once; the run ends after the last one",
	"exclusive": "a line that no other round has",
}

// inEvery reports whether all steps have a header line.
func (s *File) inEvery(h http1.Field) bool {
	return !slices.ContainsFunc(s.all(), func(at *Step) bool { return !slices.Contains(at.Text.Header, h) })
}

// explainAll are the steps of a track in words.
func (s *File) explainAll(t *Track, hide func(string) string) (list []ExplainedStep) {
	for i := range t.Steps {
		list = append(list, s.explain(t, i, hide))
	}
	return list
}

// explain is step i of a track in words.
func (s *File) explain(t *Track, i int, hide func(string) string) ExplainedStep {
	at := t.Steps[i]
	target := at.Text.Target
	if u := at.Text.URL; !strings.HasPrefix(target, httpreq.Placeholder) && !httpreq.SameOrigin(u, s.Hosts[0]) {
		target = httpreq.Hosts{u}.Names()[0] + target
	}
	x := ExplainedStep{Number: s.Number(at), Line: at.Line, Name: hide(at.Name), Request: hide(at.Text.Method + " " + target)}
	add := func(what, format string, args ...any) {
		x.Facts = append(x.Facts, Fact{What: what, Text: foreign.Text(fmt.Sprintf(format, args...))})
	}
	for _, h := range at.Text.Header {
		if len(s.all()) == 1 || !s.inEvery(h) {
			add("sends", "%s", hide(h.Name+": "+h.Value))
		}
	}
	if n := len(at.Text.Body); n > 0 && len(at.form) == 0 {
		add("sends", "a body of %d bytes: %s", n, foreign.Cut(hide(string(at.Text.Body[:min(n, 4*shownBody)])), shownBody))
	}
	for _, n := range s.needs(t, i) {
		add("needs", "%s", n)
	}
	for _, l := range at.said {
		rest := l.rest
		if name, v, _ := strings.Cut(rest, " "); (l.word == "@form" || l.word == "@set") && hide(name+"=x") != name+"=x" && !strings.Contains(v, httpreq.Placeholder) {
			rest = name + " " + takt.Redacted
		}
		if w, ok := inWords[l.word]; !ok {
			add("its body is", "the file %s", strings.TrimSpace(l.word[1:]+" "+rest))
		} else if w.what != "" {
			add(w.what, "%s", hide(w.text(rest)))
		}
	}
	return x
}

// shownBody is how many characters of a body are shown.
const shownBody = 200

// needs are the values and files of step i of a track that it does not make itself, and where they are from.
func (s *File) needs(t *Track, i int) (list []string) {
	at := t.Steps[i]
	add := func(text string) {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	var own []string // values that the step has made so far
	value := func(name string) {
		if !slices.Contains(own, name) {
			add(name + ", from " + s.origin(t, i, name))
		}
	}
	look := func(t *payload.Template) {
		for _, name := range t.Names() {
			value(name)
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
	for _, c := range at.conditions {
		value(c.name)
		look(c.want)
	}
	if l := at.repeat.List; l != "" {
		value(l)
	}
	for _, one := range at.Sets {
		look(one.Value)
		own = append(own, one.Name)
	}
	for _, t := range append([]*payload.Template{at.Target, at.Body}, at.Header...) {
		look(t)
	}
	for _, c := range at.asks {
		look(c.Want)
		for _, name := range c.Needs() {
			value(name)
		}
	}
	for _, c := range at.Captures {
		for _, name := range c.Needs() {
			value(name)
		}
		own = append(own, c.Name)
	}
	return list
}

// origin says which step gives a value to step i of a track.
func (s *File) origin(t *Track, i int, name string) string {
	if first := t.Steps[i-t.Rules[i].Before]; first.repeat.Name == name {
		if first != t.Steps[i] {
			return fmt.Sprintf("the repetition of the group %s", first.group)
		}
		return "the repetition"
	}
	before := t.Steps[:i]
	if t != &s.Before {
		before = slices.Concat(s.Before.Steps, before)
	}
	for _, one := range slices.Backward(before) {
		if slices.Contains(one.Values(), name) {
			return fmt.Sprintf("step %d (%s)", s.Number(one), one.Name)
		}
	}
	return "an earlier step"
}

// inWords says what an @ line does; without a what another fact has it.
var inWords = map[string]struct {
	what string
	text func(rest string) string
}{
	"@name": {}, "@journey": {}, "@body": {}, "@setup": {}, "@teardown": {},
	"@set": {"sets", func(rest string) string {
		name, text, _ := strings.Cut(rest, " ")
		return name + " = " + strings.TrimSpace(text)
	}},
	"@once": {"once", func(string) string {
		return "with -c, in a user's first round only; with a rate, each round is another user"
	}},
	"@pace": {"begins", func(rest string) string {
		return "a user's next round at the earliest " + rest + " after the beginning of the last one"
	}},
	"@group": {"is in", func(rest string) string {
		return "the group " + rest + ", whose first step says how often it is performed, and whether"
	}},
	"@follow": {"follows", func(rest string) string {
		return fmt.Sprintf("up to %s redirects", cmp.Or(rest, strconv.Itoa(usualHops)))
	}},
	"@think": {"waits", func(rest string) string { return rest + " before it" }},
	"@check": {"checks", func(rest string) string { return rest }},
	"@form":  {"sends", func(rest string) string { return "the field " + strings.Replace(rest, " ", ": ", 1) }},
	"@file": {"sends", func(rest string) string {
		name, file, _ := strings.Cut(rest, " ")
		return "the file " + strings.TrimSpace(file) + " as " + name
	}},
	"@capture": {"captures", func(rest string) string {
		name, source, _ := strings.Cut(rest, " ")
		switch pick, one, _ := strings.Cut(strings.TrimSpace(source), " "); pick {
		case "all":
			return "the list " + name + " from all of " + one
		case "random":
			return name + " from any of " + one
		case "last":
			return name + " from the last of " + one
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

// Tried is one exchange of a round that is tried.
type Tried struct {
	*exchange.Exchange `json:"-"`
	Shown              *exchange.Shown `json:"exchange"` // nil until somebody shows it

	Step     int          `json:"-"` // from 1, in the order of the file
	Name     string       `json:"-"` // of the step
	Line     int          `json:"-"` // of the step
	Checks   []TriedCheck `json:"checks,omitempty"`
	Captured []TriedValue `json:"captured,omitempty"`
	Before   []int        `json:"passed_over_before,omitempty"` // as Passed, before the first step of a round
	Passed   []int        `json:"passed_over,omitempty"`        // steps behind this one whose conditions do not hold, from 1
}

// Facts are what is known of the exchange besides its bytes.
func (x *Tried) Facts() (list []exchange.Fact) {
	add := func(what, text string) { list = append(list, exchange.Fact{What: what, Text: text}) }
	passed := func(steps []int) {
		for _, n := range steps {
			add("passed over", fmt.Sprintf("step %d: its condition does not hold, or its list is empty", n))
		}
	}
	passed(x.Before)
	for _, c := range x.Checks {
		add(map[bool]string{true: "holds", false: "does not hold"}[c.OK], c.Text)
	}
	for _, c := range x.Captured {
		text := c.Name + " = " + c.Value
		if c.Of > 1 {
			text += fmt.Sprintf(", the first of %d", c.Of)
		}
		add(map[bool]string{true: "set", false: "captured"}[c.Made], text)
	}
	passed(x.Passed)
	return list
}

// HideValues hides values whose names say that they are secret.
func (x *Tried) HideValues() {
	for i, c := range x.Captured {
		if httpreq.IsSecretName(c.Name) {
			x.Captured[i].Value = takt.Redacted
		}
	}
}

// TriedCheck is what came of a check.
type TriedCheck struct {
	Text string `json:"text"`
	OK   bool   `json:"ok"`
}

// TriedValue is a value that a step captured or made, or the first of a list.
type TriedValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Of    int    `json:"of,omitempty"`   // values of the list
	Made  bool   `json:"made,omitempty"` // by @set
}
