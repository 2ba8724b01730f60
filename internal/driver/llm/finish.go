package llm

import (
	"context"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Key is the place of the driver's figures in Report.Extra.
const Key = "llm"

// finishing is Driver.Finish: that of the connections, then that of p, and then more, if it is not nil.
func (p *plan) finishing(connections func(context.Context, *takt.Report) error, more func(*takt.Report)) func(context.Context, *takt.Report) error {
	return func(ctx context.Context, r *takt.Report) error {
		if err := connections(ctx, r); err != nil {
			return err
		}
		if p.finish(r); more != nil {
			more(r)
		}
		return nil
	}
}

// finish adds the driver's figures: tokens of good answers, and which conditions they did not meet.
func (p *plan) finish(r *takt.Report) {
	lasted := max(r.DurationS, (time.Duration(p.last.Load()) - p.o.warmup).Seconds()) // an overloaded server answers long after the schedule
	x := map[string]any{
		"output_tokens": p.output.Load(), "output_tokens_per_s": over(float64(p.output.Load()), lasted),
		"input_tokens": p.input.Load(), "tokens_from": p.source(), "length": p.length.Load(),
	}
	if n := p.cached.Load(); n > 0 {
		x["cached_tokens"] = n
	}
	r.Extra[Key] = x
	if r.Goodput != nil {
		r.Goodput.Missed = map[string]uint64{}
		for i, condition := range p.o.slos {
			r.Goodput.Missed[condition.text] += p.missed[i].Load()
		}
	}
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
