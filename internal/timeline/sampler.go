package timeline

import (
	"context"
	"math"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

const (
	every   = time.Second
	askTime = 900 * time.Millisecond // for one reading of all sources: readings never overlap
	// shortest is the time after a reading below which the next one is left out: rates of so short
	// a time say nothing.
	shortest = 250 * time.Millisecond
	// clockError is the largest difference between the clocks of the run and of the sampler. A
	// step of the wall clock meanwhile is larger.
	clockError = 100 * time.Millisecond
)

// Reading is a source's figures at an instant: counters since its start, and levels.
type Reading map[string]float64

// Source reads figures. ok is false if it cannot.
type Source func(context.Context) (r Reading, ok bool)

// Group is sources whose figures are added: the servers of a run. A figure is known if all of
// them have it.
type Group []Source

// Sampler reads sources once a second, in a goroutine of its own.
type Sampler struct {
	groups     []Group
	began      time.Time
	at         time.Duration // instant of the last reading, on the monotonic clock
	last       [][]Reading   // by group and source; nil: not read
	seconds    list
	quit, done chan struct{}
}

// Begin begins to read, once before it returns.
func Begin(groups ...Group) *Sampler {
	s := &Sampler{groups: groups, began: time.Now(), quit: make(chan struct{}), done: make(chan struct{})}
	s.last = s.read()
	s.at = time.Since(s.began)
	go s.run()
	return s
}

func (s *Sampler) run() {
	defer close(s.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.sample()
		case <-s.quit:
			s.sample()
			return
		}
	}
}

// sample adds a second. Its end is when the sources had answered. After a source that did not
// answer, it leaves a reading out.
func (s *Sampler) sample() {
	if time.Since(s.began)-s.at < shortest {
		return
	}
	now := s.read()
	at := time.Since(s.began)
	one := takt.ServerSecond{From: s.at.Seconds(), T: at.Seconds(), Figures: map[string]float64{}}
	for i := range s.groups {
		between(one.Figures, s.last[i], now[i])
	}
	s.seconds.add(one)
	s.last, s.at = now, at
}

func (s *Sampler) read() (all [][]Reading) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	for _, g := range s.groups {
		readings := make([]Reading, len(g))
		for i, source := range g {
			if r, ok := source(ctx); ok {
				readings[i] = r
			}
		}
		all = append(all, readings)
	}
	return all
}

// between adds the figures of a group between two readings. A server whose counters go
// backwards has restarted: its counters are unknown for this time, and so are the sums.
func between(to map[string]float64, before, now []Reading) {
	restarted := false
	for i := range now {
		restarted = restarted || before[i].after(now[i])
	}
	for _, f := range Figures() {
		sum, known := 0.0, len(now) > 0 && !(f.Count && restarted)
		for i := range now {
			v, ok := now[i].get(f.Name)
			if f.Count {
				old, had := before[i].get(f.Name)
				v, ok = v-old, ok && had
			}
			sum, known = sum+v, known && ok
		}
		if known {
			to[f.Name] = sum
		}
	}
}

// after reports whether a counter of r is larger than later.
func (r Reading) after(later Reading) bool {
	backwards := func(name string) bool {
		old, had := r.get(name)
		v, ok := later.get(name)
		return had && ok && v < old
	}
	for _, f := range Figures() {
		if f.Count && backwards(f.Name) {
			return true
		}
	}
	return backwards(Uptime)
}

// largest is a bound of figures: libbeat has gauges of 2⁶⁴−1, and larger numbers have no units.
const largest = 1 << 62

// get is a figure that can be true.
func (r Reading) get(name string) (float64, bool) {
	v, ok := r[name]
	return v, ok && v >= 0 && v < largest && !math.IsNaN(v)
}

// milli rounds seconds of a report: a reading takes longer than a millisecond.
func milli(s float64) float64 { return math.Round(1e3*s)/1e3 + 0 } // + 0: not -0

// End ends the readings. It waits for the last one, askTime at most.
func (s *Sampler) End() {
	close(s.quit)
	<-s.done
}

// Fill sets the seconds of the report of the run that was between Begin and End, from the run's
// start on. If the start cannot be true, because somebody set the clock meanwhile, the report
// gets no seconds: they would be beside another second's latency.
func (s *Sampler) Fill(r *takt.Report) {
	origin := r.StartedAt.Sub(s.began)
	over := 0.0
	if n := len(r.Intervals); n > 0 {
		over = r.Intervals[n-1].T
	}
	if origin < -clockError || origin.Seconds()+over > (s.at+shortest+clockError).Seconds() {
		return
	}
	r.ServerSeconds = nil
	for _, one := range s.seconds.all {
		one.From, one.T = milli(one.From-origin.Seconds()), milli(one.T-origin.Seconds())
		if one.T > 0 {
			r.ServerSeconds = append(r.ServerSeconds, one)
		}
	}
	for n := len(r.ServerSeconds); n > 0 && len(r.ServerSeconds[n-1].Figures) == 0; n-- {
		r.ServerSeconds = r.ServerSeconds[:n-1]
	}
	if len(r.ServerSeconds) == 0 {
		r.ServerSeconds = nil
	}
}
