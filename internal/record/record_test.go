package record

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

const ms = time.Millisecond

func ended(due, free, sent, done time.Duration) Event {
	return Event{Due: due, Free: free, Sent: sent, Done: done, Outcome: Ended}
}

func TestLatenciesAreMeasuredFromDue(t *testing.T) {
	r := New(Config{Shards: 2, Phases: []string{"connect"}, Window: time.Second})
	var ok takt.Result
	ok.Phases[0] = 2 * ms
	r.Sample(0, ended(10*ms, 30*ms, 31*ms, 41*ms), &ok)
	r.Sample(1, Event{Due: 100 * ms, Free: 100 * ms, Sent: 100 * ms, Done: 2000 * ms, Outcome: UnfinishedSent}, nil)
	r.Sample(1, Event{Due: 200 * ms, Free: 2000 * ms, Done: 2000 * ms, Outcome: UnfinishedQueued}, nil)
	r.Sample(1, Event{Due: 300 * ms, Outcome: Dropped}, nil)
	r.Sample(0, ended(400*ms, 400*ms, 400*ms, 410*ms), &takt.Result{Class: "5xx", Status: 503})
	rep := r.Report(End{Scheduled: 5, Stop: 2 * time.Second})

	if want := (takt.Counts{Scheduled: 5, Sent: 3, OK: 1, Failed: 1, Dropped: 1, Unfinished: 2}); rep.Counts != want {
		t.Errorf("counts %+v, want %+v", rep.Counts, want)
	}
	if n := rep.Latency["response"].Count; n != 4 {
		t.Errorf("response holds %d, want ok + failed + unfinished = 4", n)
	}
	near := func(name string, got, want float64) {
		if got < want*0.999 || got > want*1.001 {
			t.Errorf("%s = %v µs, want %v", name, got, want)
		}
	}
	near("response_ok max", rep.Latency["response_ok"].Max, 31000)
	near("response max", rep.Latency["response"].Max, 1900e3)
	near("service max", rep.Latency["service"].Max, 1900e3)
	near("send delay max", rep.Latency["send_delay"].Max, 21000)
	near("lag max", rep.Latency["schedule_lag"].Max, 1000)
	near("connect", rep.Latency["connect"].P50, 2000)
	if rep.Status["503"] != 1 {
		t.Errorf("status %v", rep.Status)
	}
}

func TestWarmupIsInIntervalsOnly(t *testing.T) {
	r := New(Config{Shards: 1, Warmup: time.Second, Window: 3 * time.Second})
	r.Sample(0, ended(500*ms, 500*ms, 500*ms, 2500*ms), &takt.Result{}) // ends late, yet belongs to the warm-up
	first := r.Swap(Tick{At: time.Second, Scheduled: 1})
	r.Sample(0, ended(1500*ms, 1500*ms, 1500*ms, 1600*ms), &takt.Result{})
	second := r.Swap(Tick{At: 2 * time.Second, Scheduled: 2})
	rep := r.Report(End{Scheduled: 1, WarmupScheduled: 1, Stop: 3 * time.Second})
	if !first.Warmup || second.Warmup || first.OK != 1 || second.OK != 1 {
		t.Errorf("intervals %+v, %+v", first, second)
	}
	if rep.Latency["response"].Count != 1 || rep.WarmupCounts.OK != 1 || rep.Counts.OK != 1 {
		t.Errorf("counts %+v, warm-up %+v", rep.Counts, rep.WarmupCounts)
	}
	if rep.DurationS != 2 {
		t.Errorf("duration %v, want the two seconds after the warm-up", rep.DurationS)
	}
}

// Whatever is swapped when, nothing is lost and nothing is counted twice.
func TestSwapUnderLoad(t *testing.T) {
	r := New(Config{Shards: 3, Window: time.Hour})
	const workers, each = 4, 5000
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				at := time.Duration(i) * time.Microsecond
				r.Sample(w, ended(at, at, at, at+ms), &takt.Result{BytesSent: 1})
			}
		})
	}
	var live uint64
	for i := range 20 {
		live += r.Swap(Tick{At: time.Duration(i) * time.Second}).OK
		time.Sleep(100 * time.Microsecond)
	}
	wg.Wait()
	live += r.Swap(Tick{At: time.Minute}).OK
	rep := r.Report(End{Scheduled: workers * each, Stop: time.Minute})
	if live != workers*each || rep.Counts.OK != live || rep.Bytes.Sent != int64(live) || rep.Verdict != takt.Valid {
		t.Errorf("live %d, total %+v, %s %v", live, rep.Counts, rep.Verdict, rep.Warnings)
	}
}

func TestSampleDoesNotAllocate(t *testing.T) {
	r := New(Config{Shards: 1, Phases: []string{"first_byte"}, Window: time.Hour})
	res := &takt.Result{Status: 500, Class: "5xx", Err: errors.New("x"), Body: []byte("body")}
	res.Phases[0] = ms
	r.Sample(0, ended(0, 0, 0, ms), res) // the first of a class is kept
	if n := testing.AllocsPerRun(100, func() { r.Sample(0, ended(0, 0, 0, ms), res) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestClassesAreBounded(t *testing.T) {
	r := New(Config{Shards: 1, Window: time.Hour, Scrub: func(string) string { return "scrubbed" }})
	for i := range 1000 {
		r.Sample(0, ended(0, 0, 0, ms), &takt.Result{Class: fmt.Sprint("class", i), Err: errors.New("secret")})
	}
	rep := r.Report(End{Scheduled: 1000})
	var n uint64
	for _, c := range rep.Errors {
		n += c.Count
		if c.Sample != "scrubbed" {
			t.Fatalf("sample %q", c.Sample)
		}
	}
	if n != 1000 || len(rep.Errors) > maxClasses+1 || rep.Errors[0].Class != classOther {
		t.Errorf("%d classes with %d errors, first %+v", len(rep.Errors), n, rep.Errors[0])
	}
}

func TestVerdict(t *testing.T) {
	late := func(n int, lag time.Duration) func(*Recorder) {
		return func(r *Recorder) {
			for i := range 1000 {
				at := time.Duration(i) * ms
				sent := at
				if i < n {
					sent += lag
				}
				r.Sample(0, ended(at, at, sent, sent+5*ms), &takt.Result{})
			}
		}
	}
	unsent := func(free time.Duration) func(*Recorder) {
		return func(r *Recorder) {
			for i := range 1000 {
				at := time.Duration(i) * ms
				r.Sample(0, Event{Due: at, Free: free, Done: 2 * time.Second, Outcome: UnfinishedQueued}, nil)
			}
		}
	}
	// 960 in time, whose answers lay unread for a twentieth of the time, and 40 dropped.
	dropped := func(after time.Duration, looked bool) func(*Recorder) {
		return func(r *Recorder) {
			for i := range 1000 {
				at := time.Duration(i) * ms
				if i%25 == 24 {
					r.Sample(0, Event{Due: at, Done: at + after, Outcome: Dropped, Looked: looked}, nil)
					continue
				}
				e := ended(at, at, at, at+5*ms)
				e.Read = e.Done + 300*time.Microsecond
				r.Sample(0, e, &takt.Result{})
			}
		}
	}
	for _, c := range []struct {
		name    string
		fill    func(*Recorder)
		verdict takt.Verdict
		code    takt.WarningCode
	}{
		{"dropped though an unread answer may have freed a connection", dropped(0, false), takt.Invalid, "generator_held"},
		{"dropped after a look at all connections", dropped(0, true), takt.Valid, "dropped"},
		{"dropped late, after a look", dropped(5*ms, true), takt.Invalid, "generator_behind"},
		{"on time", late(0, 0), takt.Valid, ""},
		{"nine late ones", late(9, 50*ms), takt.Valid, ""},
		{"eleven late ones are 1.1 %", late(11, 50*ms), takt.Invalid, "generator_bottleneck"},
		{"late by less than a millisecond", late(500, 900*time.Microsecond), takt.Valid, "generator_late"},
		{"queued because the pool was full", unsent(2 * time.Second), takt.Valid, ""},
		{"queued although a slot was free", unsent(0), takt.Invalid, "generator_behind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New(Config{Shards: 1, Window: time.Second})
			c.fill(r)
			rep := r.Report(End{Scheduled: 1000, Stop: 2 * time.Second})
			if rep.Verdict != c.verdict {
				t.Errorf("verdict %s (%v), want %s", rep.Verdict, rep.Warnings, c.verdict)
			}
			if (len(rep.Warnings) > 0) != (c.code != "") || c.code != "" && rep.Warnings[0].Code != c.code {
				t.Errorf("warnings %v, want %q", rep.Warnings, c.code)
			}
		})
	}
}

func TestBrokenAccountingIsInvalid(t *testing.T) {
	r := New(Config{Shards: 1, Window: time.Second})
	rep := r.Report(End{Scheduled: 1, Stop: time.Second})
	if rep.Verdict != takt.Invalid || rep.Warnings[0].Code != "accounting" {
		t.Errorf("%s %v", rep.Verdict, rep.Warnings)
	}
}

// Any number of seconds ends in at most 1200 intervals that still hold everything, in order.
func TestHistoryIsBounded(t *testing.T) {
	h := hist.New()
	h.Record(ms)
	one := h.Encode()
	for _, seconds := range []int{1, 2, 1198, 1199, 1200, 1201, 2500} {
		var hs history
		for i := 1; i <= seconds; i++ {
			iv := takt.Interval{T: float64(i)}
			if i%50 == 1 { // most are empty: decoding is slow under -race
				iv.OK, iv.HDR = 1, one
			}
			hs.add(iv)
			if n := len(hs.merged) + len(hs.old) + 1; n > takt.MaxIntervals+1 {
				t.Fatalf("%d entries after %d s", n, i)
			}
		}
		list, span := hs.all()
		var ok, count uint64
		var last float64
		for i, iv := range list {
			if i < len(list)-1 && iv.T-last != float64(span) {
				t.Fatalf("%d s: interval %d lasts %v s, want %d", seconds, i, iv.T-last, span)
			}
			got, _ := hist.Decode(iv.HDR)
			ok, count = ok+iv.OK, count+got.Count()
			if iv.T <= last {
				t.Fatalf("interval at %v after %v", iv.T, last)
			}
			last = iv.T
		}
		if ok != uint64(seconds+49)/50 || count != ok || last != float64(seconds) || len(list) > takt.MaxIntervals {
			t.Errorf("%d s: %d intervals of %d s hold %d and %d, the last ends at %v", seconds, len(list), span, ok, count, last)
		}
	}
}

func BenchmarkSample(b *testing.B) {
	r := New(Config{Shards: 1, Window: time.Hour})
	var res takt.Result
	b.ReportAllocs()
	for i := range b.N {
		at := time.Duration(i)
		r.Sample(0, ended(at, at, at+1000, at+ms), &res)
	}
}

// Counting operations together gives the figures that counting each gives.
func TestSampleAllIsSampleForEach(t *testing.T) {
	res := takt.Result{Status: 404, Class: "4xx", BytesSent: 7, BytesReceived: 11}
	res.Phases[0] = 3 * ms
	for name, res := range map[string]*takt.Result{"failed": &res, "ok": {BytesSent: 5}} {
		var events []Event
		for seq := range uint64(60) {
			at := time.Duration(seq/9) * 300 * ms // some in the warm-up, some after the window
			e := ended(at, at, at+ms, at+5*ms)
			e.Seq = seq
			events = append(events, e)
		}
		cfg := Config{Phases: []string{"connect"}, Warmup: 500 * ms, Window: 1500 * ms, Samples: 100}
		together, each := New(cfg), New(cfg)
		together.SampleAll(0, events, res)
		for _, e := range events {
			each.Sample(0, e, res)
		}
		var rows [2][]takt.Sample
		var reports [2]*takt.Report
		for i, r := range []*Recorder{together, each} {
			rows[i] = r.TakeSamples(nil)
			reports[i] = r.Report(End{Scheduled: 42, WarmupScheduled: 18, Stop: 2 * time.Second})
		}
		if !reflect.DeepEqual(reports[0], reports[1]) || len(rows[0]) != 42 || !reflect.DeepEqual(rows[0], rows[1]) {
			t.Errorf("%s: together %+v, each %+v; %d and %d rows", name, reports[0], reports[1], len(rows[0]), len(rows[1]))
		}
	}
}
