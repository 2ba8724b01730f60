package timeline

import (
	"context"
	"math"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// script is a source that says one reading after the other; nil: it fails.
func script(list ...Reading) Source {
	n := 0
	return func(context.Context) (Reading, bool) {
		r := list[min(n, len(list)-1)]
		n++
		return r, r != nil
	}
}

// sampled is what a run of so many seconds gets, which starts with the sampler.
func sampled(t *testing.T, seconds int, groups ...Group) (got []map[string]float64) {
	synctest.Test(t, func(t *testing.T) {
		s := Begin(groups...)
		r := &takt.Report{StartedAt: time.Now()}
		time.Sleep(time.Duration(seconds)*time.Second + 10*time.Millisecond)
		s.End()
		s.Fill(r)
		for i, one := range r.ServerSeconds {
			if one.From != float64(i) || one.T != float64(i+1) {
				t.Errorf("second %d is %v to %v", i, one.From, one.T)
			}
			got = append(got, one.Figures)
		}
	})
	return got
}

// A server that restarts, hangs, is gone, or says what cannot be true costs gaps, and never a
// wrong number.
func TestHostileServers(t *testing.T) {
	acked := func(v float64) Reading { return Reading{Acked: v} }
	one := func(v float64) map[string]float64 { return map[string]float64{Acked: v} }
	gap := map[string]float64{}
	for name, test := range map[string]struct {
		groups []Group
		want   []map[string]float64
	}{
		"honest":              {[]Group{{script(acked(5), acked(7), acked(7), acked(17))}}, []map[string]float64{one(2), one(0), one(10)}},
		"restarted":           {[]Group{{script(acked(50), acked(70), acked(3), acked(5))}}, []map[string]float64{one(20), gap, one(2)}},
		"restarted unnoticed": {[]Group{{script(Reading{Acked: 5, Uptime: 9000}, Reading{Acked: 6, Uptime: 10}, Reading{Acked: 9, Uptime: 1010})}}, []map[string]float64{gap, one(3)}},
		"gone for a second":   {[]Group{{script(acked(5), nil, acked(7), acked(9))}}, []map[string]float64{gap, gap, one(2)}},
		"gone for good":       {[]Group{{script(acked(5), acked(6), nil)}}, []map[string]float64{one(1)}},
		"not there":           {[]Group{{script(nil)}}, nil},
		"no counters":         {[]Group{{}}, nil},
		"nonsense":            {[]Group{{script(acked(5), acked(math.NaN()), acked(math.Inf(1)), acked(-3), acked(6), acked(7))}}, []map[string]float64{gap, gap, gap, gap, one(1)}},
		"a queue below zero":  {[]Group{{script(acked(1), Reading{Acked: 2, Queued: 1<<64 - 1}, Reading{Acked: 3, Queued: 4})}}, []map[string]float64{one(1), {Acked: 1, Queued: 4}}},
		"two servers":         {[]Group{{script(acked(5), acked(7)), script(acked(1), acked(2))}}, []map[string]float64{one(3)}},
		"one of two restarts": {[]Group{{script(acked(5), acked(900)), script(acked(10), acked(2), acked(3))}}, []map[string]float64{gap, one(1)}},
		"one of two is gone":  {[]Group{{script(acked(5), acked(6)), script(acked(1), nil)}}, nil},
		"groups are separate": {[]Group{{script(acked(5), nil)}, {script(Reading{Memory: 9})}}, []map[string]float64{{Memory: 9}}},
	} {
		seconds := max(1, len(test.want))
		if got := sampled(t, seconds, test.groups...); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// A source that never answers is left at the end of its time, and readings never overlap.
func TestSourceHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open, n := 0, 0
		s := Begin(Group{func(ctx context.Context) (Reading, bool) {
			if n++; n == 1 {
				return Reading{Acked: 1}, true
			}
			if open++; open > 1 {
				t.Error("two readings at once")
			}
			<-ctx.Done()
			open--
			return nil, false
		}})
		r := &takt.Report{StartedAt: time.Now()}
		time.Sleep(5*time.Second + 100*time.Millisecond)
		begun := time.Now()
		s.End()
		if took := time.Since(begun); took > askTime {
			t.Errorf("the end took %v", took)
		}
		if s.Fill(r); n != 4 || len(r.ServerSeconds) > 0 {
			t.Errorf("%d readings, %v", n, r.ServerSeconds)
		}
	})
}

// The seconds begin with the run, and only if both clocks agree.
func TestOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0.0
		s := Begin(Group{func(context.Context) (Reading, bool) { n++; return Reading{Acked: n}, true }})
		time.Sleep(2250 * time.Millisecond)
		started := time.Now()
		time.Sleep(3 * time.Second) // 5.25 s
		s.End()
		r := &takt.Report{StartedAt: started, Intervals: []takt.Interval{{T: 3}}}
		s.Fill(r)
		var ends []float64
		for _, one := range r.ServerSeconds {
			ends = append(ends, one.T)
		}
		if want := []float64{0.75, 1.75, 2.75, 3}; !reflect.DeepEqual(ends, want) || r.ServerSeconds[0].From != -0.25 {
			t.Errorf("%v, want %v", ends, want)
		}
		for _, wrong := range []time.Duration{-time.Hour, -3 * time.Second, time.Second, time.Hour} {
			r := &takt.Report{StartedAt: started.Add(wrong), Intervals: r.Intervals}
			if s.Fill(r); r.ServerSeconds != nil {
				t.Errorf("the clock was set by %v: %v", wrong, r.ServerSeconds)
			}
		}
	})
}

// A long run merges its seconds: sums stay, levels are the highest, and no gap becomes a figure.
func TestLongRun(t *testing.T) {
	var l list
	const seconds = 10*takt.MaxIntervals + 7
	for i := range seconds {
		s := takt.ServerSecond{From: float64(i), T: float64(i + 1), Figures: map[string]float64{Acked: 2, Queued: float64(i % 100)}}
		if i == 5000 {
			s.Figures = map[string]float64{}
		}
		l.add(s)
		if len(l.all) > takt.MaxIntervals {
			t.Fatalf("%d seconds", len(l.all))
		}
	}
	gaps, before := 0, 0.0
	for _, s := range l.all {
		n, known := s.Figures[Acked]
		if !known {
			gaps++
		}
		if s.From != before || known && n != 2*(s.T-s.From) || !known && !(s.From <= 5000 && s.T > 5000) {
			t.Fatalf("%+v after %v", s, before)
		}
		before = s.T
	}
	if before != seconds || gaps != 1 {
		t.Errorf("the end is %v, with %d gaps", before, gaps)
	}
}
