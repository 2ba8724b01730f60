package scenariocmd

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/driver/http/script"
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/pkg/takt"
)

// view writes for people.
type view struct {
	w       io.Writer
	err     error // the first one
	hide    func(string) string
	secrets bool
}

func (v *view) printf(format string, args ...any) {
	if v.err == nil {
		_, v.err = fmt.Fprintf(v.w, format, args...)
	}
}

// The names of the parts of a file that are no journeys.
const (
	beforeLoad = "once, before the load"
	afterLoad  = "once, after the load"
)

// roundOf is the name of the rounds of a journey; "": the file has nothing else.
func roundOf(e *script.Explanation, j script.ExplainedJourney) string {
	switch {
	case len(e.Journeys) > 1:
		return fmt.Sprintf("journey %s: %.3g %% of the rounds", j.Name, j.Share)
	case len(e.Setup)+len(e.Teardown) > 0:
		return "each round"
	}
	return ""
}

// explain writes what a scenario does.
func (v *view) explain(e *script.Explanation) {
	steps := len(e.Setup) + len(e.Teardown)
	for _, j := range e.Journeys {
		steps += len(j.Steps)
	}
	v.printf("%s: %s", foreign.Line(e.File), figure.Plural(steps, "step"))
	if len(e.Journeys) > 1 {
		v.printf(" in %d journeys", len(e.Journeys))
	}
	v.printf("; --rate counts %s\n", e.Counts)
	for _, h := range e.Hosts {
		v.printf("other host: %s\n", foreign.Line(h))
	}
	for _, f := range e.Files {
		v.printf("%s: %s, %s\n", foreign.Line(f.Path), figure.Plural(f.Lines, "line"), f.Use)
	}
	if e.Random {
		v.printf("random values are the same in each run with the same --seed; {{.Run}} is another one in each\n")
	}
	for _, f := range e.Every {
		v.printf("every step %s %s\n", f.What, f.Text)
	}
	v.part(beforeLoad, e.Setup)
	for _, j := range e.Journeys {
		v.part(roundOf(e, j), j.Steps)
	}
	v.part(afterLoad, e.Teardown)
}

// part writes what the steps of a part do.
func (v *view) part(name string, steps []script.ExplainedStep) {
	if name != "" && len(steps) > 0 {
		v.printf("\n%s\n", foreign.Line(name))
	}
	for _, s := range steps {
		v.printf("\n%3d  %s\n", s.Number, v.title(&s))
		for _, f := range s.Facts {
			v.printf("     %-12s %s\n", f.What, f.Text)
		}
	}
}

// title is the name of a step, with its request and line.
func (v *view) title(s *script.ExplainedStep) string {
	text := foreign.Cut(s.Name, 100)
	if s.Name != s.Request {
		text += ": " + foreign.Cut(s.Request, 200)
	}
	return fmt.Sprintf("%s (line %d)", text, s.Line)
}

// What is shown of a body, in characters and lines.
const (
	shownBody  = 1000
	shownLines = 20
)

// tried writes an exchange.
func (v *view) tried(s *script.ExplainedStep, x script.Tried) {
	v.passed(x.Before)
	v.printf("\n%3d  %s\n", s.Number, v.title(s))
	head, body, _ := strings.Cut(x.Request, "\r\n\r\n")
	v.lines("> ", head)
	v.body("> ", body)
	v.lines("< ", x.Head)
	v.body("< ", x.Body)
	for _, c := range x.Checks {
		v.printf("     %-12s %s\n", map[bool]string{true: "holds", false: "does not hold"}[c.OK], foreign.Text(c.Text))
	}
	for _, c := range x.Captured {
		v.printf("     %-12s %s = %s", map[bool]string{true: "set", false: "captured"}[c.Made], c.Name, foreign.Cut(c.Value, 100))
		if c.Of > 1 {
			v.printf(", the first of %d", c.Of)
		}
		v.printf("\n")
	}
	switch {
	case x.Class != "":
		v.printf("     %-12s class %s, after %.3g ms: %s\n", "failed", x.Class, x.TookMS, foreign.Line(cmp.Or(x.Error, fmt.Sprintf("status %d", x.Status))))
	default:
		v.printf("     %-12s %d, after %.3g ms\n", "ok", x.Status, x.TookMS)
	}
	if x.Follows {
		v.printf("     %-12s the redirect is followed\n", "")
	}
	if x.Again {
		v.printf("     %-12s the step is sent again\n", "")
	}
	v.passed(x.Passed)
}

// passed writes which steps were passed over.
func (v *view) passed(steps []int) {
	for _, n := range steps {
		v.printf("     %-12s step %d: its condition does not hold, or its list is empty\n", "passed over", n)
	}
}

func (v *view) lines(mark, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\r\n")) {
		v.printf("     %s%s\n", mark, foreign.Cut(strings.TrimRight(line, "\r\n"), 300))
	}
}

// body writes the beginning of a body.
func (v *view) body(mark, text string) {
	if text == "" {
		return
	}
	v.printf("     %s\n", strings.TrimSpace(mark))
	shown := foreign.Lines(text[:min(len(text), shownBody)])
	lines := strings.SplitAfterN(shown, "\n", shownLines+1)
	v.lines(mark, strings.Join(lines[:min(len(lines), shownLines)], ""))
	if len(text) > shownBody || len(lines) > shownLines {
		v.printf("     %s… (%d bytes)\n", mark, len(text))
	}
}

// redact hides secrets in an exchange.
func (v *view) redact(x script.Tried) script.Tried {
	if v.secrets {
		return x
	}
	head, body, ok := strings.Cut(x.Request, "\r\n\r\n")
	if x.Request = httpreq.HideHead([]byte(head)); ok {
		x.Request = v.hide(x.Request) + "\r\n\r\n" + v.hide(body)
	}
	x.Head, x.Body, x.Error = v.hide(httpreq.HideHead([]byte(x.Head))), v.hide(x.Body), v.hide(x.Error)
	for i, c := range x.Captured {
		if httpreq.IsSecretName(c.Name) {
			x.Captured[i].Value = takt.Redacted
		}
	}
	return x
}
