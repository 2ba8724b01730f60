package engine

import (
	"iter"
	"runtime"
	"time"

	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// Journal receives what a run has counted, so that Recover can make the report if the process
// crashes. Its calls come one at a time, in parallel with OnSecond. A slow call delays the
// intervals.
type Journal interface {
	// Begin is the first call, when the run has begun.
	Begin(Beginning)
	// WantsAll is called before each Second and says whether that Second must contain All.
	WantsAll() bool
	// Second is called at the end of each full second and of the run.
	Second(Second)
}

// Beginning is the part of a report that is known when the run begins.
type Beginning struct {
	Report      takt.Report   `json:"report"` // without figures
	Config      record.Config `json:"config"`
	Closed      bool          `json:"closed"`
	ReceiveOnly bool          `json:"receive_only"`
	Told        bool          `json:"told,omitempty"` // other processes make the run, see Told
}

// Second is what a run counted in one second.
type Second struct {
	All      *record.Before `json:"all,omitempty"` // sum of all seconds before; replaces them
	Record   record.Second  `json:"record"`
	Used     proc.Span      `json:"used"` // used by the process since the run's start
	Late     uint64         `json:"late,omitempty"`
	Received uint64         `json:"received,omitempty"` // messages received by a driver that also sends
}

// beginning is called before the start: reading the CPU's name takes long.
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

// swap ends an interval and passes it to OnSecond and the journal.
func (r *run) swap(t record.Tick) {
	var s Second
	if r.plan.Journal != nil && r.plan.Journal.WantsAll() {
		before := r.rec.Before()
		s.All = &before
	}
	if lag := r.plan.Driver.Lag; lag != nil {
		unread := lag()
		t.Lag = &unread
	}
	iv := r.rec.Swap(t)
	if r.plan.OnSecond != nil {
		r.plan.OnSecond(iv, r.rec.Errors())
	}
	if r.plan.Enough != nil && !r.enough {
		r.enough = r.plan.Enough(r.rec.SoFar())
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

// host is the part of Generator that is known from the start.
func (r *run) host() takt.Generator {
	return takt.Generator{
		Engine: r.mode.name(), GOMAXPROCS: runtime.GOMAXPROCS(0), Cores: runtime.NumCPU(), HostClass: proc.HostClassName(),
	}
}

// Recover makes the report of a run that ended without one from the run's journal; ran is the
// recorded length. The report lacks what the driver adds after a run, and has the warning
// "recovered".
func Recover(b Beginning, seconds iter.Seq2[Second, error]) (rep *takt.Report, ran time.Duration, err error) {
	f, err := Follow(b)
	if err != nil {
		return nil, 0, err
	}
	for s, err := range seconds {
		if err == nil {
			err = f.Add(s)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	rep, ran = f.report(f.replay)
	return rep, ran, nil
}

// Following is a run as its journal tells it, up to now.
type Following struct {
	head   Beginning
	replay *record.Replay
	last   Second
}

// Follow begins with the first record of a journal.
func Follow(b Beginning) (*Following, error) {
	replay, err := record.NewReplay(b.Config)
	return &Following{head: b, replay: replay}, err
}

// Add adds the next second. After an error, only a new Following is of use.
func (f *Following) Add(s Second) error {
	if s.All != nil {
		if err := f.replay.Before(*s.All); err != nil {
			return err
		}
	}
	f.last = s
	return f.replay.Second(s.Record)
}

// SoFar is the report that Recover would make now; ran is 0 before the first second. Further seconds
// may follow.
func (f *Following) SoFar() (rep *takt.Report, ran time.Duration, err error) {
	replay, err := f.replay.Copy()
	if err != nil {
		return nil, 0, err
	}
	rep, ran = f.report(replay)
	return rep, ran, nil
}

// report makes the report of a replay, which is of no use after that.
func (f *Following) report(replay *record.Replay) (rep *takt.Report, ran time.Duration) {
	ran = replay.Ran()
	rep = replay.Report(f.head.Closed, f.head.ReceiveOnly)
	known := f.head.Report
	rep.ID, rep.Tool, rep.Kind, rep.Command = known.ID, known.Tool, known.Kind, known.Command
	rep.Labels, rep.Variables, rep.ComparabilityKey = known.Labels, known.Variables, known.ComparabilityKey
	rep.StartedAt, rep.Schedule, rep.Generator = known.StartedAt, known.Schedule, known.Generator
	spent(rep, f.last.Used, verdict.Host{Closed: f.head.Closed, Told: replay.Stamped()})
	rep.Warnings = append(rep.Warnings, known.Warnings...)
	if f.head.Told {
		untold(rep)
	}
	asides(rep, f.last.Late, f.last.Received)
	rep.Overload = overload.Find(rep)
	return rep, ran
}
