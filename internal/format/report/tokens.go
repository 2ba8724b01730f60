package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	figures "github.com/taktload/takt/internal/tokens"
)

// tokens has the tokens of answers of a language model, and the goodput.
func tokens(r *run) part.Part {
	x, ok := figures.Of(r.Report)
	facts := []part.Fact{{Label: "goodput", Says: goodput(r)}}
	switch {
	case !ok && r.Goodput == nil:
		return part.Part{}
	case !ok:
		return part.Part{ID: "tokens", Title: "Goodput", Blocks: []part.Block{{Facts: facts}}}
	}
	out := fmt.Sprintf("%s of output (by %s), %s until the last of these answers; %s of prompts", page.Count(x.Output), x.From, page.Rate(x.PerS()), page.Count(x.Input))
	if x.Cached > 0 {
		out += ", " + page.Count(x.Cached) + " from the server's cache"
	}
	if x.Length > 0 {
		out += "; " + page.Count(x.Length) + " answers ended at the limit of tokens"
	}
	return part.Part{ID: "tokens", Title: "Tokens", Blocks: []part.Block{{Facts: append([]part.Fact{{Label: "tokens", Says: out}}, facts...)}}}
}

// goodput is how many of all operations meet the SLOs; "" without SLOs.
func goodput(r *run) string {
	g := r.Goodput
	if g == nil {
		return ""
	}
	all := r.Counts.Scheduled
	s := fmt.Sprintf("%s (%s of %d) meet %s, %s", page.Count(g.Good), page.Percent(float64(g.Good), float64(all)), all, page.Clean(g.SLO), page.Rate(g.PerS))
	var missed []string
	for condition, n := range g.Missed {
		if n > 0 {
			missed = append(missed, fmt.Sprintf("%s by %s", page.Clean(condition), page.Count(n)))
		}
	}
	slices.Sort(missed)
	if len(missed) > 0 {
		s += "; missed: " + strings.Join(missed, ", ")
	}
	if n := g.Undecided; n > 0 {
		s += "; " + page.Count(n) + " are unknown, since takt read too late"
	}
	return s
}
