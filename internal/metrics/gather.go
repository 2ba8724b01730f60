package metrics

import (
	"maps"
	"time"

	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// gatherer makes the batches of a run, in the Pump's own goroutine.
type gatherer struct {
	*Pump
	used  time.Duration // CPU time before the run; 0: not known
	at    float64       // end of the newest interval, in seconds since the start
	to    time.Time     // To of its batch
	total Figures
}

func newGatherer(p *Pump) *gatherer {
	g := &gatherer{Pump: p, to: p.begun}
	if p.cpu != nil {
		g.used = p.cpu()
	}
	return g
}

// gather makes a batch of each interval, and one of the report.
func (g *gatherer) gather() {
	for ended := g.ended; ended != nil || len(g.seconds) > 0; {
		select {
		case s := <-g.seconds:
			g.put(g.batch(&s))
		case <-ended:
			ended = nil
		}
	}
	if g.report != nil {
		g.put(g.last(g.report))
	}
}

func (g *gatherer) put(b *Batch) {
	for _, l := range g.lines {
		l.put(b)
	}
}

// instant is a time of the run by the wall clock.
func (g *gatherer) instant(seconds float64) time.Time {
	return g.begun.Add(time.Duration(seconds * float64(time.Second)))
}

// end is To of the batch of an interval: at least a millisecond after that of the one before. The last
// interval of a run may be shorter, and receivers have one value of a series for each millisecond.
func (g *gatherer) end(seconds float64) time.Time {
	least := g.to.Add(time.Millisecond)
	if g.to = g.instant(seconds); g.to.Before(least) {
		g.to = least
	}
	return g.to
}

// batch is that of an interval.
func (g *gatherer) batch(s *second) *Batch {
	iv := &s.Interval
	last := Figures{Scheduled: iv.Scheduled, OK: iv.OK, Failed: iv.Failed, Dropped: iv.Dropped, Errors: iv.Errors, Bytes: &iv.Bytes}
	h, _ := s.lent.Of(iv) // the engine has just encoded them
	last.Response, last.Service, last.Timed, last.Good = h.Response, h.Service, h.Timed, iv.Good
	g.total = g.total.plus(last)
	b := &Batch{
		Run: &g.run, Started: g.begun, From: g.instant(g.at), To: g.end(iv.T), Warmup: iv.Warmup,
		Last: last, Total: g.total,
		InFlight: iv.InFlightMax, ScheduleLagP99: time.Duration(iv.ScheduleLagP99 * float64(time.Microsecond)), Unread: iv.Lag,
	}
	if g.used > 0 {
		used := g.cpu() - g.used
		b.CPU = &used
	}
	g.at = iv.T
	return b
}

// last is the batch of the end of a run.
func (g *gatherer) last(r *takt.Report) *Batch {
	b := &Batch{Run: &g.run, Started: g.begun, From: g.to, To: g.to, Over: true, Total: g.total, Verdict: r.Verdict}
	b.Total.Unfinished = r.Counts.Unfinished + r.WarmupCounts.Unfinished
	b.Total.Bytes = &takt.Bytes{Sent: r.Bytes.Sent, Received: r.Bytes.Received}
	if r.Generator.CPUS > 0 {
		used := time.Duration(r.Generator.CPUS * float64(time.Second))
		b.CPU = &used
	}
	return b
}

// plus is the sum of f and o, in memory of its own.
func (f Figures) plus(o Figures) Figures {
	f.Scheduled += o.Scheduled
	f.OK += o.OK
	f.Failed += o.Failed
	f.Dropped += o.Dropped
	f.Bytes = plusBytes(f.Bytes, o.Bytes)
	if len(o.Errors) > 0 {
		f.Errors = takt.PlusErrors(takt.PlusErrors(nil, f.Errors), o.Errors)
	}
	f.Response, f.Service = f.Response.Plus(o.Response), f.Service.Plus(o.Service)
	f.Good = timeline.PlusGood(f.Good, o.Good)
	if len(o.Timed) > 0 {
		sums := map[string]timeline.Histogram{}
		maps.Copy(sums, f.Timed)
		for name, h := range o.Timed {
			if _, known := sums[name]; known || len(sums) < timeline.MaxTimed { // a fleet's member may name others each second
				sums[name] = sums[name].Plus(h)
			}
		}
		f.Timed = sums
	}
	return f
}

func plusBytes(a, b *takt.Bytes) *takt.Bytes {
	if a == nil {
		return b
	}
	sum := a.Plus(*b)
	return &sum
}
