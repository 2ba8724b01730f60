package llm

import (
	"context"
	"time"

	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

// finishing is Driver.Finish: that of the connections, then that of p, with what more adds if it is not nil.
func (p *plan) finishing(connections func(context.Context, *takt.Report) error, more func(*takt.Report, *tokens.Figures)) func(context.Context, *takt.Report) error {
	return func(ctx context.Context, r *takt.Report) error {
		if err := connections(ctx, r); err != nil {
			return err
		}
		f := p.figures(r)
		if more != nil {
			more(r, &f)
		}
		p.o.reportRefused(r)
		r.Extra[tokens.Key] = f.Extra()
		if r.Goodput != nil {
			r.Goodput.Missed = map[string]uint64{}
			for i, condition := range p.o.slos {
				r.Goodput.Missed[condition.text] += p.missed[i].Load()
			}
		}
		return nil
	}
}

// figures are the tokens of the run of r.
func (p *plan) figures(r *takt.Report) tokens.Figures {
	return tokens.Figures{
		Output: p.output.Load(), Input: p.input.Load(), Cached: p.cached.Load(), Length: p.length.Load(), From: p.source(),
		Lasted: max(r.DurationS, (time.Duration(p.last.Load()) - p.o.warmup).Seconds()), // an overloaded server answers long after the schedule
	}
}

// source says by what tokens were counted.
func (p *plan) source() (s tokens.Source) {
	if p.byUsage.Load() > 0 {
		s |= tokens.Usage
	}
	if p.byParts.Load() > 0 {
		s |= tokens.Parts
	}
	return s
}
