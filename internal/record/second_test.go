package record

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

// journalled is a run of some seconds, what its recorder told a journal, and its report.
type journalled struct {
	cfg     Config
	before  map[int]Before // before these seconds
	seconds []Second
	report  *takt.Report
	end     End
}

// again is v as it comes back out of a journal.
func again[T any](t *testing.T, v T) (out T) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// run samples operations of every kind, perSecond of them, all of which end in their second.
func run(t *testing.T, cfg Config, seconds, perSecond int, before ...int) *journalled {
	t.Helper()
	cfg.Journal = true
	j := &journalled{cfg: cfg, before: map[int]Before{}}
	r, rnd := New(cfg), rand.New(rand.NewPCG(1, 2))
	for n := range seconds {
		from, taken := time.Duration(n)*time.Second, new(Steps)
		for i := range perSecond {
			due := from + time.Second*time.Duration(i)/time.Duration(perSecond)
			e := Event{Due: due, Free: due, Sent: due + time.Duration(rnd.IntN(1e5)), Outcome: Outcome(rnd.IntN(40) / 37), Looked: i%3 == 0}
			e.Done = e.Sent + time.Duration(rnd.ExpFloat64()*float64(ms))
			res := takt.Result{Status: []int{200, 200, 503, 999}[rnd.IntN(4)], BytesSent: 10, BytesReceived: 100}
			res.Phases[0] = time.Duration(rnd.IntN(1e6))
			res.Goal = takt.Goal(rnd.IntN(4))
			for phase := range len(cfg.Timed) {
				r.Latency(i, len(cfg.Phases)+phase, due, time.Duration(rnd.IntN(1e8)))
			}
			if res.Status != 200 {
				res.Class, res.Err = "status", errors.New("it said no")
			}
			taken.Add(due, 1)
			if due < cfg.Warmup {
				j.end.WarmupScheduled++
			} else {
				j.end.Scheduled++
			}
			r.Sample(i, e, &res)
		}
		if slices.Contains(before, n) {
			j.before[n] = again(t, r.Before())
		}
		r.Swap(Tick{At: from + time.Second, Scheduled: j.end.Scheduled + j.end.WarmupScheduled, InFlightMax: 3, Taken: taken})
		if s := (Second{}); n < seconds-100 {
			j.seconds = append(j.seconds, s) // nobody will want it
		} else {
			j.seconds = append(j.seconds, again(t, r.Second()))
		}
	}
	j.end.Stop = time.Duration(seconds) * time.Second
	r.CloseWindow(j.end.Stop)
	j.report = r.Report(j.end)
	return j
}

// replayed is the report that the journal gives whose first second is the n-th.
func (j *journalled) replayed(t *testing.T, n int) *takt.Report {
	t.Helper()
	p, err := NewReplay(again(t, j.cfg))
	if err == nil && n > 0 {
		err = p.Before(j.before[n])
	}
	for _, s := range j.seconds[n:] {
		err = errors.Join(err, p.Second(s))
	}
	if err != nil {
		t.Fatal(err)
	}
	if ran := p.Ran(); ran != j.end.Stop {
		t.Errorf("it ran for %v", ran)
	}
	return p.Report(false, false)
}

// A run that was killed has the report that it would have had: to the byte, whether its
// journal has all seconds or was written anew meanwhile.
func TestReplayIsTheRun(t *testing.T) {
	for name, cfg := range map[string]Config{
		"plain":       {Shards: 3, Phases: []string{"first_byte", "tls"}, Window: 20 * time.Second},
		"parts":       {Shards: 2, Phases: []string{"tls"}, Timed: []takt.Timed{{Name: "ttft", Row: true, Course: true}, {Name: "gap"}}, Goal: "ttft<1s", Warmup: 1500 * ms, Window: 20 * time.Second},
		"warm-up":     {Shards: 2, Warmup: 1500 * ms, Window: 20 * time.Second},
		"end unknown": {Shards: 2, Window: -1},
		"one way":     {Shards: 1, Window: 20 * time.Second, OneWay: true},
	} {
		t.Run(name, func(t *testing.T) {
			j := run(t, cfg, 5, 2000, 1, 4)
			want, _ := json.Marshal(j.report)
			for _, from := range []int{0, 1, 4} {
				if got, _ := json.Marshal(j.replayed(t, from)); string(got) != string(want) {
					t.Errorf("from second %d:\n%.2000s\nwant\n%.2000s", from, got, want)
				}
			}
		})
	}
}

// The same for one that is so long that its intervals were merged: some are, and some wait
// for it.
func TestReplayOfALongRun(t *testing.T) {
	racetest.Skip(t, "a run of 20 minutes")
	const from = takt.MaxIntervals + 9
	j := run(t, Config{Shards: 1, Window: math.MaxInt64}, from+20, 10, from)
	want, _ := json.Marshal(j.report)
	if got, _ := json.Marshal(j.replayed(t, from)); string(got) != string(want) || len(j.before[from].Old) == 0 || len(j.before[from].Merged) == 0 {
		t.Errorf("%.300s\nwant\n%.300s", got, want)
	}
}

// What was open at the last second's end is unfinished, at its age, and what ended a little
// behind it was due a little behind it.
func TestReplayCountsWhatWasOpen(t *testing.T) {
	r := New(Config{Shards: 1, Window: 10 * time.Second, Journal: true})
	taken := new(Steps)
	for i := range 1000 { // every ms; one hangs since 105 ms
		due := time.Duration(i) * ms
		taken.Add(due, 1)
		if i != 105 {
			r.Sample(0, Event{Due: due, Free: due, Sent: due, Done: due + ms}, nil)
		}
	}
	for i := range 20 { // of the next second, before the shard is emptied; the tick saw five
		due := time.Second + time.Duration(i)*ms
		if i < 5 {
			taken.Add(due, 1)
		}
		r.Sample(0, Event{Due: due, Free: due, Sent: due, Done: due + ms}, nil)
	}
	// and 300 operations have waited for a connection since 700 ms
	r.Swap(Tick{At: time.Second, Scheduled: 1300, Taken: taken, Backlog: 300, BacklogFrom: 700 * ms})
	p, err := NewReplay(Config{Window: 10 * time.Second})
	if err == nil {
		err = p.Second(again(t, r.Second()))
	}
	if err != nil {
		t.Fatal(err)
	}
	rep := p.Report(false, false)
	want := takt.Counts{Scheduled: 1320, Sent: 1019, OK: 1019, Unfinished: 301}
	if rep.Counts != want || rep.Intervals[0].Scheduled != 1320 {
		t.Errorf("%+v, want %+v; the interval has %d", rep.Counts, want, rep.Intervals[0].Scheduled)
	}
	if got := rep.Rate.Intended; math.Abs(*got-1300) > 1e-5 {
		t.Errorf("%v/s intended, want 1300/s", *got)
	}
	l := rep.Latency[takt.LatencyResponse]
	if l.Count != 1320 || l.Max < 894e3 || l.Max > 896e3 || l.P99 < 285e3 || l.P99 > 300e3 {
		t.Errorf("%d response times, p99 %v, max %v", l.Count, l.P99, l.Max)
	}
}

// What cannot be a journal of takt is refused.
func TestReplayRefuses(t *testing.T) {
	good := run(t, Config{Shards: 1, Window: -1}, 2, 100, 0)
	for name, test := range map[string]struct {
		change func(*Config, *Before, []Second)
		says   string
	}{
		"phases":         {func(c *Config, _ *Before, _ []Second) { c.Phases = make([]string, 100) }, "100 phases"},
		"gap":            {func(_ *Config, _ *Before, s []Second) { s[1].At = 3 * time.Second }, "does not follow"},
		"back":           {func(_ *Config, _ *Before, s []Second) { s[1].At = 500 * ms }, "does not follow"},
		"open":           {func(_ *Config, _ *Before, s []Second) { s[1].Open = []Open{{0, 1 << 60}} }, "were open"},
		"course":         {func(_ *Config, _ *Before, s []Second) { s[1].Counted.Timeline[0][0] = math.MaxUint64 }, "long after its end"},
		"histograms":     {func(_ *Config, _ *Before, s []Second) { s[1].Counted.Histograms = nil }, "0 histograms"},
		"histogram":      {func(_ *Config, _ *Before, s []Second) { s[1].Counted.Histograms[0] = "x" }, "histogram"},
		"warm-up":        {func(_ *Config, _ *Before, s []Second) { s[1].Counted.Histograms[5] = s[1].Counted.Histograms[0] }, "the head has none"},
		"status":         {func(_ *Config, _ *Before, s []Second) { s[1].Counted.Status["x"] = 1 }, "is not a number"},
		"history":        {func(_ *Config, b *Before, _ []Second) { b.Held = -1 }, "its history is none"},
		"state's second": {func(_ *Config, b *Before, _ []Second) { b.At = time.Minute }, "does not follow"},
	} {
		t.Run(name, func(t *testing.T) {
			c, b := again(t, good.cfg), again(t, good.before[0])
			s := again(t, good.seconds)
			test.change(&c, &b, s)
			p, err := NewReplay(c)
			if err == nil {
				err = p.Before(b)
			}
			for _, second := range s {
				if err == nil {
					err = p.Second(second)
				}
			}
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want %q", err, test.says)
			}
		})
	}
	p, _ := NewReplay(Config{})
	if err := errors.Join(p.Second(Second{At: time.Second, Counted: Counted{Histograms: make([]string, 8)}}), p.Before(Before{})); err == nil || !strings.Contains(err.Error(), "come before the state") {
		t.Errorf("a state behind a second: %v", err)
	}
}
