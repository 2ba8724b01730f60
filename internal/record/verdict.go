package record

import (
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// judge sets the verdict and the warnings that follow from the counts and latencies alone.
func (r *Recorder) judge(rep *takt.Report, e End) {
	t := r.total
	o := verdict.Operations{
		Delays: verdict.Delays{OnTime: r.onTime(), Lag: t.lag},
		Behind: &t.Behind, Drops: &t.Drops, Unsent: t.Unsent, Held: t.Queued,
		Clamped: t.clamped(), Closed: e.Closed, ReceiveOnly: e.ReceiveOnly,
	}
	if r.cfg.dial >= 0 {
		o.Dial = t.phases[r.cfg.dial]
	}
	if t.Blind > 0 { // a dropped operation did not wait for a connection
		o.Held = t.All
	}
	o.Judge(rep)
}

// Stamped reports whether any answer so far was here before it was read. If so, the
// operations themselves show whether the generator was slow.
func (r *Recorder) Stamped() bool { return r.total.All.Generator > 0 }
