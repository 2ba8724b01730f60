package engine_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// instants is a list whose end is known when its last operation was read.
type instants struct {
	due   []time.Duration
	next  int
	early bool
}

func (s *instants) Next(op *takt.Op) bool {
	if s.next == len(s.due) {
		return false
	}
	op.Seq, op.Due = uint64(s.next), s.due[s.next]
	s.next++
	return true
}

func (s *instants) End() time.Duration {
	if s.next < len(s.due) || s.early {
		return -1
	}
	return s.due[len(s.due)-1] + 1
}

func (s *instants) Starved() bool    { return false }
func (s *instants) EndedEarly() bool { return s.early && s.next == len(s.due) }
func (s *instants) Err() error       { return nil }

// A run at instants of its own is no closed loop, and its window ends with the last of
// them, not with the last answer; that of a list that ended early when this showed.
func TestRecorded(t *testing.T) {
	for _, early := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			o := options("", 0, 10)
			o.Recorded = true
			p := plan(t, o, service(700*ms))
			p.Source = &instants{due: []time.Duration{0, 100 * ms, 250 * ms, 250 * ms}, early: early}
			r := run(t, t.Context(), p)
			want := 0.25
			if !early {
				want = 0.250000001
			}
			if r.DurationS != want || r.Counts.OK != 4 || r.Rate.Intended == nil || *r.Rate.Intended != 4/want {
				t.Errorf("early %v: %v s, %+v, %v", early, r.DurationS, r.Counts, r.Rate.Intended)
			}
			if s := r.Schedule; s.Profile != "replay" || s.Arrivals != "recorded" || s.Shard != "1/1" {
				t.Errorf("%+v", s)
			}
			for _, w := range r.Warnings {
				t.Errorf("%+v", w)
			}
		})
	}
	o := engine.Defaults()
	if v := o.Variables(); v["arrivals"] != "closed" {
		t.Errorf("%v", v)
	}
	if o.Recorded = true; o.Closed() || o.Variables()["arrivals"] != "recorded" || o.Variables()["rate"] != nil {
		t.Errorf("%v", o.Variables())
	}
}

// slowList is a list at 10/s that comes through a pipe: operation n is known at the instant known[n],
// and its end after the last.
type slowList struct {
	known   []time.Duration
	over    time.Duration
	began   time.Time
	next    int
	starved bool
}

func (s *slowList) wait(until time.Duration) bool {
	if s.began.IsZero() {
		s.began = time.Now()
	}
	s.starved = time.Since(s.began) < until
	return s.starved
}

func (s *slowList) due() time.Duration { return time.Duration(s.next) * 100 * ms }

func (s *slowList) Next(op *takt.Op) bool {
	if s.next == len(s.known) {
		s.wait(s.over)
		return false
	}
	if s.wait(s.known[s.next]) {
		return false
	}
	op.Seq, op.Due = uint64(s.next), s.due()
	s.next++
	return true
}

func (s *slowList) End() time.Duration {
	if s.next == len(s.known) && !s.starved {
		return s.due()
	}
	return 10 * time.Second
}

func (s *slowList) Starved() bool    { return s.starved }
func (s *slowList) EndedEarly() bool { return s.End() < 10*time.Second }
func (s *slowList) Err() error       { return nil }

// n operations at a rate have the window n/rate, in every mode, wherever they come from and however
// late: waiting for the list is not the generator's, so they were sent in time.
func TestListFromAPipe(t *testing.T) {
	for name, c := range map[string]struct {
		known []time.Duration
		over  time.Duration
	}{
		"one":         {[]time.Duration{0}, 0},
		"at once":     {make([]time.Duration, 20), 0},
		"end is late": {make([]time.Duration, 20), 4 * time.Second},
		"a pause":     {append(make([]time.Duration, 10), slices.Repeat([]time.Duration{1500 * ms}, 10)...), 0},
		"after it":    {append(make([]time.Duration, 4), 3*time.Second, 3*time.Second), 3 * time.Second},
	} {
		for mode, driver := range map[string]*takt.Driver{"worker": nil, "async": lateDriver(answers(3*ms, 0))} {
			synctest.Test(t, func(t *testing.T) {
				p := plan(t, options("10/s", 10*time.Second, 10), service(3*ms))
				p.Source = &slowList{known: c.known, over: c.over}
				if driver != nil {
					p.Driver = driver
				}
				r := run(t, t.Context(), p)
				if n := len(c.known); r.DurationS != float64(n)/10 || *r.Rate.Intended != 10 || r.Rate.Achieved != 10 || r.Counts.OK != uint64(n) || r.Verdict != takt.Valid {
					t.Errorf("%s, %s: %v s, %v/s of %v/s, %+v, %s %+v", name, mode, r.DurationS, r.Rate.Achieved, *r.Rate.Intended, r.Counts, r.Verdict, r.Warnings)
				}
			})
		}
	}
}
