package assert

import (
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// measured is the report of n operations of took, one a 100th of a second, with their counts by block.
func measured(n int, took func(i int) time.Duration, failed func(i int) bool) *takt.Report {
	schedule := time.Duration(n) * 10 * time.Millisecond
	h, c := hist.New(), proof.New(schedule)
	r := &takt.Report{Verdict: takt.Valid, DurationS: schedule.Seconds(), Latency: map[string]takt.Latency{}}
	for i := range n {
		due := time.Duration(i) * 10 * time.Millisecond
		h.Record(took(i))
		c.Add(due, took(i), 1)
		r.Counts.Scheduled, r.Counts.Sent = r.Counts.Scheduled+1, r.Counts.Sent+1
		if failed != nil && failed(i) {
			c.Failed(due, 1)
			r.Counts.Failed++
		} else {
			r.Counts.OK++
		}
	}
	rate := 100.0
	r.Rate = takt.Rate{Intended: &rate, Achieved: rate}
	r.Latency[takt.LatencyResponse] = proof.With(h.Summary(), h, c)
	r.Latency[takt.LatencyService] = h.Summary()
	r.Latency["connect"] = h.Summary()
	return r
}

func fast(int) time.Duration { return 5 * time.Millisecond }

func judged(t *testing.T, r *takt.Report, text string) takt.Assertion {
	t.Helper()
	list, faults := ParseAssertions(text)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	Judge(r, list)
	return r.Assertions[0]
}

// The exit code of an assertion hangs on its figure; its proof is words, unless it is required.
func TestProofs(t *testing.T) {
	every := func(n int) func(int) bool { return func(i int) bool { return i%n == n-1 } }
	slow := func(n int) func(int) time.Duration {
		return func(i int) time.Duration {
			if i%n == n-1 {
				return 400 * time.Millisecond
			}
			return 5 * time.Millisecond
		}
	}
	for _, c := range []struct {
		run    *takt.Report
		text   string
		result takt.Outcome
		words  string
	}{
		{measured(20, fast, nil), "p99.9<1s", takt.Pass, "p99.9 was 5ms; not proven: needs about 3000 operations, -z 30s at this rate"},
		{measured(300, fast, nil), "p99<250ms", takt.Pass, "p99 was 5ms; proven: below 5.01ms, 95 % confidence"},
		{measured(298, fast, nil), "p99<250ms", takt.Pass, "p99 was 5ms; not proven: needs about 300 operations, -z 3s at this rate"},
		{measured(298, fast, nil), "p99<250ms@90%", takt.Pass, "p99 was 5ms; proven: below 5.01ms, 90 % confidence"},
		{measured(298, fast, nil), "p99<250ms@95%", takt.Unproven, "p99 was 5ms; not proven: needs about 300 operations"},
		{measured(298, fast, nil), "service.p99<250ms@95%", takt.Unproven, "service.p99 was 5ms; not proven: needs about 300 operations"},
		{measured(300, fast, nil), "service.p99<250ms@95%", takt.Pass, "service.p99 was 5ms; proven: below 5.01ms, 95 % confidence"},
		{measured(300, fast, nil), "connect.p99<250ms", takt.Pass, "connect.p99 was 5ms"},
		{measured(300, fast, nil), "connect.p99<250ms@95%", takt.Unproven, "connect.p99 was 5ms; not proven: the report does not count the operations of connect.p99 by time"},
		{measured(300, fast, nil), "max<250ms", takt.Pass, "max was 5ms"},
		{measured(300, fast, nil), "mean<250ms", takt.Pass, "mean was 5ms"},
		{measured(2000, slow(20), nil), "p99<250ms", takt.Fail, "p99 was 400ms; proven: above 400ms, 95 % confidence"},
		{measured(200, slow(66), nil), "p99<250ms", takt.Fail, "p99 was 400ms; not proven to be missed: needs about "},
		{measured(2000, slow(20), nil), "p90>1ms", takt.Pass, "p90 was 5ms; proven: above 5ms, 95 % confidence"},
		{measured(300, fast, nil), "errors<1%", takt.Pass, "errors was 0 %; proven: below 0.994 %, 95 % confidence"},
		{measured(100, fast, nil), "errors<1%", takt.Pass, "errors was 0 %; not proven: needs about 300 operations, -z 3s at this rate"},
		{measured(1000, fast, every(10)), "errors<1%", takt.Fail, "errors was 10 %; proven: above 8."},
		{measured(1000, fast, every(10)), "ok>=80%", takt.Pass, "ok was 90 %; proven: above 88."},
		{measured(1000, fast, every(10)), "ok>=90%", takt.Pass, "not proven: the figure is too close to the bound"},
		{measured(8, fast, func(int) bool { return true }), "errors<1%", takt.Fail, "errors was 100 %; proven: above 5 %, 95 % confidence"},
		{measured(8, fast, func(int) bool { return true }), "errors<50%", takt.Fail, "errors was 100 %; not proven to be missed: needs about 50 operations"},
		{measured(8, fast, nil), "p99<1ms", takt.Fail, "p99 was 5ms; proven: above 5ms, 95 % confidence"},
		{measured(1000, fast, nil), "failed==0", takt.Pass, "failed was 0"},
		{measured(1000, fast, nil), "errors<=0%", takt.Pass, "errors was 0 %"},
	} {
		a := judged(t, c.run, c.text)
		if a.Result != c.result || !strings.Contains(a.Reason, c.words) {
			t.Errorf("%s of %d: %s, want %s (…%s…)", c.text, c.run.Counts.Scheduled, a, c.result, c.words)
		}
		if !strings.Contains(c.words, ";") && !strings.Contains(c.words, "not proven") && (a.Proof != nil || strings.Contains(a.Reason, ";")) {
			t.Errorf("%s is a fact, and has the proof %+v: %s", c.text, a.Proof, a)
		}
	}
}

// Goodput is a share of what was scheduled, or a rate. What is not good is proven by the blocks, as failures are.
func TestGoodput(t *testing.T) {
	run := func(n int, missed func(int) bool) *takt.Report {
		r := measured(n, fast, func(i int) bool { return i%100 == 0 })
		h, c := hist.New(), proof.New(time.Duration(n)*10*time.Millisecond)
		good := uint64(0)
		for i := range n {
			due := time.Duration(i) * 10 * time.Millisecond
			h.Record(fast(i))
			c.Add(due, fast(i), 1)
			switch {
			case i%100 == 0:
				c.Failed(due, 1)
			case missed(i):
				c.Missed(due, 1)
			default:
				good++
			}
		}
		r.Latency[takt.LatencyResponse] = proof.With(h.Summary(), h, c)
		r.Latency["ttft"] = r.Latency[takt.LatencyResponse]
		r.Goodput = &takt.Goodput{SLO: "ttft<1s", Good: good}
		r.Goodput.Of(r.Counts.Scheduled, r.DurationS)
		return r
	}
	none := func(int) bool { return false }
	tenth := func(i int) bool { return i%10 == 5 }
	for _, c := range []struct {
		run    *takt.Report
		text   string
		result takt.Outcome
		words  string
	}{
		{run(2000, none), "goodput>98%", takt.Pass, "goodput was 99 %; proven: above 98."},
		{run(2000, none), "goodput>=98.9%@95%", takt.Unproven, "goodput was 99 %; not proven: "},
		{run(2000, tenth), "goodput>95%", takt.Fail, "goodput was 89 %; proven: below 9"},
		{run(2000, tenth), "ttft.p99<250ms@95%", takt.Pass, "ttft.p99 was 5ms; proven: below 5.01ms, 95 % confidence"},
		{run(2000, tenth), "goodput>=89/s", takt.Pass, "goodput was 89/s"},
		{run(2000, tenth), "goodput>90/s", takt.Fail, "goodput was 89/s"},
		{measured(300, fast, nil), "goodput>1%", takt.Fail, "operations had no conditions, so there is no goodput; add --slo to the load"},
	} {
		if a := judged(t, c.run, c.text); a.Result != c.result || !strings.Contains(a.Reason, c.words) {
			t.Errorf("%s: %s, want %s (…%s…)", c.text, a, c.result, c.words)
		}
	}
	for _, text := range []string{"goodput>99", "goodput>1ms", "goodput>=99%@95%/s", "steps.pay.goodput>1%"} {
		if a, faults := ParseAssertions(text); len(faults) == 0 {
			t.Errorf("%s is %+v", text, a)
		}
	}
	good := uint64(3)
	second := OfInterval(takt.Interval{Scheduled: 100, OK: 4, Failed: 1, Dropped: 1, Good: &good, Latency: map[string]takt.Course{"ttft": {HDR: judgedHDR(40 * time.Millisecond)}}}, nil, 1)
	for text, want := range map[string]string{"goodput<60%": "goodput was 50 %", "goodput>2/s": "goodput was 3/s", "ttft.p99>30ms": "ttft.p99 was 40ms"} {
		a, err := ParseAssertion(text)
		if err == nil {
			err = a.InInterval(false, []takt.Timed{{Name: "ttft", Course: true}})
		}
		if c := a.Check(second); err != nil || c.Result != takt.Pass || !strings.HasPrefix(c.Reason, want) {
			t.Errorf("%s: %s, %v", text, c, err)
		}
	}
	if a, _ := ParseAssertion("ttft.p99>30ms"); a.InInterval(false, []takt.Timed{{Name: "ttft"}}) == nil {
		t.Error("a second has a latency that no interval has")
	}
}

func judgedHDR(d time.Duration) string {
	h := hist.New()
	h.Record(d)
	return h.Encode()
}

// Operations that are slow together prove less than those that are slow by chance.
func TestProofOfClusters(t *testing.T) {
	together := measured(2000, func(i int) time.Duration {
		if i%500 >= 480 {
			return 200 * time.Millisecond
		}
		return 5 * time.Millisecond
	}, nil)
	apart := measured(2000, func(i int) time.Duration {
		if i%25 == 7 {
			return 200 * time.Millisecond
		}
		return 5 * time.Millisecond
	}, nil)
	if a := judged(t, apart, "p95<100ms"); a.Proof == nil || !a.Proof.Proven {
		t.Errorf("4 %% of slow operations, evenly: %s", a)
	}
	if a := judged(t, together, "p95<100ms"); a.Proof != nil && a.Proof.Proven {
		t.Errorf("4 %% of slow operations in four freezes: %s", a)
	}
}

// A run in which takt was late proves what holds with its lateness. A longer one would be late, too.
func TestProofOfLateRuns(t *testing.T) {
	for n, want := range map[int]string{300: "; proven: below 5.01ms, 95 % confidence", 200: "; not proven: takt itself was late"} {
		r := measured(n, fast, nil)
		r.Verdict, r.Warnings = takt.Invalid, []takt.Warning{{Code: warn.GeneratorBottleneck}}
		if a := judged(t, r, "p99<250ms"); a.Result != takt.Pass || !strings.HasSuffix(a.Reason, want) {
			t.Errorf("%d operations: %s", n, a)
		}
	}
}

// Reports of an older takt have no counts by block: they are judged as before.
func TestProofOfOldReports(t *testing.T) {
	old := measured(300, fast, nil)
	l := old.Latency[takt.LatencyResponse]
	l.CI, l.Blocks = nil, nil
	old.Latency[takt.LatencyResponse] = l
	if a := judged(t, old, "p99<250ms"); a.Proof != nil || a.Result != takt.Pass || a.Reason != "p99 was 5ms" {
		t.Errorf("%s, %+v", a, a.Proof)
	}
	if a := judged(t, old, "p99<250ms@95%"); a.Result != takt.Unproven {
		t.Errorf("%s", a)
	}
}

// A bound that an overloaded target meets is not proven.
func TestProofOfOverload(t *testing.T) {
	r := measured(2000, fast, nil)
	r.Overload = &takt.Overload{DuePerS: 100, CompletedPerS: 90}
	if a := judged(t, r, "p99<250ms@95%"); a.Result != takt.Unproven || strings.Count(a.Reason, "not proven") != 1 || !strings.Contains(a.Reason, "overloaded") {
		t.Errorf("%s", a)
	}
	if a := judged(t, r, "p99<250ms"); a.Result != takt.Pass || a.Proof.Proven {
		t.Errorf("%s", a)
	}
}

func TestLevels(t *testing.T) {
	for text, want := range map[string]float64{"p99<250ms": 0, "p99<250ms@95%": 0.95, "p99 < 250ms @ 99.9%": 0.999, "errors<1%@50%": 0.5} {
		if a, err := ParseAssertion(text); err != nil || a.Level != want || a.Unleveled() == nil != (want == 0) {
			t.Errorf("%s: %v, %v", text, a.Level, err)
		}
	}
	for text, want := range map[string]string{
		"p99<250ms@": "confidence level", "p99<250ms@95": "confidence level", "p99<250ms@0.95%": "confidence level", "p99<250ms@100%": "confidence level",
		"p99<250ms@1e1%": "confidence level", "max<1s@95%": "fact of the run", "errors==0@95%": "fact of the run", "rate>=99%@95%": "fact of the run",
		"p99@95%": "not of the form", "@95%": "not of the form",
	} {
		if _, err := ParseAssertion(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What takt prints for several assertions together: a failure before what is void, and that before what is
// unproven.
func TestOutcomeOfUnproven(t *testing.T) {
	for _, c := range []struct {
		list []takt.Outcome
		want takt.Outcome
	}{
		{[]takt.Outcome{takt.Pass, takt.Unproven, takt.Pass}, takt.Unproven},
		{[]takt.Outcome{takt.Unproven, takt.Void}, takt.Void},
		{[]takt.Outcome{takt.Fail, takt.Unproven, takt.Void}, takt.Fail},
		{nil, takt.Pass},
	} {
		r := new(takt.Report)
		for _, o := range c.list {
			r.Assertions = append(r.Assertions, takt.Assertion{Result: o})
		}
		if got := Outcome(r); got != c.want {
			t.Errorf("%v: %s, want %s", c.list, got, c.want)
		}
	}
}
