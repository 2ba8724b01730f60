// Package taken is what the readers of all formats fill: the steps so far, what was not taken over and where, and the bounds
// of both. It knows no format.
package taken

import (
	"cmp"
	"fmt"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/scene"
	"net/url"
	"slices"
	"strings"
)

// MaxSteps is the largest number of steps that a scenario may have.
const MaxSteps = 1000

// MaxDepth bounds folders, controllers and brackets that are in one another.
const MaxDepth = 100

// The bounds of what is made of an input, whatever it repeats.
const (
	maxWork = 300_000 // values that are looked up
	MaxText = 1 << 20 // bytes of a text that is put together
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

// Omit notes what is not taken over. The same at several places is one thing.
func (t *Taken) Omit(where, format string, args ...any) {
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

// Spent reports whether too many values were looked up. It is asked for each.
func (t *Taken) Spent() bool {
	if t.work++; t.work == maxWork {
		t.Omit("", "more than %d values are looked up; the rest is not taken over", maxWork)
	}
	return t.work >= maxWork
}

// Unsaid takes back what was noted from a number on.
func (t *Taken) Unsaid(from int) {
	for _, l := range t.Left[from:] {
		delete(t.said, l.What)
	}
	t.Left = t.Left[:from]
}

// Header adds a header to a step, or says why not.
func (t *Taken) Header(where string, s *scene.Step, name string, value scene.Text) {
	if err := s.AddHeader(name, value); err != nil {
		t.Omit(where, "%v", err)
	}
}

// Field adds a field of a form to a step, or says why not.
func (t *Taken) Field(where string, s *scene.Step, f scene.Field) {
	if err := s.AddField(f); err != nil {
		t.Omit(where, "%v", err)
	}
}

func AtLine(n int) string { return fmt.Sprintf("line %d", n) }

// Repeat repeats the steps from a number on: one alone, or several as a group. false: a scenario cannot say it.
func (t *Taken) Repeat(before int, line, name string) bool {
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
	SetUp    = "@setup"
	TearDown = "@teardown"
)

// Outside puts the steps from a number on outside of the rounds.
func (t *Taken) Outside(before int, line string) {
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
	case slices.Contains(s.Lines, SetUp):
		return -1
	case slices.Contains(s.Lines, TearDown):
		return 1
	}
	return 0
}

// order puts the steps outside of the rounds to the ends of the file, and makes steps of rounds of them if there are no others.
func (t *Taken) order() {
	if !slices.ContainsFunc(t.Steps, func(s scene.Step) bool { return phase(s) == 0 }) {
		t.Omit("", "all requests are sent once, before or after the load; in the file they are in each round")
		for i := range t.Steps {
			t.Steps[i].Lines = slices.DeleteFunc(t.Steps[i].Lines, func(l string) bool { return l == SetUp || l == TearDown })
		}
	}
	slices.SortStableFunc(t.Steps, func(a, b scene.Step) int { return phase(a) - phase(b) })
}

// End makes a scenario of the steps. about says what the input was.
func (t *Taken) End(about string) {
	t.oneBody()
	t.order()
	t.ShareHeads()
	t.finish(about)
}

// oneBody leaves out the body of a step that has a form, too.
func (t *Taken) oneBody() {
	for i := range t.Steps {
		if s := &t.Steps[i]; len(s.Form) > 0 && (s.Body != "" || s.BodyFile != "") {
			t.Omit(strings.SplitN(s.Comment+s.Name, "\n", 2)[0], "the request has a form and another body, which is left out")
			s.Body, s.BodyFile = "", ""
		}
	}
}

// finish puts what was left out into the file, too.
func (t *Taken) finish(about string) {
	notes := []string{"Made by takt scenario from, of " + about + "."}
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

// OnHost is a URL as a step has it. A host that is not known, or is none, becomes the URL argument. What was said of it
// is from left on.
func (t *Taken) OnHost(where string, u scene.Text, left int) scene.Text {
	u = scene.URLRaw(u)
	rest := string(u)
	if name, path, ok := strings.Cut(strings.TrimPrefix(rest, "{{env "), "}}"); ok && strings.HasPrefix(rest, "{{env ") {
		t.Omit("", "the host, in the variable %s of the environment, is the URL argument of takt http", strings.Trim(name, `"`))
		if u = scene.Text(path); !strings.HasPrefix(path, "/") {
			u = "/" + u
		}
		return u
	}
	if scheme := schemeOf().FindString(rest); scheme != "" {
		rest = rest[len(scheme):]
	} else if !strings.HasPrefix(rest, "VALUE-OF-") {
		if !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, "{{") {
			u = "/" + u // beside the page, which takt does not know
		}
		return u
	}
	i := strings.IndexAny(rest+"/", "/?")
	host, path := rest[:i], rest[i:]
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	parsed, err := url.Parse("http://" + host)
	switch name, unknown := strings.CutPrefix(host, "VALUE-OF-"); {
	case unknown:
		if len(t.Left) > left && strings.Contains(t.Left[len(t.Left)-1].What, strings.SplitN(host, ":", 2)[0]+":") {
			t.Unsaid(len(t.Left) - 1)
		}
		t.Omit("", "the host %s is the URL argument of takt http", name)
	case strings.Contains(host, "{{"):
		t.Omit(where, "the host %.60q is a value, which a host cannot be; give it as the URL argument of takt http", host)
	case err != nil || parsed.Host == "" || strings.ContainsAny(parsed.Host, " ${}[]<>") && !strings.HasPrefix(parsed.Host, "["):
		t.Omit("", "the host %.60q is none; give it as the URL argument of takt http", host)
	default:
		return u
	}
	return scene.Text(path)
}

// StandIn stands for a value that is not known.
func (t *Taken) StandIn(where, src string) scene.Text {
	name := "VALUE-OF-" + strings.Trim(notInNames().ReplaceAllString(src, "-"), "-")
	name = name[:min(len(name), 60)]
	t.Omit(where, "takt does not see %.60s; in the file it is %s: write the value, or a placeholder such as {{file \"values.csv\" 1}}", src, name)
	return scene.Text(name)
}
