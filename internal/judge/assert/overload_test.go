package assert_test

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/pkg/takt"
)

// seconds are the intervals of a simulated run.
type seconds struct {
	list  []takt.Interval
	waits []float64 // sum of the response times
}

func newSeconds(n int) *seconds {
	s := &seconds{make([]takt.Interval, n), make([]float64, n)}
	for i := range s.list {
		s.list[i].T = float64(i + 1)
	}
	return s
}

// due counts an operation that is due at an instant.
func (s *seconds) due(at float64) {
	if at >= 0 && at < float64(len(s.list)) {
		s.list[int(at)].Scheduled++
	}
}

// done counts an operation that is done at an instant, and was due before.
func (s *seconds) done(at, due float64) {
	if at >= 0 && at < float64(len(s.list)) {
		s.list[int(at)].OK++
		s.waits[int(at)] += at - due
	}
}

// intervals have the mean as their median, because a median costs most of the test's time.
func (s *seconds) intervals() []takt.Interval {
	for i := range s.list {
		iv := &s.list[i]
		iv.ResponseP50 = 1e6 * s.waits[i] / float64(max(1, iv.OK))
	}
	return s.list
}

// queue is a server that does one operation after the other, in order.
type queue struct {
	rate    func(t float64) float64 // due per second
	service func(t float64) float64 // of what begins at t, in seconds
	begins  func(t float64) float64 // when the server can begin what comes at t; nil: at once
	warm    float64                 // seconds before the run
}

func (q queue) run(n int) []takt.Interval {
	s := newSeconds(n)
	for t, free := -q.warm, -q.warm; t < float64(n); {
		rate := q.rate(t)
		if rate <= 0 {
			t += 0.01
			continue
		}
		begin := max(t, free)
		if q.begins != nil {
			begin = q.begins(begin)
		}
		free = begin + q.service(begin)
		s.due(t)
		s.done(free, t)
		t += 1 / rate
	}
	return s.intervals()
}

// freezes is when a server that freezes at the end of each period can begin.
func freezes(r *rand.Rand, length, period float64) func(t float64) float64 {
	at := r.Float64() * period
	return func(t float64) float64 {
		if phase := math.Mod(t+at, period); phase >= period-length {
			return t + period - phase
		}
		return t
	}
}

// atOnce is a target that does all operations at once.
func atOnce(n int, rate float64, response func() float64) []takt.Interval {
	s := newSeconds(n)
	for i := range int(float64(n) * rate) {
		due := float64(i) / rate
		s.due(due)
		s.done(due+response(), due)
	}
	return s.intervals()
}

type jobs [][2]float64 // the virtual instant at which a job is done, and when it was due

func (j jobs) Len() int           { return len(j) }
func (j jobs) Less(a, b int) bool { return j[a][0] < j[b][0] }
func (j jobs) Swap(a, b int)      { j[a], j[b] = j[b], j[a] }
func (j *jobs) Push(x any)        { *j = append(*j, x.([2]float64)) }
func (j *jobs) Pop() any {
	old := *j
	last := old[len(old)-1]
	*j = old[:len(old)-1]
	return last
}

// shared is a server that does all operations at the same time, each at its share of the speed.
func shared(r *rand.Rand, n int, rate, load float64) []takt.Interval {
	s, open := newSeconds(n), jobs{}
	virtual, now := 0.0, 0.0
	for i := range int(float64(n) * rate) {
		due := float64(i) / rate
		for len(open) > 0 {
			took := (open[0][0] - virtual) * float64(len(open))
			if now+took > due {
				break
			}
			now, virtual = now+took, open[0][0]
			s.done(now, open[0][1])
			heap.Pop(&open)
		}
		if len(open) > 0 {
			virtual += (due - now) / float64(len(open))
		}
		now = due
		s.due(due)
		heap.Push(&open, [2]float64{virtual + r.ExpFloat64()*load/rate, due})
	}
	return s.intervals()
}

// target is a kind of run.
type target struct {
	name   string
	over   bool // the target is overloaded
	run    func(r *rand.Rand, n int, rate float64) []takt.Interval
	by     float64 // second in which an overload is found at 1000/s; 0: chance decides
	awhile int     // runs that have an overload for a while
}

// targets are the kinds of runs of the prototype.
func targets() []target {
	constant := func(v float64) func(float64) float64 { return func(float64) float64 { return v } }
	exponential := func(r *rand.Rand, load, rate float64) func(float64) float64 {
		return func(float64) float64 { return r.ExpFloat64() * load / rate }
	}
	steady := func(load float64) func(r *rand.Rand, n int, rate float64) []takt.Interval {
		return func(r *rand.Rand, n int, rate float64) []takt.Interval {
			return queue{rate: constant(rate), service: exponential(r, load, rate)}.run(n)
		}
	}
	frozen := func(load, length, period float64) func(r *rand.Rand, n int, rate float64) []takt.Interval {
		return func(r *rand.Rand, n int, rate float64) []takt.Interval {
			return queue{rate: constant(rate), service: exponential(r, load, rate), begins: freezes(r, length, period)}.run(n)
		}
	}
	bursts := func(times, length, period, load float64) func(r *rand.Rand, n int, rate float64) []takt.Interval {
		return func(r *rand.Rand, n int, rate float64) []takt.Interval {
			at := r.Float64() * period
			return queue{rate: func(t float64) float64 {
				if math.Mod(t+at, period) < length {
					return times * rate
				}
				return rate
			}, service: exponential(r, load, rate)}.run(n)
		}
	}
	return []target{
		{name: "0.9 from empty", run: steady(0.9)},
		{name: "0.98 from empty", run: steady(0.98)},
		{name: "0.98, stationary", run: func(r *rand.Rand, n int, rate float64) []takt.Interval {
			return queue{rate: constant(rate), service: exponential(r, 0.98, rate), warm: 30}.run(n)
		}},
		{name: "a freeze of 3 s in 60 at 0.5", run: frozen(0.5, 3, 60)},
		{name: "a freeze of 3 s in 60 at 0.9", run: frozen(0.9, 3, 60)},
		{name: "a freeze of 1 s in 10 at 0.7", run: frozen(0.7, 1, 10), awhile: 1},
		{name: "a ramp to 0.95", run: func(r *rand.Rand, n int, rate float64) []takt.Interval {
			return queue{rate: func(t float64) float64 { return rate * (t + 0.001) / float64(n) }, service: exponential(r, 0.95, rate)}.run(n)
		}},
		{name: "3 times the rate for 1 s in 10", run: bursts(3, 1, 10, 0.7/1.2)},
		// 5 s at 111 % of the capacity
		{name: "1.6 times the rate for 5 s in 20", run: bursts(1.6, 5, 20, 0.8/1.15), awhile: 6},
		{name: "capacity that swings by 15 %", run: func(r *rand.Rand, n int, rate float64) []takt.Interval {
			at := r.Float64() * 20
			return queue{rate: constant(rate), service: func(t float64) float64 {
				return r.ExpFloat64() * 0.85 / rate / (1 + 0.15*math.Sin(2*math.Pi*(t+at)/20))
			}}.run(n)
		}},
		{name: "1 % slow at 0.9", run: func(r *rand.Rand, n int, rate float64) []takt.Interval {
			return queue{rate: constant(rate), service: func(float64) float64 {
				mean := 0.9 / rate / 1.29
				if r.Float64() < 0.01 {
					mean *= 30
				}
				return r.ExpFloat64() * mean
			}}.run(n)
		}},
		{name: "slow: exp(3 s)", run: func(r *rand.Rand, n int, rate float64) []takt.Interval {
			return atOnce(n, rate, func() float64 { return 3 * r.ExpFloat64() })
		}},
		{name: "slow: 5 to 15 s", run: func(r *rand.Rand, n int, rate float64) []takt.Interval {
			return atOnce(n, rate, func() float64 { return 5 + 10*r.Float64() })
		}},
		{name: "shared at 0.9", run: func(r *rand.Rand, n int, rate float64) []takt.Interval { return shared(r, n, rate, 0.9) }},
		{name: "killed, refuses", run: func(r *rand.Rand, n int, rate float64) []takt.Interval {
			list, died := steady(0.9)(r, n, rate), n/2
			for i := range list[died:] {
				iv := &list[died+i]
				iv.OK, iv.Failed = 0, iv.Scheduled
			}
			return list
		}},
		{name: "killed, silent", run: func(r *rand.Rand, n int, rate float64) []takt.Interval {
			at := float64(n) * (0.2 + 0.6*r.Float64())
			return queue{rate: constant(rate), service: exponential(r, 0.9, rate), begins: func(t float64) float64 {
				if t > at {
					return math.Inf(1)
				}
				return t
			}}.run(n)
		}},
		{name: "1.02", over: true, run: steady(1.02)},
		{name: "1.1", over: true, run: steady(1.1), by: 7},
		{name: "1.4", over: true, run: steady(1.4), by: 3},
		{name: "3", over: true, run: steady(3), by: 3},
		{name: "1.1, equal service", over: true, run: func(_ *rand.Rand, n int, rate float64) []takt.Interval {
			return queue{rate: constant(rate), service: constant(1.1 / rate)}.run(n)
		}, by: 4},
		{name: "shared at 1.1", over: true, run: func(r *rand.Rand, n int, rate float64) []takt.Interval { return shared(r, n, rate, 1.1) }, by: 7},
		{name: "shared at 1.4", over: true, run: func(r *rand.Rand, n int, rate float64) []takt.Interval { return shared(r, n, rate, 1.4) }, by: 3},
	}
}

// No target below its capacity is called overloaded, and an overload is found as early as the arithmetic
// allows: at 100/s an excess of 10 % takes 20 s. The prototype's figures are the same (100 runs of each kind).
func TestOverload(t *testing.T) {
	const length = 60
	seeds := 20
	if racetest.On {
		seeds = 3
	}
	for _, rate := range []float64{100, 1000} {
		for _, kind := range targets() {
			ends, ever, times := map[int]int{5: 0, 20: 0, length: 0}, 0, []float64{}
			for seed := range seeds {
				first := math.Inf(1)
				var w overload.Watch
				for i, iv := range kind.run(rand.New(rand.NewPCG(uint64(seed), uint64(rate))), length, rate) {
					w.Add(&iv)
					if w.Now() == nil {
						continue
					}
					first = min(first, iv.T)
					if _, asked := ends[i+1]; asked {
						ends[i+1]++
					}
				}
				if times = append(times, first); first <= length {
					ever++
				}
			}
			slices.Sort(times)
			middle := times[seeds/2]
			t.Logf("%4v/s %-33s found in %2d of %d runs, in the median in second %v; at 5 s %2d, 20 s %2d, 60 s %2d", rate, kind.name, ever, seeds, middle, ends[5], ends[20], ends[length])
			switch {
			case !kind.over && (ever > kind.awhile || ends[20]+ends[length] > 0):
				t.Errorf("%v/s, %s: called overloaded in %d of %d runs", rate, kind.name, ever, seeds)
			case kind.by > 0 && rate == 1000 && (ends[length] < seeds || middle > kind.by):
				t.Errorf("%v/s, %s: called overloaded in %d of %d runs, in the median in second %v, want %v", rate, kind.name, ends[length], seeds, middle, kind.by)
			}
		}
	}
}

// overloaded is a report of a run of 10 s at 700/s, of which its target completed 500/s.
func overloaded() *takt.Report {
	intended := 700.0
	r := &takt.Report{
		Verdict: takt.Valid, DurationS: 10, Rate: takt.Rate{Intended: &intended, Achieved: 700},
		Counts:    takt.Counts{Scheduled: 7000, Sent: 7000, OK: 7000},
		Latency:   map[string]takt.Latency{"response": {Count: 7000, P99: 3.9e6}, "service": {Count: 7000, P99: 3.9e6}, "schedule_lag": {Count: 7000, P99: 50}},
		Variables: map[string]any{"max_in_flight": 10000},
	}
	for i := range 14 {
		iv := takt.Interval{T: float64(i + 1), OK: 500, ResponseP50: 4e5 * float64(i+1), ResponseP99: 4.1e5 * float64(i+1), InFlightMax: min(2000, 200*(i+1))}
		if i < 10 {
			iv.Scheduled = 700
		}
		r.Intervals = append(r.Intervals, iv)
	}
	return r
}

// What a report says of its overload, and when it says nothing.
func TestOverloadOfReport(t *testing.T) {
	const words = "500/s of 700/s completed; responses grow by 400ms each second since second 1"
	late := func(r *takt.Report) {
		for i := range r.Intervals {
			r.Intervals[i].ScheduleLagP99 = r.Intervals[i].ResponseP99
		}
	}
	for name, c := range map[string]struct {
		change func(*takt.Report)
		want   string // "": no overload
	}{
		"as it is":               {func(*takt.Report) {}, words},
		"with a warm-up":         {func(r *takt.Report) { r.WarmupS, r.DurationS = 3, 7; r.Intervals[0].Warmup = true }, words},
		"the drain was long":     {func(r *takt.Report) { r.Intervals[13].T = 500 }, words},
		"a short interval":       {func(r *takt.Report) { r.Intervals[9] = takt.Interval{T: 9.3, OK: 500} }, words},
		"at the limit in flight": {func(r *takt.Report) { r.Variables["max_in_flight"] = 2000.0 }, "500/s of 700/s completed with 2000 in flight, the limit; responses grow by 400ms each second since second 1"},
		"of two shards":          {func(r *takt.Report) { r.Variables["max_in_flight"] = 1000; r.Extra = map[string]any{"shards": 2.0} }, "500/s of 700/s completed with 2000 in flight, the limit; responses grow by 400ms each second since second 1"},
		"of a broker's quota":    {func(r *takt.Report) { r.Warn("quota", "it made takt wait") }, words},
		"invalid":                {func(r *takt.Report) { r.Verdict = takt.Invalid }, ""},
		"takt was late":          {late, ""},
		"a closed loop":          {func(r *takt.Report) { r.Rate.Intended = nil }, ""},
		"without answers":        {func(r *takt.Report) { delete(r.Latency, "response") }, ""},
		"of users":               {func(r *takt.Report) { r.Variables["per"] = "client" }, ""},
		"of a scenario":          {func(r *takt.Report) { r.Variables["scenario"] = "shop" }, ""},
		"of an older takt":       {func(r *takt.Report) { r.Intervals = nil; r.Overload = nil }, ""},
		"without its intervals": {func(r *takt.Report) {
			r.Overload, r.Intervals = overload.Find(r), nil
		}, words},
	} {
		r := overloaded()
		c.change(r)
		kind := "The run is of an overloaded target: "
		if len(r.Warnings) > 0 {
			kind = "The run is above the quota of the brokers: "
		}
		want := ""
		if c.want != "" {
			want = kind + c.want + "."
		}
		if got := overload.Sentence(r); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The rate of an overloaded target is what it completed, and a bound on its latencies proves nothing.
func TestAssertionsOfOverload(t *testing.T) {
	for text, want := range map[string]string{
		"rate>=99%":            "FAIL rate>=99% (rate was 71.4 % while the schedule lasted)",
		"rate>=499/s":          "PASS rate>=499/s (rate was 500/s while the schedule lasted)",
		"p99<5s":               "PASS p99<5s (p99 was 3.9s; not proven: the target is overloaded, so the figure grows with the length of the run)",
		"service.p99<5s":       "PASS service.p99<5s (service.p99 was 3.9s; not proven: the target is overloaded, so the figure grows with the length of the run)",
		"p99<1s":               "FAIL p99<1s (p99 was 3.9s)",
		"p99>1s":               "PASS p99>1s (p99 was 3.9s)",
		"schedule_lag.p99<1ms": "PASS schedule_lag.p99<1ms (schedule_lag.p99 was 50µs)",
		"ok==7000":             "PASS ok==7000 (ok was 7000)",
	} {
		a, err := assert.ParseAssertion(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Check(overloaded()).String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	// A target that takes a second is slow, not overloaded: 700/s for 5 s.
	r := overloaded()
	r.DurationS, r.Intervals = 5, nil
	for i := range 6 {
		iv := takt.Interval{T: float64(i + 1), ResponseP50: 1e6, ResponseP99: 1e6}
		if i > 0 {
			iv.OK = 700
		}
		if i < 5 {
			iv.Scheduled = 700
		}
		r.Intervals = append(r.Intervals, iv)
	}
	if v, missing := (assert.Assertion{Metric: "rate", Unit: takt.UnitPercent}).Value(r); v != 100 || missing != "" {
		t.Errorf("the rate of a slow target is %v %%, %q", v, missing)
	}
}

// A run of any length is watched in constant memory, and says since when its target is overloaded.
func TestWatchOfLongRun(t *testing.T) {
	var w overload.Watch
	for i := range 5000 {
		done := 1000
		if i >= 3000 {
			done = 800
		}
		w.Add(&takt.Interval{T: float64(i + 1), Scheduled: 1000, OK: uint64(done), ResponseP50: 1000, ResponseP99: 2000})
	}
	if o := w.Now(); o == nil || math.Abs(o.FromS-3000) > 8 || o.DuePerS != 1000 || math.Abs(o.CompletedPerS-800) > 1 || math.Abs(o.GrowthUSPerS-250_000) > 1000 {
		t.Errorf("%+v", o)
	}
}
