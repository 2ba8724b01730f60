package scenariocmd

import (
	"fmt"
	"io"

	"github.com/taktload/takt/internal/driver/http/script"
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/foreign"
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

// tried writes an exchange.
func (v *view) tried(s *script.ExplainedStep, x script.Tried) {
	v.printf("\n%3d  %s\n", s.Number, v.title(s))
	if v.err == nil {
		v.err = x.Shown.WriteText(v.w)
	}
}

// redact prepares an exchange for who sees it.
func (v *view) redact(x script.Tried) script.Tried {
	if !v.secrets {
		x.HideValues()
	}
	x.Exchange.Facts = x.Facts()
	x.Shown = x.Show(0, v.hide)
	return x
}
