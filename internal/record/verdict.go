package record

import (
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// judge sets the verdict and the warnings that follow from the counts and latencies alone.
func (r *Recorder) judge(rep *takt.Report, e End) {
	t := r.total
	o := verdict.Operations{
		Delays: verdict.Delays{OnTime: r.onTime(), Lag: t.lag}, Evidence: t.Evidence,
		Clamped: t.clamped(), Closed: e.Closed, ReceiveOnly: e.ReceiveOnly,
	}
	if r.cfg.dial >= 0 {
		o.Dial = t.phases[r.cfg.dial]
	}
	o.Judge(rep)
}

// Stamped reports whether any answer so far was here before it was read. If so, the
// operations themselves show whether the generator was slow.
func (r *Recorder) Stamped() bool { return r.total.All.Generator > 0 }
