package record

import (
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// judge sets the verdict and the warnings that follow from the figures alone.
func (r *Recorder) judge(rep *takt.Report, e End) {
	t := r.total
	o := verdict.Operations{
		Response: r.response(), Lag: t.lag, Behind: &t.behind, Drops: &t.drops, Unsent: t.unsent, Held: t.queued,
		Clamped: t.clamped(), Closed: e.Closed, ReceiveOnly: e.ReceiveOnly,
	}
	if t.blind > 0 { // what found no connection did not wait for one
		o.Held = t.all
	}
	o.Judge(rep)
}

// Stamped reports whether answers had been there before they were read, of operations so
// far: then the operations tell themselves whether the generator was slow.
func (r *Recorder) Stamped() bool { return r.total.all.Generator > 0 }
