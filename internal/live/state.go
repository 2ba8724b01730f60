package live

import (
	"math"
	"time"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// maxColumns is the number of seconds that a state keeps: more than a screen shows.
const maxColumns = 512

// maxTimed is the largest number of latencies of parts of answers that the view shows.
const maxTimed = 4

// column is one second of a run.
type column struct {
	t                      float64 // end, in seconds since the start
	length                 float64 // in seconds
	window                 float64 // part of length in which operations were due, in seconds
	due, ok, failed, drops uint64
	warmup                 bool
	inFlight               int
	responseP50            float64 // in microseconds; 0: nothing ended
	responseP99            float64
	serviceP50, serviceP99 float64
	lag                    float64
	timed                  [maxTimed]float64 // p99 of those of Head.Timed; 0: it did not happen
	heat                   [buckets]uint32   // response times
	mark                   mark
}

// State is a run so far, in constant memory. Its methods are for one goroutine.
type State struct {
	head       Head
	assertions []assert.Assertion

	columns  []column // ring of the last maxColumns seconds
	first    int      // index of the oldest in columns
	last     float64  // end of the newest second
	total    takt.Interval
	measured float64 // seconds of the schedule without the warm-up
	errors   []takt.ErrorClass
	overload *takt.Overload
	outage   *takt.Outage
	faults   []takt.Fault

	response, service *hist.Histogram // of the measured part
	judgedSoFar       []note          // assertions after the newest second; nil: not looked at
}

// New returns the state of a run that has not begun.
func New(h Head) *State {
	return &State{head: h, assertions: h.assertions(), response: hist.New(), service: hist.New()}
}

// Add adds a second.
func (s *State) Add(snap Snapshot) {
	iv := &snap.Interval
	c := s.next()
	*c = column{
		t: iv.T, length: iv.T - s.last, window: s.window(s.last, iv.T), warmup: iv.Warmup,
		due: iv.Scheduled, ok: iv.OK, failed: iv.Failed, drops: iv.Dropped, inFlight: iv.InFlightMax,
		responseP50: iv.ResponseP50, responseP99: iv.ResponseP99, lag: iv.ScheduleLagP99,
	}
	for i, name := range s.head.shown() {
		c.timed[i] = iv.Latency[name].P99
	}
	s.last = iv.T
	s.judgedSoFar, s.total.Lag = nil, iv.Lag
	if snap.Errors != nil {
		s.errors = snap.Errors
	}
	s.overload = snap.Overload
	s.addMarks(snap.Outage, snap.Faults)
	h, _ := snap.Lent.Of(iv) // the engine has just encoded them, so a fault is impossible, and would cost a part of the picture
	s.addLatencies(c, iv, &h)
	if !iv.Warmup {
		s.measured += c.window
		s.total.Scheduled += iv.Scheduled
		s.total.OK += iv.OK
		s.total.Failed += iv.Failed
		s.total.Dropped += iv.Dropped
		s.total.Good = timeline.PlusGood(s.total.Good, iv.Good)
	}
}

// next is the place for a new column, which may be that of the oldest.
func (s *State) next() *column {
	if len(s.columns) < maxColumns {
		s.columns = append(s.columns, column{})
		return &s.columns[len(s.columns)-1]
	}
	c := &s.columns[s.first]
	s.first = (s.first + 1) % maxColumns
	return c
}

// addLatencies adds the latencies of a second to its column and to the total.
func (s *State) addLatencies(c *column, iv *takt.Interval, h *timeline.Histograms) {
	h.Response.Each(func(from, _ time.Duration, n uint64) {
		i := bucketOf(hist.Micros(from))
		c.heat[i] = uint32(min(uint64(c.heat[i])+n, math.MaxUint32))
	})
	c.serviceP50, c.serviceP99 = hist.Micros(h.Service.Quantile(0.5)), hist.Micros(h.Service.Quantile(0.99))
	if !iv.Warmup {
		h.Response.RecordIn(s.response)
		h.Service.RecordIn(s.service)
	}
}

// Clone is a copy that later snapshots do not change.
func (s *State) Clone() *State {
	c := New(s.head)
	c.columns = append(c.columns, s.columns...)
	c.first, c.last, c.total, c.measured, c.errors = s.first, s.last, s.total, s.measured, s.errors
	c.overload, c.outage, c.faults = s.overload, s.outage, s.faults
	c.response.Merge(s.response)
	c.service.Merge(s.service)
	return c
}

// Begun reports whether a second is over.
func (s *State) Begun() bool { return len(s.columns) > 0 }

// newest returns the last n columns, oldest first, or fewer if there are fewer.
func (s *State) newest(n int) []*column {
	n = min(n, len(s.columns))
	list := make([]*column, 0, n)
	for i := len(s.columns) - n; i < len(s.columns); i++ {
		list = append(list, &s.columns[(s.first+i)%len(s.columns)])
	}
	return list
}

// current is the newest column; an empty one before the first.
func (s *State) current() *column {
	if list := s.newest(1); len(list) == 1 {
		return list[0]
	}
	return &column{}
}
