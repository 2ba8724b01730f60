package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
)

// History judges the collected runs.
func (c *Collector) History() (History, error) {
	o := c.options
	h := History{Verdict: OK, Tolerance: o.Tolerance, ErrorTolerance: o.ErrorTolerance, Confidence: o.Confidence, Detect: o.Detect, Unfit: c.unfit, Without: c.without, Advice: []string{}}
	if err := c.nothing(); err != nil {
		return h, err
	}
	h.Groups = c.chosen(&h)
	level := (1 - o.Confidence) / float64(max(1, h.testable()))
	each(h.Groups, func(g *Group, s *Series) { s.judge(g, o, level) })
	for _, g := range h.Groups {
		for _, s := range g.Series {
			h.Verdict = worst(h.Verdict, s.Verdict)
		}
	}
	h.Advice = append(h.advice(o), h.Advice...)
	if c.dirty > 0 {
		h.Advice = append(h.Advice, fmt.Sprintf("left out: %d of uncommitted changes, whose revision ends with -dirty", c.dirty))
	}
	return h, nil
}

// nothing says why there is nothing to judge.
func (c *Collector) nothing() error {
	for _, name := range c.options.Lift {
		if !c.lifted[name] && len(c.groups) > 0 {
			return stored.Usagef("--vary %s: no run has such a variable, label or flag; takt show RUN -o json has all of a run", name)
		}
	}
	switch {
	case len(c.groups) > 0:
		return nil
	case c.unfit > 0:
		return &UnfitError{c.unfit}
	case c.dirty > 0:
		return nothing("all selected runs with a label revision are of uncommitted changes, and their revision does not tell which; commit the changes and make the runs again")
	case c.without > 0:
		return nothing("none of the selected runs has a label revision; select others, or make runs with --git . or --label revision=NAME")
	}
	return nothing("no run matches; change the filters or -n; takt runs lists the stored runs")
}

// NothingError says that the selected runs have no revisions to follow.
type NothingError struct{ text string }

func nothing(text string) error { return &NothingError{text} }

func (e *NothingError) Error() string { return e.text }

// UnfitError says that nothing can be concluded from any of the runs.
type UnfitError struct{ runs int }

func (e *UnfitError) Error() string {
	return fmt.Sprintf("nothing can be concluded: all of the selected runs, %d, are invalid or cut short; takt show RUN says why; repeat them", e.runs)
}

// testable is the number of series that can have a false change. A series whose values are all equal
// cannot, whatever their order.
func (h *History) testable() (n int) {
	for _, g := range h.Groups {
		for _, s := range g.Series {
			if len(s.Points) >= 2*fewestBeside && scores(s.values()) != nil {
				n++
			}
		}
	}
	return n
}

func worst(a, b Word) Word {
	for _, w := range []Word{Regressed, Inconclusive} {
		if a == w || b == w {
			return w
		}
	}
	return OK
}

// scattered explains groups of one revision: probably a label or variable differs in every run.
func (c *Collector) scattered(shown, single []*group) string {
	var samples []map[string]any
	for _, g := range append(slices.Clone(shown), single...) {
		samples = append(samples, c.common(&g.sample))
		if len(samples) == 100 {
			break
		}
	}
	names := query.Differing(samples)
	rest := ""
	if len(names) > 6 {
		names, rest = names[:6], " …"
	}
	s := fmt.Sprintf("left out: %d groups of one revision", len(single))
	if len(single) == 1 {
		s = "left out: a group of one revision"
	}
	return fmt.Sprintf("%s; runs of different groups differ in %s%s; --vary NAME lets one of them differ", s, strings.Join(names, ", "), rest)
}

// advice says what was found that is not about one series.
func (h *History) advice(o Options) (list []string) {
	for _, name := range o.Accept {
		switch {
		case name == "" || h.has(name):
		case !h.knows(name):
			list = append(list, fmt.Sprintf("--accept %s: no revision %s is among the chosen runs; correct the name, or remove the setting if the revision is older", name, name))
		default:
			list = append(list, fmt.Sprintf("--accept %s: no change for the worse is there; remove the setting if the change is older than the chosen runs", name))
		}
	}
	return list
}

// knows reports whether a revision has that name.
func (h *History) knows(name string) bool {
	return slices.ContainsFunc(h.Groups, func(g Group) bool {
		return slices.ContainsFunc(g.Revisions, func(r Revision) bool { return stored.SameRevision(r.Name, name) })
	})
}

// has reports whether a change was accepted by that name.
func (h *History) has(name string) bool {
	for _, g := range h.Groups {
		for _, s := range g.Series {
			for _, c := range s.Changes {
				if c.Accepted && g.accepts(c, []string{name}) {
					return true
				}
			}
		}
	}
	return false
}

// accepts reports whether one of the names is of a revision at which the change may be.
func (g *Group) accepts(c Change, names []string) bool {
	for at := c.From + 1; at <= c.To; at++ {
		for _, name := range names {
			if stored.SameRevision(g.Revisions[at].Name, name) {
				return true
			}
		}
	}
	return false
}
