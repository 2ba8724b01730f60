package llm

import (
	"context"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/pkg/takt"
)

// Key is the place of the driver's figures in Report.Extra.
const Key = "llm"

// finish adds the driver's figures: tokens of good answers, and which conditions they did not meet.
func (p *plan) finish(_ context.Context, r *takt.Report) error {
	http.ReportParts(r)
	r.Extra[Key] = map[string]any{
		"output_tokens": p.output.Load(), "output_tokens_per_s": over(float64(p.output.Load()), r.DurationS),
		"input_tokens": p.input.Load(), "tokens_from": p.source(), "length": p.length.Load(),
	}
	if r.Goodput != nil {
		r.Goodput.Missed = map[string]uint64{}
		for i, condition := range p.o.slos {
			r.Goodput.Missed[condition.text] += p.missed[i].Load()
		}
	}
	return nil
}

// source says by what tokens were counted.
func (p *plan) source() string {
	switch {
	case p.byParts.Load() == 0 && p.byUsage.Load() > 0:
		return "usage"
	case p.byUsage.Load() == 0:
		return "parts"
	}
	return "usage and parts"
}

// over is a/b, or 0 if b is 0.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
