package record

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Each outcome is counted where it belongs: what waited until the end was not sent, measured
// or in the warm-up.
func TestOutcomes(t *testing.T) {
	failed := &takt.Result{Class: "x"}
	for name, c := range map[string]struct {
		outcome Outcome
		res     *takt.Result
		want    takt.Counts
	}{
		"ok":           {Ended, &takt.Result{}, takt.Counts{Sent: 3, OK: 3}},
		"ok, unknown":  {Ended, nil, takt.Counts{Sent: 3, OK: 3}},
		"failed":       {Ended, failed, takt.Counts{Sent: 3, Failed: 3}},
		"on its way":   {UnfinishedSent, nil, takt.Counts{Sent: 3, Unfinished: 3}},
		"never sent":   {UnfinishedQueued, nil, takt.Counts{Unfinished: 3}},
		"dropped":      {Dropped, nil, takt.Counts{Dropped: 3}},
		"dropped late": {Dropped, failed, takt.Counts{Dropped: 3}},
	} {
		for _, warmup := range []time.Duration{0, time.Second} {
			r := New(Config{Warmup: warmup, Window: 2 * time.Second})
			e := Event{Due: 500 * ms, Free: 500 * ms, Sent: 501 * ms, Done: 511 * ms, Outcome: c.outcome}
			r.SampleAll(0, []Event{e, e, e}, c.res)
			rep := r.Report(End{})
			got, none := rep.Counts, rep.WarmupCounts
			if warmup > 0 {
				got, none = none, got
			}
			if got != c.want || none != (takt.Counts{}) {
				t.Errorf("%s, warm-up %v: %+v and %+v, want %+v", name, warmup, got, none, c.want)
			}
		}
	}
}

// Every latency of one operation of each outcome, exactly.
func TestLatenciesOfOutcomes(t *testing.T) {
	const us = time.Microsecond
	event := Event{Due: 10 * us, Free: 11 * us, Sent: 13 * us, Done: 17 * us} // lag 2, delay 3, service 4, response 7
	for outcome, want := range map[Outcome][5]float64{                        // response_ok, response, service, delay, lag
		Ended: {7, 7, 4, 3, 2}, UnfinishedSent: {0, 7, 4, 3, 2}, UnfinishedQueued: {0, 7, 0, 0, 0}, Dropped: {},
	} {
		r := New(Config{Window: time.Second})
		event.Outcome = outcome
		r.Sample(0, event, nil)
		all := r.Report(End{}).Latency
		for i, name := range []string{takt.LatencyResponseOK, takt.LatencyResponse, takt.LatencyService, takt.LatencySendDelay, takt.LatencyScheduleLag} {
			l, count := all[name], uint64(0)
			if want[i] > 0 {
				count = 1
			}
			if l.Count != count || l.Max < want[i] || l.Max > want[i]*1.002 {
				t.Errorf("outcome %d: %d of %s, max %v, want %v", outcome, l.Count, name, l.Max, want[i])
			}
		}
	}
}

// An interval shows the warm-up, too: of what was sent all times, of what was not its age.
func TestIntervalOfTheWarmup(t *testing.T) {
	r := New(Config{Warmup: time.Second, Window: 2 * time.Second})
	r.Sample(0, Event{Due: ms, Free: 2 * ms, Sent: 4 * ms, Done: 8 * ms}, &takt.Result{})
	r.Sample(0, Event{Due: ms, Free: 9 * ms, Done: 10 * ms, Outcome: UnfinishedQueued}, nil)
	r.Sample(0, Event{Due: ms, Done: 100 * ms, Outcome: Dropped}, nil)
	iv := r.Swap(Tick{At: time.Second, Scheduled: 3, InFlightMax: 7})
	counts := func(text string) uint64 {
		h, err := hist.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		return h.Count()
	}
	if iv.OK != 1 || iv.Failed != 0 || iv.Dropped != 1 || iv.Scheduled != 3 || iv.InFlightMax != 7 || iv.T != 1 || !iv.Warmup {
		t.Errorf("%+v", iv)
	}
	if counts(iv.HDR) != 2 || counts(iv.ServiceHDR) != 1 || iv.ResponseMax < 9000 || iv.ResponseMax > 9010 || iv.ResponseP50 < 7000 || iv.ResponseP50 > 7010 || iv.ScheduleLagP99 < 2000 || iv.ScheduleLagP99 > 2003 {
		t.Errorf("%d response and %d service times, %+v", counts(iv.HDR), counts(iv.ServiceHDR), iv)
	}
	if next := r.Swap(Tick{At: time.Second + 1, Scheduled: 5}); next.Warmup || next.Scheduled != 2 || next.OK+next.Dropped != 0 || next.HDR != "" && counts(next.HDR) != 0 {
		t.Errorf("the next one: %+v", next)
	}
}

// The window of a closed loop ends with its last answer, if that came after the warm-up, and
// its rate is of all that ended; other windows end as planned, or where the run was stopped.
func TestWindows(t *testing.T) {
	for name, c := range map[string]struct {
		window, close, done time.Duration
		closed              bool
		duration, achieved  float64
	}{
		"as planned":                       {3 * time.Second, 0, 1500 * ms, false, 2, 0.5},
		"closed earlier":                   {3 * time.Second, 2 * time.Second, 1500 * ms, false, 1, 1},
		"closed later":                     {3 * time.Second, 9 * time.Second, 1500 * ms, false, 2, 0.5},
		"unknown, stopped":                 {-1, 0, 1500 * ms, false, 4, 0.25},
		"sent in the window, ended later":  {3 * time.Second, 0, 4 * time.Second, false, 2, 0.5},
		"closed loop":                      {3 * time.Second, 0, 1500 * ms, true, 0.5, 2},
		"closed loop, ended after the end": {3 * time.Second, 0, 5 * time.Second, true, 4, 0.25},
		"nothing measured":                 {time.Second, 0, 1500 * ms, false, 0, 0},
	} {
		r := New(Config{Warmup: time.Second, Window: c.window})
		r.Sample(0, Event{Due: 1200 * ms, Sent: 1200 * ms, Done: c.done}, nil)
		if c.close > 0 {
			r.CloseWindow(c.close)
		}
		rep := r.Report(End{Scheduled: 1, Closed: c.closed, Stop: 5 * time.Second})
		if name == "nothing measured" {
			if rep.DurationS != 0 || rep.Rate.Achieved != 0 || *rep.Rate.Intended != 0 {
				t.Errorf("%s: %v s, %v/s", name, rep.DurationS, rep.Rate)
			}
			continue
		}
		if rep.DurationS != c.duration || rep.Rate.Achieved != c.achieved || (rep.Rate.Intended == nil) != c.closed {
			t.Errorf("%s: %v s at %v/s, want %v s at %v/s", name, rep.DurationS, rep.Rate.Achieved, c.duration, c.achieved)
		}
	}
	// A closed loop of which nothing ended after the warm-up has its planned window.
	for _, done := range []time.Duration{time.Second - 1, time.Second} {
		r := New(Config{Warmup: time.Second, Window: 3 * time.Second})
		r.Sample(0, Event{Done: done}, nil)
		if rep := r.Report(End{Closed: true, Stop: 5 * time.Second}); rep.DurationS != 2 {
			t.Errorf("the last answer at %v: %v s", done, rep.DurationS)
		}
	}
}

// What was sent at the end of the window was in time; what a free slot was there for until the
// grace after it, and was sent later or never, was not.
func TestUnsentBounds(t *testing.T) {
	const end = time.Second
	for name, c := range map[string]struct {
		e                Event
		achieved, unsent uint64
	}{
		"at the end":                      {Event{Due: ms, Sent: end, Done: 2 * end}, 1, 0},
		"after the end":                   {Event{Due: ms, Sent: end + 1, Done: 2 * end}, 0, 0},
		"at the end of the grace":         {Event{Due: ms, Sent: end + grace, Done: 2 * end}, 0, 0},
		"after it":                        {Event{Due: ms, Sent: end + grace + 1, Done: 2 * end}, 0, 1},
		"free at its end":                 {Event{Due: ms, Free: end + grace, Sent: 2 * end, Done: 3 * end}, 0, 1},
		"free after it":                   {Event{Due: ms, Free: end + grace + 1, Sent: 2 * end, Done: 3 * end}, 0, 0},
		"never, cut at the end":           {Event{Due: ms, Done: end + grace, Outcome: UnfinishedQueued}, 0, 0},
		"never, cut after it":             {Event{Due: ms, Done: end + grace + 1, Outcome: UnfinishedQueued}, 0, 1},
		"on its way, sent late":           {Event{Due: ms, Sent: 2 * end, Done: 3 * end, Outcome: UnfinishedSent}, 0, 1},
		"dropped":                         {Event{Due: ms, Done: 2 * end, Outcome: Dropped}, 0, 0},
		"never, and no connection before": {Event{Due: ms, Free: 2 * end, Done: 2 * end, Outcome: UnfinishedQueued}, 0, 0},
	} {
		r := New(Config{Window: end})
		r.SampleAll(0, []Event{c.e, c.e}, nil)
		r.Report(End{})
		if got := r.total; got.Achieved != 2*c.achieved || got.Unsent != 2*c.unsent {
			t.Errorf("%s: %d achieved, %d unsent, want 2 × %d and 2 × %d", name, got.Achieved, got.Unsent, c.achieved, c.unsent)
		}
	}
}

// Values outside the range of a histogram are counted from each histogram, in every time.Second, and
// behind a journal.
func TestClampedIsCounted(t *testing.T) {
	r := New(Config{Shards: 2, Phases: []string{"connect"}, Window: time.Second, Journal: true})
	res := &takt.Result{}
	res.Phases[0] = 2 * time.Hour
	r.Sample(0, Event{Done: 3 * time.Hour}, res)                                         // response, service, connect
	r.Sample(1, Event{Due: 1, Free: 1, Sent: 2 * time.Hour, Done: 2*time.Hour + 1}, nil) // response, delay, lag
	r.Swap(Tick{At: time.Second, Scheduled: 2, Taken: new(Steps), Over: true})
	s := again(t, r.Second())
	rep := r.Report(End{Scheduled: 2})
	const want = "6 latencies were outside 1ns to 1h0m0s and count as the nearer end"
	clamped := func(w takt.Warning) bool {
		return w.Code == warn.Clamped && w.Message == want && w.Fields[0] == takt.Field{Name: "clamped", Value: 6, Unit: takt.UnitCount}
	}
	if !slices.ContainsFunc(rep.Warnings, clamped) {
		t.Errorf("%+v, want %s", rep.Warnings, want)
	}
	p, err := NewReplay(Config{Phases: []string{"connect"}, Window: time.Second})
	if err == nil {
		err = p.Second(s)
	}
	if err != nil {
		t.Fatal(err)
	}
	if rep := p.Report(false, false); !slices.ContainsFunc(rep.Warnings, clamped) {
		t.Errorf("of a journal: %+v", rep.Warnings)
	}
}

// Sets that are merged hold the sum of each figure, and the last instant of all.
func TestMergeOfSets(t *testing.T) {
	cfg := Config{Phases: []string{"connect", "tls"}, Warmup: time.Second, Window: 9 * time.Second}
	filled := func() *set {
		s := newSet(&cfg)
		s.Counts = takt.Counts{Scheduled: 1, Sent: 2, OK: 3, Failed: 4, Dropped: 5, Unfinished: 6}
		s.Warm = takt.Counts{Scheduled: 7, Sent: 8, OK: 9, Failed: 10, Dropped: 11, Unfinished: 12}
		s.Received, s.Achieved, s.Unsent, s.Blind, s.lost, s.LastDone = 13, 14, 15, 16, 17, 18
		s.Queued, s.All = verdict.Held{Generator: 19, Target: 20}, verdict.Held{Generator: 21, Target: 22}
		s.Drops.Add(ms, 23)
		s.Behind.Add(ms, 24)
		s.Bytes = takt.Bytes{Sent: 25, Received: 26}
		s.addStatus(0, 1)
		s.addStatus(1, 27)
		s.addStatus(maxStatus-1, 28)
		s.addStatus(maxStatus, 29)
		s.addStatus(-1, 30)
		s.slices[3] = slice{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
		for i, h := range s.histograms() {
			if h != nil {
				h.RecordN(ms, uint64(i+1))
			}
		}
		s.phase(1).RecordN(ms, 10)
		s.addClass(&takt.ErrorClass{Class: "x", Count: 31, Sample: "first"})
		return s
	}
	a, b, rests := filled(), filled(), 0
	b.LastDone = 180
	b.classes["x"].Sample = "second"
	a.merge(b, func() { rests++ })
	if a.Counts != (takt.Counts{Scheduled: 2, Sent: 4, OK: 6, Failed: 8, Dropped: 10, Unfinished: 12}) || a.Warm != (takt.Counts{Scheduled: 14, Sent: 16, OK: 18, Failed: 20, Dropped: 22, Unfinished: 24}) {
		t.Errorf("counts %+v, warm-up %+v", a.Counts, a.Warm)
	}
	if a.Received != 26 || a.Achieved != 28 || a.Unsent != 30 || a.Blind != 32 || a.lost != 34 || a.clamped() != 34 || a.LastDone != 180 {
		t.Errorf("received %d, achieved %d, unsent %d, blind %d, lost %d, the last at %d", a.Received, a.Achieved, a.Unsent, a.Blind, a.lost, a.LastDone)
	}
	if a.Queued != (verdict.Held{Generator: 38, Target: 40}) || a.All != (verdict.Held{Generator: 42, Target: 44}) || a.Drops.Count() != 46 || a.Behind.Count() != 48 || a.Bytes != (takt.Bytes{Sent: 50, Received: 52}) {
		t.Errorf("held %v and %v, %d dropped, %d behind, %+v", a.Queued, a.All, a.Drops.Count(), a.Behind.Count(), a.Bytes)
	}
	if want := map[string]uint64{"1": 54, "599": 56, "600": 58, "-1": 60}; !maps.Equal(a.statusMap(), want) {
		t.Errorf("status %v, want %v", a.statusMap(), want)
	}
	if a.slices[3] != (slice{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}) {
		t.Errorf("slices %+v", a.slices[3])
	}
	if c := a.classes["x"]; c.Count != 62 || c.Sample != "first" || b.classes["x"].Count != 31 {
		t.Errorf("class %+v", c)
	}
	want := []uint64{2, 4, 6, 8, 10, 12, 14, 16, 0, 20, 22}
	for i, h := range a.histograms() {
		if want[i] == 0 && h != nil || want[i] > 0 && h.Count() != want[i] {
			t.Errorf("histogram %d: %v, want %d values", i, h, want[i])
		}
	}
	if rests != 10 {
		t.Errorf("%d rests, want one a histogram", rests)
	}
	if a.reset(); a.over() != 0 || a.LastDone != 0 || a.clamped() != 0 || a.Drops.Count()+a.Behind.Count() != 0 || len(a.statusMap())+len(a.classes) != 0 ||
		a.Queued != (verdict.Held{}) || a.All != (verdict.Held{}) || a.Bytes != (takt.Bytes{}) || a.slices[3].N != 0 || a.Achieved+a.Unsent+a.Blind != 0 {
		t.Errorf("after a reset: %+v", a)
	}
	for i, h := range a.histograms() {
		if h != nil && h.Count() > 0 {
			t.Errorf("after a reset histogram %d has %d values", i, h.Count())
		}
	}
}

// Messages that were received are counted by when they came.
func TestReceived(t *testing.T) {
	r := New(Config{Warmup: time.Second, Window: 3 * time.Second})
	good, bad := takt.Result{Status: 5, BytesReceived: 10}, takt.Result{Class: "x", BytesReceived: 100}
	r.Received(0, time.Second-1, []takt.Result{good, bad})
	r.Received(0, time.Second, []takt.Result{good, bad, good})
	r.Received(0, 2*time.Second, []takt.Result{good})
	iv := r.Swap(Tick{At: 3 * time.Second})
	rep := r.Report(End{Scheduled: 10, ReceiveOnly: true, Stop: 3 * time.Second})
	if rep.Counts != (takt.Counts{Scheduled: 10, OK: 3, Failed: 1, Unfinished: 6}) || rep.WarmupCounts != (takt.Counts{Scheduled: 2, OK: 2}) {
		t.Errorf("%+v, warm-up %+v", rep.Counts, rep.WarmupCounts)
	}
	if rep.Rate.Achieved != 1.5 || rep.Rate.Intended != nil || rep.Bytes.Received != 130 || rep.Status["5"] != 3 || len(rep.Errors) != 1 || iv.OK != 5 || iv.Failed != 1 || iv.Bytes != rep.Bytes {
		t.Errorf("%v/s, %+v, status %v, errors %+v, interval %+v", rep.Rate.Achieved, rep.Bytes, rep.Status, rep.Errors, iv)
	}
	more := New(Config{Window: time.Second})
	more.Received(0, ms, []takt.Result{good, good, bad})
	if rep := more.Report(End{Scheduled: 1, ReceiveOnly: true}); rep.Counts.Scheduled != 3 || rep.Counts.Unfinished != 0 {
		t.Errorf("more than expected: %+v", rep.Counts)
	}
}

// Of the first error of a class 300 bytes are kept, and 256 of its body.
func TestTextsAreClipped(t *testing.T) {
	for n, want := range map[int]string{299: strings.Repeat("x", 299), 300: strings.Repeat("x", 300), 301: strings.Repeat("x", 299) + "…"} {
		if got := clip(strings.Repeat("x", n), 300); got != want {
			t.Errorf("%d bytes: %s", n, got)
		}
	}
	r := New(Config{Window: time.Second, Scrub: func(s string) string { return strings.ReplaceAll(s, "secret", "xxxxx") }})
	r.Sample(0, Event{}, &takt.Result{Class: "a", Err: errors.New("secret" + strings.Repeat("e", 400)), Body: []byte("secret" + strings.Repeat("b", 400))})
	r.Note("code", "secret%s", strings.Repeat("n", 400))
	rep := r.Report(End{Scheduled: 1})
	if e := rep.Errors[0]; len(e.Sample) != 299+len("…") || len(e.Body) != 255+len("…") || !strings.HasPrefix(e.Sample, "xxxxxe") || !strings.HasPrefix(e.Body, "xxxxxb") {
		t.Errorf("%+v", e)
	}
	if w := rep.Warnings[len(rep.Warnings)-1]; w.Code != "code" || len(w.Message) != 299+len("…") || !strings.HasPrefix(w.Message, "xxxxxn") {
		t.Errorf("%+v", w)
	}
}

// A latency that belongs to no operation is measured from the end of the warm-up on.
func TestLatencyOfItsOwn(t *testing.T) {
	r := New(Config{Phases: []string{"connect", "end_to_end"}, Warmup: time.Second, Window: 2 * time.Second})
	for _, at := range []time.Duration{time.Second - 1, time.Second, time.Second + 1} {
		r.Latency(0, 1, at, ms)
	}
	l := r.Report(End{}).Latency
	if _, has := l["connect"]; has || l["end_to_end"].Count != 2 {
		t.Errorf("%+v", l)
	}
}

// Steps are counted by due, and what is open of them is listed with the middle of the step.
func TestOpenSteps(t *testing.T) {
	var taken, ended Steps
	taken.Add(0, 1)
	taken.Add(10*ms-1, 2)
	taken.Add(10*ms, 4)
	taken.Add(25*ms, 8)
	taken.Add(5*ms, 16) // not in order
	ended.Add(3*ms, 1)
	ended.Add(29*ms, 8)
	o := open{}
	o.update(&taken, &ended)
	want := []Open{{5 * ms, 18}, {15 * ms, 4}}
	if got := o.before(time.Second); !slices.Equal(got, want) || len(o) != 2 {
		t.Errorf("%v, want %v", got, want)
	}
	for at, want := range map[time.Duration][]Open{10 * ms: {{5 * ms, 18}}, 10*ms + 1: {{5 * ms, 18}, {10*ms + 1, 4}}, 0: nil} {
		if got := o.before(at); !slices.Equal(got, want) {
			t.Errorf("before %v: %v, want %v", at, got, want)
		}
	}
	ended.reset()
	ended.Add(15*ms, 5) // the next tick will know one of them
	taken.reset()
	o.update(&taken, &ended)
	if got := o.before(time.Second); !slices.Equal(got, []Open{{5 * ms, 18}}) || o[1] != -1 {
		t.Errorf("%v of %v", got, o)
	}
}

// What a set tells a journal has all of it.
func TestCountedIsRestored(t *testing.T) {
	cfg := Config{Phases: []string{"connect"}, Window: -1, Scrub: func(s string) string { return s }}
	s := newSet(&cfg)
	res := &takt.Result{Status: 503, Class: "5xx", BytesSent: 1, BytesReceived: 2}
	res.Phases[0] = ms
	e := Event{Due: 5 * time.Second, Free: 6 * time.Second, Sent: 7 * time.Second, Done: 8 * time.Second, Read: 9 * time.Second, Behind: ms, Before: Slot{Service: ms, Read: 6 * time.Second}}
	s.sample(&e, 3, res, 0)
	e.Outcome = Dropped
	s.sample(&e, 4, nil, 0)
	s.Received, s.Unsent, s.Achieved, s.lost = 5, 6, 7, 8
	var first, again hist.Encoder
	c := s.counted(&first)
	back := newSet(&cfg)
	if err := back.restore(c, 8*time.Second); err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(back.counted(&again))
	want, _ := json.Marshal(c)
	if string(got) != string(want) || back.clamped() != 8 || back.Blind != 4 || len(c.Timeline) != 2 {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Two intervals that become one have the sums, the worst, and the percentiles of both.
func TestMergeIntervals(t *testing.T) {
	interval := func(n int, from, to time.Duration) takt.Interval {
		response, service := hist.New(), hist.New()
		for d := from; d <= to; d++ {
			response.Record(d)
			service.Record(d / 2)
		}
		return takt.Interval{T: float64(n), Scheduled: uint64(n), OK: uint64(2 * n), Failed: uint64(3 * n), Dropped: uint64(4 * n), Bytes: takt.Bytes{Sent: int64(7 * n), Received: int64(8 * n)}, InFlightMax: 5 * n, ScheduleLagP99: float64(6 * n), HDR: response.Encode(), ServiceHDR: service.Encode()}
	}
	a, b := interval(1, 1, 100), interval(2, 101, 200)
	a.Warmup, a.InFlightMax = true, 50
	var h history
	got := h.mergeIntervals(a, b)
	response, err := hist.Decode(got.HDR)
	service, err2 := hist.Decode(got.ServiceHDR)
	if err != nil || err2 != nil || response.Count() != 200 || response.Min() != 1 || response.Max() != 200 || service.Count() != 200 || service.Max() != 100 {
		t.Errorf("response %v, service %v, %v, %v", response.Figures(), service.Figures(), err, err2)
	}
	got.HDR, got.ServiceHDR = "", ""
	want := takt.Interval{T: 2, Scheduled: 3, OK: 6, Failed: 9, Dropped: 12, Bytes: takt.Bytes{Sent: 21, Received: 24}, InFlightMax: 50, ScheduleLagP99: 12, ResponseP50: 0.1, ResponseP99: 0.198, ResponseMax: 0.2}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, warm := range [][3]bool{{true, true, true}, {true, false, false}, {false, true, false}, {false, false, false}} {
		a.Warmup, b.Warmup = warm[0], warm[1]
		if got := h.mergeIntervals(a, b).Warmup; got != warm[2] {
			t.Errorf("warm-up %v and %v: %v", warm[0], warm[1], got)
		}
	}
}

// The end of a window becomes known later: what was sent in the steps up to it is in time,
// and the step behind it is the grace.
func TestTimelineUntil(t *testing.T) {
	var c course
	for at, s := range map[time.Duration]step{5 * grace: {ready: 1, sent: 2, ended: 4}, 3*grace + grace/2: {ready: 8, sent: 1, ended: 16}, 7*grace - 1: {ready: 32, sent: 4, ended: 64}, 7 * grace: {ready: 128, sent: 8, ended: 256}} {
		*c.at(at) = s
	}
	if c.first != 3 || len(c.steps) != 5 {
		t.Errorf("steps from %d on: %v", c.first, c.steps)
	}
	var sum course
	sum.at(9 * grace).ended = 512
	sum.merge(&c)
	sum.merge(&c)
	for window, want := range map[time.Duration][2]uint64{
		0: {0, 0}, 2 * grace: {0, 14}, 3 * grace: {32, 14}, 5*grace - 1: {32, 12}, 5 * grace: {40, 68}, 6 * grace: {168, 308}, 9 * grace: {1192, 308},
	} {
		if achieved, unsent := sum.until(window); achieved != want[0] || unsent != want[1] {
			t.Errorf("until %v: %d achieved, %d unsent, want %v", window, achieved, unsent, want)
		}
	}
}

// The parts of the time before an operation was sent, and the generator's part of the wait.
func TestTimesOfAnEvent(t *testing.T) {
	e := Event{Due: 2 * ms, Free: 5 * ms, Ready: 3 * ms, Sent: 9 * ms, Done: 20 * ms, Read: 22 * ms, Before: Slot{Service: 12 * ms, Read: 7 * ms}, Behind: ms}
	if got := e.After(0); got != (Slot{Service: 11 * ms, Read: 22 * ms}) {
		t.Errorf("after it %+v", got)
	}
	if e.lag() != 4*ms || e.wait() != 2*ms || e.input() != ms || e.unread() != 2*ms {
		t.Errorf("lag %v, wait %v, input %v, unread %v", e.lag(), e.wait(), e.input(), e.unread())
	}
	if e.behind() != ms {
		t.Errorf("behind %v, want what the backlog says", e.behind())
	}
	e.Behind = 0
	for service, want := range map[time.Duration]time.Duration{12 * ms: 0, 12*ms - 16: ms / 2, 4 * ms: ms, 1: 2*ms - 1} { // a quarter is no fault yet
		e.Before.Service = service
		if got := e.behind(); got < want-1 || got > want+1 {
			t.Errorf("after %v of service it waited %v behind the generator, want %v", service, got, want)
		}
	}
	e.Behind = 3 * ms / 2
	if e.Before.Service = 4 * ms; e.behind() != 3*ms/2 {
		t.Errorf("behind %v, want the longer of the two", e.behind())
	}
	e.Before.Read = 30 * ms
	if e.unread() != 4*ms {
		t.Errorf("unread for %v, want no more than the lag", e.unread())
	}
	if e.Free = e.Due; e.unread() != 0 || e.wait() != 0 {
		t.Errorf("with a free connection unread %v, wait %v", e.unread(), e.wait())
	}
}

// Three of four connections that are free at once while operations are due are a standstill:
// what waits for a connection from then on is behind it, until nothing is late.
func TestBacklog(t *testing.T) {
	beside := func(service time.Duration) Event { return Event{Sent: ms, Before: Slot{Service: service}} }
	late := func(from, to time.Duration) Event { return Event{Due: from, Sent: to, Done: to + ms} }
	waits := func(due, sent time.Duration) Event { return Event{Due: due, Free: sent, Sent: sent, Done: sent + ms} }
	for name, c := range map[string]struct {
		events []Event
		debt   time.Duration
	}{
		"two":                    {[]Event{late(100*ms, 200*ms), late(100*ms, 200*ms)}, 0},
		"three":                  {[]Event{late(100*ms, 200*ms), late(100*ms, 200*ms), late(100*ms, 200*ms)}, 100 * ms},
		"three that overlap":     {[]Event{late(100*ms, 200*ms), late(120*ms, 210*ms), late(90*ms, 190*ms)}, 70 * ms},
		"one after another":      {[]Event{late(100*ms, 200*ms), late(200*ms, 300*ms), late(300*ms, 400*ms)}, 0},
		"a short one between":    {[]Event{late(100*ms, 200*ms), late(205*ms, 220*ms), late(120*ms, 220*ms), late(120*ms, 220*ms)}, 95 * ms},
		"a long one between":     {[]Event{late(100*ms, 200*ms), late(205*ms, 230*ms), late(120*ms, 220*ms), late(120*ms, 220*ms)}, 95 * ms},
		"a short one much later": {[]Event{late(100*ms, 200*ms), late(290*ms, 300*ms), late(290*ms, 300*ms), late(290*ms, 300*ms)}, 10 * ms},
		"no gap, but a service":  {[]Event{beside(3 * ms), beside(3 * ms), beside(3 * ms)}, 0},
		"a gap beside a service": {[]Event{beside(3*ms - 4), beside(3*ms - 4), beside(3*ms - 4)}, ms},
	} {
		b := Backlog{Size: 4}
		for i := range c.events {
			if b.Note(&c.events[i]); c.events[i].Behind != 0 {
				t.Errorf("%s: operation %d did not wait for a connection, and was %v behind", name, i, c.events[i].Behind)
			}
		}
		if b.debt != c.debt {
			t.Errorf("%s: a debt of %v, want %v", name, b.debt, c.debt)
		}
	}
	b := Backlog{Size: 4}
	for range 3 {
		e := late(100*ms, 200*ms)
		b.Note(&e)
	}
	for _, c := range []struct {
		e    Event
		want time.Duration
	}{
		{waits(50*ms, 201*ms), 100 * ms},                                       // waited for longer than the standstill
		{waits(141*ms, 201*ms), 60 * ms},                                       // all of its wait
		{waits(190*ms, 250*ms), 60 * ms},                                       // as late
		{waits(240*ms, 250*ms), 10 * ms},                                       // the backlog shrinks
		{waits(200*ms, 300*ms), 10 * ms},                                       // and does not grow again
		{waits(300*ms, 300*ms), 0},                                             // nothing is late
		{waits(200*ms, 310*ms), 0},                                             // so it is over
		{Event{Due: 10 * ms, Free: 20 * ms, Sent: 20 * ms, Done: 400 * ms}, 0}, // sent before
	} {
		if b.Note(&c.e); c.e.Behind != c.want {
			t.Errorf("due at %v, sent at %v: %v behind, want %v", c.e.Due, c.e.Sent, c.e.Behind, c.want)
		}
	}
}

// Handshakes that begin together end one after the other if the generator has no core. The
// connections made first are used again before the last one is known.
func TestBacklogOfHandshakes(t *testing.T) {
	b := Backlog{Size: 4}
	behind := func(end time.Duration) { // the operation behind a handshake from 100 ms on
		b.Note(&Event{Due: 0, Free: end, Sent: end, Before: Slot{Service: end - 100*ms, Own: end - 100*ms}})
	}
	behind(110 * ms)
	b.Note(&Event{Due: 10 * ms, Free: 110 * ms, Sent: 500 * ms, Before: Slot{Service: ms}})
	behind(200 * ms)
	behind(400 * ms)
	behind(400 * ms)
	if b.debt != 300*ms {
		t.Errorf("a debt of %v, want 300ms", b.debt)
	}
}

// A journal's second is taken up to its bounds, and refused beyond them.
func TestReplayBounds(t *testing.T) {
	empty := func(at time.Duration) Second {
		return Second{At: at, Window: 10 * time.Second, Counted: Counted{Histograms: make([]string, 8)}}
	}
	for name, c := range map[string]struct {
		change func(s *Second)
		fine   bool
	}{
		"as it is":         {func(*Second) {}, true},
		"no time":          {func(s *Second) { s.At = time.Second }, true},
		"too short":        {func(s *Second) { s.At = time.Second - 1 }, false},
		"too long":         {func(s *Second) { s.At = 2*time.Second + 1 }, false},
		"in flight":        {func(s *Second) { s.InFlightMax = -1 }, false},
		"open":             {func(s *Second) { s.Open = []Open{{N: maxOpen}} }, true},
		"too many open":    {func(s *Second) { s.Open = []Open{{N: maxOpen + 1}} }, false},
		"backlog":          {func(s *Second) { s.Backlog = maxOpen }, true},
		"too long backlog": {func(s *Second) { s.Backlog = maxOpen + 1 }, false},
		"slices":           {func(s *Second) { s.Counted.Slices = map[int]slice{0: {N: 1}, sliceCount - 1: {N: 1}} }, true},
		"slice below":      {func(s *Second) { s.Counted.Slices = map[int]slice{-1: {N: 1}} }, false},
		"slice above":      {func(s *Second) { s.Counted.Slices = map[int]slice{sliceCount: {N: 1}} }, false},
		"course":           {func(s *Second) { s.Counted.Timeline = [][4]uint64{{uint64((s.At + maxAhead) / grace), 1, 1, 1}} }, true},
		"course too far":   {func(s *Second) { s.Counted.Timeline = [][4]uint64{{uint64((s.At+maxAhead)/grace) + 1, 1, 1, 1}} }, false},
		"histograms":       {func(s *Second) { s.Counted.Histograms = make([]string, placePhases+1) }, true},
		"an older takt":    {func(s *Second) { s.Counted.Histograms = make([]string, placePhases) }, true},
		"too many":         {func(s *Second) { s.Counted.Histograms = make([]string, placePhases+2) }, false},
		"too few":          {func(s *Second) { s.Counted.Histograms = make([]string, placePhases-1) }, false},
	} {
		p, err := NewReplay(Config{Window: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		s := empty(2 * time.Second)
		c.change(&s)
		if err := errors.Join(p.Second(empty(time.Second)), p.Second(s)); (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
		if ran := p.Ran(); c.fine && ran != s.At {
			t.Errorf("%s: it ran for %v, want %v", name, ran, s.At)
		}
	}
	for name, c := range map[string]struct {
		change func(b *Before)
		fine   bool
	}{
		"as it is": {func(*Before) {}, true},
		"before":   {func(b *Before) { b.At = -1 }, false},
		"many intervals": {func(b *Before) {
			b.Merged, b.Old = make([]takt.Interval, takt.MaxIntervals), make([]takt.Interval, takt.MaxIntervals)
		}, true},
		"too many":     {func(b *Before) { b.Merged = make([]takt.Interval, takt.MaxIntervals+1) }, false},
		"too many old": {func(b *Before) { b.Old = make([]takt.Interval, takt.MaxIntervals+1) }, false},
		"held":         {func(b *Before) { b.Held, b.Growing = 1, &takt.Interval{} }, true},
		"held nothing": {func(b *Before) { b.Held = 1 }, false},
		"held less":    {func(b *Before) { b.Held, b.Growing = -1, &takt.Interval{} }, false},
		"span":         {func(b *Before) { b.Span = 1<<31 - 1 }, true},
		"span below":   {func(b *Before) { b.Span = -1 }, false},
		"span above":   {func(b *Before) { b.Span = 1 << 31 }, false},
	} {
		p, err := NewReplay(Config{Window: 10 * time.Second})
		b := Before{At: time.Second, Counted: Counted{Histograms: make([]string, 8)}}
		if c.change(&b); err != nil || (p.Before(b) == nil) != c.fine {
			t.Errorf("%s: %v, %v", name, err, p.Before(b))
		}
	}
	for n, fine := range map[int]bool{MaxPhases: true, MaxPhases + 1: false} {
		if _, err := NewReplay(Config{Phases: make([]string, n)}); (err == nil) != fine {
			t.Errorf("%d phases: %v", n, err)
		}
	}
}

// A backlog was due one operation after the other from its first on, and what is open at its own
// instant.
func TestReplayOfABacklog(t *testing.T) {
	p, err := NewReplay(Config{Window: 10 * time.Second})
	if err == nil {
		err = p.Second(Second{At: time.Second, Scheduled: 107, Window: 10 * time.Second, Counted: Counted{Histograms: make([]string, 8)},
			Open: []Open{{0, 2}, {100 * ms, 3}, {time.Second, 1}, {time.Second + 1, 7}, {-1, 7}, {500 * ms, 0}}, Backlog: 101, BacklogFrom: 500 * ms})
	}
	if err != nil {
		t.Fatal(err)
	}
	rep := p.Report(false, false)
	if want := (takt.Counts{Scheduled: 107, Unfinished: 107}); rep.Counts != want {
		t.Errorf("%+v, want %+v", rep.Counts, want)
	}
	near := func(name string, got, want float64) {
		if got < want*0.998 || got > want*1.002 {
			t.Errorf("%s is %v µs, want %v", name, got, want)
		}
	}
	h, err := hist.Decode(rep.Latency[takt.LatencyResponse].HDR)
	if err != nil {
		t.Fatal(err)
	}
	near("the oldest", hist.Micros(h.Max()), 1e6)
	near("the third", hist.Micros(h.Quantile(105.0/107)), 900e3)
	near("the first of the backlog", hist.Micros(h.Quantile(102.0/107)), 497.5e3)
	near("the second of them", hist.Micros(h.Quantile(101.0/107)), 492.5e3)
	near("the last of them", hist.Micros(h.Quantile(2.0/107)), 2.5e3)
	if rep.Latency[takt.LatencyScheduleLag].Count != 0 || rep.DurationS != 1 {
		t.Errorf("%d lags, %v s", rep.Latency[takt.LatencyScheduleLag].Count, rep.DurationS)
	}
}

// What waited until the cut belongs to whom the others waited for: a fifth to the generator.
func TestUnsentIsShared(t *testing.T) {
	r := New(Config{Window: time.Second})
	r.Sample(0, Event{Free: 4 * ms, Sent: 5 * ms, Done: 6 * ms, Before: Slot{Service: 9 * ms}}, nil)
	r.Sample(0, Event{Free: 10 * ms, Done: 10 * ms, Outcome: UnfinishedQueued}, nil)
	if got, want := r.Report(End{}).Attribution.Whole(), (takt.Parts{Late: 3, Queue: 12, Target: 1}); !near(got, want) {
		t.Errorf("%+v s, want %+v ms", got, want)
	}
}

// A window of nothing is a window, and so is one of a nanosecond.
func TestShortestWindows(t *testing.T) {
	r := New(Config{})
	r.Sample(0, Event{Sent: grace + 1, Done: grace + 2}, nil)
	r.Sample(0, Event{Done: 1}, nil)
	if r.Report(End{}); r.total.Unsent != 1 || r.total.Achieved != 1 {
		t.Errorf("%d unsent, %d achieved", r.total.Unsent, r.total.Achieved)
	}
	r = New(Config{Warmup: 1, Window: time.Second})
	r.Sample(0, Event{Done: ms}, nil)
	if iv := r.Swap(Tick{At: time.Second, Scheduled: 1}); iv.OK != 1 || r.Report(End{WarmupScheduled: 1}).WarmupCounts.OK != 1 {
		t.Errorf("a warm-up of 1 ns: %+v", iv)
	}
	r = New(Config{Window: 1})
	r.Sample(0, Event{Done: 1}, nil)
	if rep := r.Report(End{Scheduled: 1}); math.Round(rep.Rate.Achieved) != 1e9 || math.Round(*rep.Rate.Intended) != 1e9 {
		t.Errorf("%v of %v/s", rep.Rate.Achieved, *rep.Rate.Intended)
	}
}

// A journal without a second behind the state has the report of the state.
func TestReplayOfAState(t *testing.T) {
	j := run(t, Config{Window: 20 * time.Second}, 3, 100, 2)
	p, err := NewReplay(again(t, j.cfg))
	if err == nil {
		err = p.Before(j.before[2])
	}
	if err != nil {
		t.Fatal(err)
	}
	rep := p.Report(false, false)
	if rep.Counts.Scheduled != 200 || rep.DurationS != 2 || len(rep.Intervals) < 2 || rep.Verdict != takt.Valid {
		t.Errorf("%+v in %v s, %d intervals, %s %+v", rep.Counts, rep.DurationS, len(rep.Intervals), rep.Verdict, rep.Warnings)
	}
}

// A run that was killed lasted until as many operations were due as were counted, at the rate of
// its last second, and not longer than to its last answer and one operation more.
func TestReplayStops(t *testing.T) {
	for _, c := range []struct {
		counted   uint64 // in the last second, of 100 that were due at its end
		lastDone  time.Duration
		scheduled uint64 // at its end
		over      bool
		want      float64
	}{
		{100, 2 * time.Second, 200, false, 2},
		{120, 2500 * ms, 200, false, 2.2},
		{120, 2050 * ms, 200, false, 2.06},
		{120, 1900 * ms, 200, false, 2.01},
		{99, 2500 * ms, 200, false, 2},
		{120, 2500 * ms, 100, false, 2}, // nothing was due: no rate
		{120, 2500 * ms, 200, true, 10},
	} {
		p, err := NewReplay(Config{Window: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		s := Second{At: time.Second, Scheduled: 100, Window: 10 * time.Second, Counted: Counted{sums: sums{Counts: takt.Counts{OK: 100}, LastDone: time.Second}, Histograms: make([]string, 8)}}
		err = p.Second(s)
		s.At, s.Scheduled, s.Over, s.Counted.Counts.OK, s.Counted.LastDone = 2*time.Second, c.scheduled, c.over, c.counted, c.lastDone
		if err := errors.Join(err, p.Second(s)); err != nil {
			t.Fatal(err)
		}
		if rep := p.Report(false, false); math.Abs(rep.DurationS-c.want) > 1e-9 || rep.Counts.Scheduled != 100+c.counted {
			t.Errorf("%+v: %v s with %d", c, rep.DurationS, rep.Counts.Scheduled)
		}
	}
}

// The interval that is growing belongs to the state, if there is one.
func TestBeforeHasWhatGrows(t *testing.T) {
	r := New(Config{Window: time.Second})
	if b := r.Before(); b.Growing != nil {
		t.Errorf("nothing grows, and there is %+v", b.Growing)
	}
	r.history.held, r.history.span, r.history.open = 1, 2, takt.Interval{OK: 5}
	b := r.Before()
	if b.Growing == nil || b.Growing.OK != 5 || b.Held != 1 || b.Span != 2 {
		t.Fatalf("%+v", b)
	}
	if r.history.open.OK = 6; b.Growing.OK != 5 {
		t.Error("the state changes with the run")
	}
}

// Without a journal nothing is open, and without what was taken nothing changes.
func TestNothingIsOpen(t *testing.T) {
	var taken, ended Steps
	taken.Add(ms, 2)
	ended.Add(ms, 1)
	open(nil).update(&taken, &ended) // as of a run without a journal
	o := open{}
	if o.update(nil, &ended); len(o) != 0 {
		t.Errorf("%v is open", o)
	}
}

// Operations tell whether the generator was slow once an answer lay unread.
func TestStamped(t *testing.T) {
	r := New(Config{Window: time.Second})
	for _, read := range []time.Duration{0, ms, ms + 1} {
		r.Sample(0, Event{Done: ms, Read: read}, nil)
		r.Swap(Tick{At: time.Second})
		if got := r.Stamped(); got != (read > ms) {
			t.Errorf("answered at %v, read at %v: stamped %v", ms, read, got)
		}
	}
}
