package engine

import (
	"iter"
	"runtime"
	"time"

	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// Journal is told what a run has counted, so that Recover can make its report when its
// process did not. Its calls come beside OnInterval, one at a time; one that takes long
// makes the intervals late.
type Journal interface {
	// Begin comes first, when the run has begun.
	Begin(Beginning)
	// WantsAll is asked before each second: whether All has to come with it.
	WantsAll() bool
	// Second comes at the end of each full second, and at the end of the run.
	Second(Second)
}

// Beginning is what a report needs of what was known when the run began.
type Beginning struct {
	Report      takt.Report   `json:"report"` // without figures
	Config      record.Config `json:"config"`
	Closed      bool          `json:"closed"`
	ReceiveOnly bool          `json:"receive_only"`
}

// Second is what a run has counted in a second.
type Second struct {
	All      *record.Before `json:"all,omitempty"` // of all seconds before, and in their place
	Record   record.Second  `json:"record"`
	Used     proc.Span      `json:"used"` // since the run's start, by the process
	Late     uint64         `json:"late,omitempty"`
	Received uint64         `json:"received,omitempty"` // by a driver that also sends
}

// beginning is made before the start: to look for the name of the host's CPU takes long.
func (r *run) beginning() (b Beginning) {
	if r.plan.Journal == nil {
		return b
	}
	b.Config, b.Closed, b.ReceiveOnly = r.config, r.closed(), r.receiveOnly()
	b.Report.Kind = r.plan.Kind
	r.describe(&b.Report)
	b.Report.Generator = r.host()
	return b
}

// swap ends an interval and tells all who want to know it.
func (r *run) swap(t record.Tick) {
	var s Second
	if r.plan.Journal != nil && r.plan.Journal.WantsAll() {
		before := r.rec.Before()
		s.All = &before
	}
	iv := r.rec.Swap(t)
	if r.plan.OnInterval != nil {
		r.plan.OnInterval(iv)
	}
	if r.plan.Journal == nil {
		return
	}
	s.Record, s.Used = r.rec.Second(), r.world.Usage().Since(r.usage)
	s.Late, s.Received = r.flow.asides()
	r.plan.Journal.Second(s)
}

func (f *flow) asides() (late, extra uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.late, f.extra
}

// host is what is known of the generator from the start.
func (r *run) host() takt.Generator {
	return takt.Generator{
		Engine: r.mode.name(), GOMAXPROCS: runtime.GOMAXPROCS(0), Cores: runtime.NumCPU(), HostClass: proc.HostClassName(),
	}
}

// Recover makes the report of a run whose process ended without one, of what its journal
// was told, and says how long the run is known. What the driver adds after a run is not in
// it, and the warning recovered is.
func Recover(b Beginning, seconds iter.Seq2[Second, error]) (rep *takt.Report, ran time.Duration, err error) {
	replay, err := record.NewReplay(b.Config)
	if err != nil {
		return nil, 0, err
	}
	var last Second
	for s, err := range seconds {
		if err == nil && s.All != nil {
			err = replay.Before(*s.All)
		}
		if err == nil {
			err = replay.Second(s.Record)
		}
		if err != nil {
			return nil, 0, err
		}
		last = s
	}
	ran = replay.Ran()
	rep = replay.Report(b.Closed, b.ReceiveOnly)
	known := b.Report
	rep.ID, rep.Tool, rep.Kind, rep.Command = known.ID, known.Tool, known.Kind, known.Command
	rep.Labels, rep.Variables, rep.ComparabilityKey = known.Labels, known.Variables, known.ComparabilityKey
	rep.StartedAt, rep.Schedule, rep.Generator = known.StartedAt, known.Schedule, known.Generator
	spent(rep, last.Used, verdict.Host{Closed: b.Closed, Told: replay.Stamped()})
	rep.Warnings = append(rep.Warnings, known.Warnings...)
	asides(rep, last.Late, last.Received)
	return rep, ran, nil
}
