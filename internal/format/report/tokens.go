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
	if !ok {
		return part.Part{}
	}
	count := func(name string) string { return page.Count(uint64(plainNumber(x[name]))) }
	out := fmt.Sprintf("%s of output (by %s), %s in the measured time; %s of prompts", count("output_tokens"), page.Clean(fmt.Sprint(x["tokens_from"])), page.Rate(plainNumber(x["output_tokens_per_s"])), count("input_tokens"))
	if plainNumber(x["cached_tokens"]) > 0 {
		out += ", " + count("cached_tokens") + " from the server's cache"
	}
	if plainNumber(x["length"]) > 0 {
		out += "; " + count("length") + " answers ended at the limit of tokens"
	}
	return part.Part{ID: "tokens", Title: "Tokens", Blocks: []part.Block{{Facts: []part.Fact{
		{Label: "tokens", Says: out}, {Label: "goodput", Says: goodput(x["goodput"], r.Counts.Scheduled)},
	}}}}
}

// goodput is how many of all operations meet the SLOs; "" without SLOs.
func goodput(v any, all uint64) string {
	g, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	good := plainNumber(g["good"])
	s := fmt.Sprintf("%s (%s of %d) meet %s, %s", page.Count(uint64(good)), page.Percent(good, float64(all)), all, page.Clean(fmt.Sprint(g["slo"])), page.Rate(plainNumber(g["rate_per_s"])))
	var missed []string
	per, _ := g["missed"].(map[string]any)
	for condition, n := range per {
		if plainNumber(n) > 0 {
			missed = append(missed, fmt.Sprintf("%s by %s", page.Clean(condition), page.Count(uint64(plainNumber(n)))))
		}
	}
	slices.Sort(missed)
	if len(missed) > 0 {
		s += "; missed: " + strings.Join(missed, ", ")
	}
	if n := plainNumber(g["undecided"]); n > 0 {
		s += "; " + page.Count(uint64(n)) + " are unknown, since takt read too late"
	}
	return s
}
