package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
)

// tokens has the tokens of answers of a language model, and the goodput.
func tokens(r *run) part.Part {
	x, ok := r.Extra["llm"].(map[string]any)
	facts := []part.Fact{{Label: "goodput", Says: goodput(r)}}
	switch {
	case !ok && r.Goodput == nil:
		return part.Part{}
	case !ok:
		return part.Part{ID: "tokens", Title: "Goodput", Blocks: []part.Block{{Facts: facts}}}
	}
	count := func(name string) string { return page.Count(uint64(plainNumber(x[name]))) }
	out := fmt.Sprintf("%s of output (by %s), %s until the last of these answers; %s of prompts", count("output_tokens"), page.Clean(fmt.Sprint(x["tokens_from"])), page.Rate(plainNumber(x["output_tokens_per_s"])), count("input_tokens"))
	if plainNumber(x["cached_tokens"]) > 0 {
		out += ", " + count("cached_tokens") + " from the server's cache"
	}
	if plainNumber(x["length"]) > 0 {
		out += "; " + count("length") + " answers ended at the limit of tokens"
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
