package format_test

import (
	"sync"
	"time"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// sample is a report with a name; its outputs stand in testdata/NAME.
type sample struct {
	name   string
	report *takt.Report
}

// samples are built once, since histograms are slow under the race detector.
// Tests that change a report make their own.
var samples = sync.OnceValue(func() []sample {
	return []sample{
		{"failures", failures()},
		{"closed", closed()},
		{"invalid", invalid()},
		{"receive", receive()},
		{"never", never()},
		{"drops", drops()},
		{"streams", streams()},
		{"empty", &takt.Report{SchemaVersion: 1, Kind: "http", Verdict: takt.Valid, StartedAt: base().StartedAt}},
	}
})

// base is a run of five seconds at 1000/s after one of warm-up, with nothing
// counted yet.
func base() *takt.Report {
	intended := 1000.0
	return &takt.Report{
		SchemaVersion: takt.SchemaVersion,
		ID:            "01JQ5ZV4E8M2T7K9R3XWBNCDFG",
		Tool:          takt.Tool{Name: "takt", Version: "0.1.0", Go: "go1.26"},
		Kind:          "http",
		Command:       []string{"takt", "http", "--rate", "1000/s", "--duration", "5s", "--warmup", "1s", "http://127.0.0.1:8080/orders"},
		Labels:        map[string]string{},
		Variables: map[string]any{
			"duration_s": 5.0, "rate_per_s": 1000.0, "arrivals": "uniform", "connections": 50.0,
			"method": "GET", "host": "127.0.0.1:8080", "path": "/orders", "body_bytes": 0.0,
		},
		ComparabilityKey: "sha256:6f1c9a",
		StartedAt:        time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		DurationS:        5, WarmupS: 1, IntervalS: 1,
		Schedule:  takt.Schedule{Profile: "constant", Arrivals: "uniform", RatePerS: 1000, Shard: "1/1"},
		Rate:      takt.Rate{Intended: &intended},
		Latency:   map[string]takt.Latency{},
		Status:    map[string]uint64{},
		Errors:    []takt.ErrorClass{},
		Warnings:  []takt.Warning{},
		Verdict:   takt.Valid,
		Generator: takt.Generator{Engine: "loop", Loops: 1, GOMAXPROCS: 2, CPUS: 0.312, MaxRSS: 24 << 20, Cores: 2},
		Extra:     map[string]any{},
	}
}

// times are the latencies of one stretch of a run.
type times struct{ response, ok, service, delay, lag *hist.Histogram }

func newTimes() times {
	return times{hist.New(), hist.New(), hist.New(), hist.New(), hist.New()}
}

func (t times) merge(o times) {
	t.response.Merge(o.response)
	t.ok.Merge(o.ok)
	t.service.Merge(o.service)
	t.delay.Merge(o.delay)
	t.lag.Merge(o.lag)
}

// load fills r's latencies and intervals: n operations in each of six seconds,
// the first of warm-up. delay and service say how operation i of a second
// went; every failEvery-th fails, in the warm-up only if all do. Integers only, so that
// all machines agree.
func load(r *takt.Report, n, failEvery int, delay, service func(second, i int) time.Duration) {
	total := newTimes()
	for second := range 6 {
		part, failed := newTimes(), 0
		for i := range n {
			d, s := delay(second, i), service(second, i)
			fails := failEvery == 1 || failEvery > 0 && second > 0 && i%failEvery == failEvery-1
			part.add(d, s, fails)
			if fails {
				failed++
			}
		}
		if second > 0 {
			total.merge(part)
			r.Counts.OK += uint64(n - failed)
			r.Counts.Failed += uint64(failed)
			r.Counts.Sent += uint64(n)
			r.Counts.Scheduled += uint64(n)
		}
		r.Intervals = append(r.Intervals, interval(second, n, failed, part))
	}
	warm := r.Intervals[0]
	r.WarmupCounts = takt.Counts{Scheduled: warm.Scheduled, Sent: warm.Scheduled, OK: warm.OK, Failed: warm.Failed}
	r.Rate.Achieved = float64(r.Counts.Sent) / r.DurationS
	total.into(r)
}

func (t times) add(delay, service time.Duration, fails bool) {
	t.response.Record(delay + service)
	t.service.Record(service)
	t.delay.Record(delay)
	t.lag.Record(min(delay, 90*time.Microsecond))
	if !fails {
		t.ok.Record(delay + service)
	}
}

func (t times) into(r *takt.Report) {
	r.Latency[takt.LatencyResponse] = t.response.Summary()
	r.Latency[takt.LatencyResponseOK] = t.ok.Summary()
	r.Latency[takt.LatencyService] = t.service.Summary()
	r.Latency[takt.LatencySendDelay] = t.delay.Summary()
	r.Latency[takt.LatencyScheduleLag] = t.lag.Summary()
}

func interval(second, n, failed int, t times) takt.Interval {
	return takt.Interval{
		T: float64(second + 1), Warmup: second == 0,
		Scheduled: uint64(n), OK: uint64(n - failed), Failed: uint64(failed), InFlightMax: 3 + 7*second%5,
		ResponseP50:    hist.Micros(t.response.Quantile(0.5)),
		ResponseP99:    hist.Micros(t.response.Quantile(0.99)),
		ResponseMax:    hist.Micros(t.response.Max()),
		ScheduleLagP99: hist.Micros(t.lag.Quantile(0.99)),
		HDR:            t.response.Encode(), ServiceHDR: t.service.Encode(),
	}
}

// quick is a service time of 0.7 to 1.6 ms with a long tail.
func quick(second, i int) time.Duration {
	d := time.Duration(700+(i*7919+second*31)%900) * time.Microsecond
	if i%97 == 0 {
		d *= 8
	}
	if i == 500 {
		d += time.Duration(60*second) * time.Millisecond
	}
	return d
}

func punctual(second, i int) time.Duration {
	return time.Duration(8000+(i*104729+second)%37000) * time.Nanosecond
}

func phase(r *takt.Report, name string, n int, d func(i int) time.Duration) {
	h := hist.New()
	for i := range n {
		h.Record(d(i))
	}
	r.Latency[name] = h.Summary()
}

func warn(r *takt.Report, code takt.WarningCode, message string) {
	r.Warnings = append(r.Warnings, takt.Warning{Code: code, Message: message})
}

// failures has a bit of everything that an open-loop run can have.
func failures() *takt.Report {
	r := base()
	load(r, 1000, 250, punctual, quick)
	cutOff(r)
	r.Rate.Achieved = 999.8
	r.Command = append(r.Command, "--header", "Accept: text/html & more", "--label", "branch=main", "--label", "commit=4f2a91c")
	r.Labels = map[string]string{"branch": "main", "commit": "4f2a91c"}
	r.Bytes = takt.Bytes{Sent: 610_000, Received: 4_811_200}
	r.Status = map[string]uint64{"200": 4979, "503": 12}
	r.Errors = []takt.ErrorClass{
		{Class: "5xx", Count: 12, Sample: "503 Service Unavailable", Body: "{\"error\":\"overloaded\",\n \"hint\":\"<retry> later\x1b[31m\"}"},
		{Class: "timeout", Count: 8, Sample: "no complete answer within 250ms: read 0 of the first 16 bytes from 127.0.0.1:8080 on connection 17, which had served 212 requests before"},
	}
	phase(r, "dns", 1, func(int) time.Duration { return 412 * time.Microsecond })
	phase(r, "connect", 50, func(i int) time.Duration { return time.Duration(80+i) * time.Microsecond })
	phase(r, "first_byte", 4991, func(i int) time.Duration { return time.Duration(600+i%900) * time.Microsecond })
	r.Generator.GCCycles, r.Generator.GCPauseMaxUS, r.Generator.NoiseFloorUS = 3, 84.5, 61.2
	demand(r, "p99<250ms", "errors < 0.1%", "tls.p99<1s", "rate>=990/s", "dropped==0")
	warn(r, "steal", "the hypervisor took 2.1 % of the CPU time away from this machine; latencies above p99 may be its fault")
	return r
}

// assert judges the report, as --assert does.
func demand(r *takt.Report, texts ...string) {
	var list []assert.Assertion
	for _, text := range texts {
		a, err := assert.ParseAssertion(text)
		if err != nil {
			panic(err)
		}
		list = append(list, a)
	}
	assert.Judge(r, list)
}

// cutOff makes the slowest of the last interval one that was still on its way.
func cutOff(r *takt.Report) {
	last := &r.Intervals[len(r.Intervals)-1]
	last.OK--
	r.Counts.OK--
	r.Counts.Unfinished++
	h, err := hist.Decode(r.Latency[takt.LatencyResponseOK].HDR)
	if err != nil {
		panic(err)
	}
	list := h.Buckets()
	list[len(list)-1].Count--
	ok := hist.New()
	for _, b := range list {
		ok.RecordN(b.From, b.Count)
	}
	r.Latency[takt.LatencyResponseOK] = ok.Summary()
}

func closed() *takt.Report {
	r := base()
	load(r, 2400, 0, func(int, int) time.Duration { return 2 * time.Microsecond }, func(s, i int) time.Duration { return quick(s, i) / 12 })
	r.Command = []string{"takt", "http", "--rate", "max", "--connections", "2", "http://127.0.0.1:8080/"}
	r.Variables = map[string]any{"method": "GET", "host": "127.0.0.1:8080", "path": "/", "connections": 2.0}
	r.Schedule = takt.Schedule{Profile: "closed", Shard: "1/1"}
	r.Rate.Intended = nil
	r.Status = map[string]uint64{"200": r.Counts.OK}
	r.Bytes = takt.Bytes{Sent: 1 << 20, Received: 3 << 30}
	warn(r, "closed_loop", "closed loop: the next operation waits for the last answer, so the time in which the target stalls is missing from the percentiles; give --rate for what users feel")
	return r
}

func invalid() *takt.Report {
	r := base()
	load(r, 1000, 0, func(s, i int) time.Duration { return time.Duration(i%40) * time.Millisecond }, quick)
	r.Status = map[string]uint64{"200": 5000}
	r.Verdict = takt.Invalid
	warn(r, "generator_bottleneck", "the generator was the bottleneck: 4750 operations (95.0 %) were sent more than 4ms after they could have been; lower the rate, free the CPU, or spread the run with --shard")
	warn(r, "generator_late", "the generator was late: schedule lag p99 is 39ms beside a response p99 of 42ms")
	demand(r, "p99<10s", "errors<1%")
	return r
}

// receive is a consumer: no response time, no schedule.
func receive() *takt.Report {
	r := base()
	r.Kind, r.Command = "kafka", []string{"takt", "kafka", "consume", "--topic", "orders", "--count", "5000"}
	r.Variables = map[string]any{"brokers": "127.0.0.1:9092", "topic": "orders"}
	r.Schedule = takt.Schedule{Shard: "1/1"}
	r.Rate = takt.Rate{Achieved: 999.6}
	r.Counts = takt.Counts{Scheduled: 5000, OK: 4998, Unfinished: 2}
	r.WarmupS = 0
	r.Bytes.Received = 5_117_952
	r.Generator.Engine, r.Generator.Loops = "async", 0
	r.Extra = map[string]any{"lost": 2.0, "duplicate": 0.0, "reordered": 0.0, "foreign": 14.0, "transfer_from": "due", "partitions": []any{0.0, 1.0}}
	phase(r, "transfer", 4998, func(i int) time.Duration { return quick(1, i%1000) * 3 })
	for i := range 5 {
		r.Intervals = append(r.Intervals, takt.Interval{T: float64(i + 1), Scheduled: 1000, OK: 1000 - uint64(i/4*2)})
	}
	return r
}

// never is a run against a port on which nobody listens.
func never() *takt.Report {
	r := base()
	load(r, 200, 1, punctual, func(_, i int) time.Duration { return time.Duration(90+i%30) * time.Microsecond })
	*r.Rate.Intended = 200
	r.Schedule.RatePerS = 200
	r.Latency[takt.LatencyResponseOK] = takt.Latency{}
	r.Errors = []takt.ErrorClass{{Class: "connect", Count: 1000, Sample: "dial tcp 127.0.0.1:8080: connect: connection refused"}}
	demand(r, "p99<1s", "errors<1%")
	return r
}

// drops is a run whose target stalls while --overflow drop is in force.
// streams are answers of a language model: the first token after 100 ms, then a token every 20 ms, with a stall of 300 ms
// in each stream of the fourth second.
func streams() *takt.Report {
	r := base()
	load(r, 50, 0, punctual, quick)
	r.Kind, r.Command = "llm", []string{"takt", "llm", "--rate", "50/s", "--slo", "ttft<150ms,maxgap<200ms", "http://127.0.0.1:8080/v1/chat/completions"}
	totals := map[string]*hist.Histogram{}
	for i := range r.Intervals {
		iv := &r.Intervals[i]
		good := uint64(50)
		if iv.Warmup {
			good = 0
			iv.Good = &good
			continue
		}
		sums := timeline.NewSums()
		for k := range 50 {
			longest := 21 * time.Millisecond
			if i == 4 {
				longest, good = 300*time.Millisecond, 0
			}
			sums.Of("ttft").Record(time.Duration(100+k%7) * time.Millisecond)
			sums.Of("gap").RecordN(20*time.Millisecond, 19)
			sums.Of("gap").Record(longest)
			sums.Of("maxgap").Record(longest)
		}
		var only takt.Interval
		sums.Summarize(&only, new(hist.Encoder))
		iv.Latency, iv.Good = only.Latency, &good
		for name, h := range sums.Timed {
			if totals[name] == nil {
				totals[name] = hist.New()
			}
			totals[name].Merge(h)
		}
	}
	for name, h := range totals {
		r.Latency[name] = h.Summary()
	}
	r.Goodput = &takt.Goodput{SLO: "ttft<150ms,maxgap<200ms", Good: 200, Undecided: 1, Missed: map[string]uint64{"ttft<150ms": 0, "maxgap<200ms": 49}}
	r.Goodput.Of(r.Counts.Scheduled, r.DurationS)
	r.Extra = map[string]any{"llm": map[string]any{"output_tokens": 5250.0, "output_tokens_per_s": 1050.0, "input_tokens": 2500.0, "tokens_from": "usage", "length": 250.0}}
	r.Status = map[string]uint64{"200": 250}
	return r
}

func drops() *takt.Report {
	r := base()
	load(r, 800, 0, punctual, func(s, i int) time.Duration {
		if s == 3 {
			return time.Duration(i+1) * 1250 * time.Microsecond
		}
		return quick(s, i)
	})
	for i := range r.Intervals {
		r.Intervals[i].Scheduled += 200
		r.Intervals[i].Dropped = 200
	}
	r.Counts.Scheduled, r.Counts.Dropped = 5000, 1000
	r.WarmupCounts.Scheduled, r.WarmupCounts.Dropped = 1000, 200
	r.Status = map[string]uint64{"200": 4000}
	r.Schedule = takt.Schedule{Profile: "ramp", Arrivals: "poisson", Seed: 7, Shard: "1/2", RunGroup: "nightly",
		Stages: []takt.Stage{{DurationS: 5, From: 900, To: 1100}}}
	warn(r, "dropped", "1000 operations were dropped at the in-flight bound and are in no percentile: the tail is truncated")
	return r
}
