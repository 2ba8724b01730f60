package engine_test

import (
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
