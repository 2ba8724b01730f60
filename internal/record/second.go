package record

import (
	"math"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Second is what one Swap took from the shards, as plain data for a journal. From a run's
// Seconds another recorder makes the same report.
type Second struct {
	At          time.Duration `json:"at"`        // as in Tick
	Scheduled   uint64        `json:"scheduled"` // as in Tick
	InFlightMax int           `json:"in_flight_max"`
	Window      time.Duration `json:"window"`         // end of the schedule; math.MaxInt64: unknown
	Over        bool          `json:"over,omitempty"` // as in Tick
	Counted     Counted       `json:"counted"`
	Open        []Open        `json:"open,omitempty"` // operations taken and not ended
	Backlog     uint64        `json:"backlog,omitempty"`
	BacklogFrom time.Duration `json:"backlog_from,omitempty"`
}

// Before is a recorder's state between two Swaps. It replaces all seconds before it, so the
// size of a journal is bounded.
type Before struct {
	At        time.Duration   `json:"at"`
	Scheduled uint64          `json:"scheduled"`
	Counted   Counted         `json:"counted"`
	Merged    []takt.Interval `json:"merged"` // Merged to Span are as in history
	Old       []takt.Interval `json:"old,omitempty"`
	Growing   *takt.Interval  `json:"growing,omitempty"`
	Held      int             `json:"held"`
	Span      int             `json:"span"`
}

// Counted is a set as plain data.
type Counted struct {
	sums
	Slices     map[int]slice     `json:"parts,omitempty"`  // by slice
	Timeline   [][4]uint64       `json:"course,omitempty"` // step, ready, sent, ended
	Histograms []string          `json:"histograms"`       // encoded set.histograms
	Blocks     *takt.Blocks      `json:"blocks,omitempty"` // as in set
	Timed      []*takt.Blocks    `json:"timed,omitempty"`  // as in set
	Clamped    uint64            `json:"clamped,omitempty"`
	Status     map[string]uint64 `json:"status,omitempty"`
	Classes    []takt.ErrorClass `json:"classes,omitempty"`
}

// Second is what the last Swap took from the shards.
func (r *Recorder) Second() Second {
	t := r.last
	return Second{
		At: t.At, Scheduled: t.Scheduled, InFlightMax: t.InFlightMax, Window: time.Duration(r.window.Load()), Over: t.Over,
		Counted: r.second.counted(&r.history.encoder),
		Open:    r.open.before(t.At), Backlog: t.Backlog, BacklogFrom: t.BacklogFrom,
	}
}

// SecondOf is an interval of a run that another process counted, as a Second that ends at an instant;
// scheduled is the number of operations due until then. The response times of successful and failed
// operations are in one histogram, and the lag is its 99th percentile only. failures have samples of
// the interval's errors. receives says that all successful operations are received messages.
func (c *Config) SecondOf(iv takt.Interval, failures []takt.ErrorClass, receives bool, at time.Duration, scheduled uint64) Second {
	n := takt.Counts{Scheduled: iv.Scheduled, Sent: iv.OK + iv.Failed, OK: iv.OK, Failed: iv.Failed, Dropped: iv.Dropped}
	lag := hist.New()
	lag.Record(time.Duration(iv.ScheduleLagP99 * float64(time.Microsecond)))
	s := Second{At: at, Scheduled: scheduled, InFlightMax: iv.InFlightMax, Window: math.MaxInt64}
	into := &s.Counted
	into.Histograms = make([]string, placePhases+len(c.Phases)+len(c.Timed)) // without onTime
	if iv.Warmup && c.Warmup > 0 {
		into.Warm = n
		into.Histograms[placeWarm], into.Histograms[placeWarmService], into.Histograms[placeWarmLag] = iv.HDR, iv.ServiceHDR, lag.Encode()
		return s
	}
	into.Counts = n
	if receives {
		into.Counts.OK, into.Received = 0, iv.OK
	}
	into.Histograms[placeOK], into.Histograms[placeService], into.Histograms[placeLag] = iv.HDR, iv.ServiceHDR, lag.Encode()
	if c.Window < 0 || at <= c.Window {
		into.Achieved, into.LastDone = n.Sent, at
	}
	if c.Window >= 0 {
		s.Window = c.Window
	}
	if iv.Good != nil {
		into.Good = *iv.Good
	}
	for i, t := range c.Timed {
		into.Histograms[placePhases+len(c.Phases)+i] = iv.Latency[t.Name].HDR
	}
	for class, count := range iv.Errors {
		one := takt.ErrorClass{Class: class, Count: count}
		for _, f := range failures {
			if f.Class == class {
				one.Sample, one.Body = f.Sample, f.Body
			}
		}
		into.Classes = append(into.Classes, one)
	}
	return s
}

// Before is what all Swaps so far took from the shards.
func (r *Recorder) Before() Before {
	h := &r.history
	b := Before{
		At: r.last.At, Scheduled: r.scheduled, Counted: r.total.counted(&h.encoder),
		Merged: h.merged[:len(h.merged):len(h.merged)], Old: h.old[:len(h.old):len(h.old)], Held: h.held, Span: h.span,
	}
	if growing := h.open; h.held > 0 {
		b.Growing = &growing
	}
	return b
}

func (s *set) counted(e *hist.Encoder) Counted {
	c := Counted{sums: s.sums, Blocks: s.blocks.Text(), Status: s.statusMap(), Clamped: s.clamped()}
	for i, step := range s.course.steps {
		if step.ready+step.sent+step.ended > 0 {
			c.Timeline = append(c.Timeline, [4]uint64{uint64(s.course.first + i), step.ready, step.sent, step.ended})
		}
	}
	for i, p := range s.slices {
		if p.N > 0 {
			if c.Slices == nil {
				c.Slices = map[int]slice{}
			}
			c.Slices[i] = p
		}
	}
	for _, h := range s.histograms() {
		text := ""
		if h != nil {
			text = e.Encode(h)
		}
		c.Histograms = append(c.Histograms, text)
	}
	for _, blocks := range s.timed {
		var text *takt.Blocks
		if blocks != nil {
			text = blocks.Text()
		}
		c.Timed = append(c.Timed, text)
	}
	for _, class := range s.classes {
		c.Classes = append(c.Classes, *class)
	}
	return c
}
