package assert_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/pkg/takt"
)

func report() *takt.Report {
	intended := 1000.0
	return &takt.Report{
		Counts: takt.Counts{Scheduled: 1000, Sent: 990, OK: 970, Failed: 15, Dropped: 10, Unfinished: 5},
		Rate:   takt.Rate{Intended: &intended, Achieved: 985},
		Latency: map[string]takt.Latency{
			"response": {Count: 990, Min: 90, Mean: 1500, P50: 1200, P75: 2000, P90: 3000, P95: 4000, P99: 12300, P99_9: 250040, P99_99: 251000, Max: 1.2e6},
			"service":  {Count: 990, P99: 9000, P99_9: 10000},
			"connect":  {},
		},
	}
}

func ExampleAssertion_Check() {
	a, err := assert.ParseAssertion("service.p99<250ms")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Check(&takt.Report{Latency: map[string]takt.Latency{"service": {Count: 1, P99: 12300}}}))
	// Output: PASS service.p99<250ms (service.p99 was 12.3ms)
}

func TestCheck(t *testing.T) {
	const drop = "; 10 dropped operations are not included)"
	for text, want := range map[string]string{
		"p99<250ms":           "PASS p99<250ms (p99 was 12.3ms" + drop,
		"p99 < 250ms":         "PASS p99 < 250ms (p99 was 12.3ms" + drop,
		"response.p99<=12ms":  "FAIL response.p99<=12ms (p99 was 12.3ms" + drop,
		"p99.9<250ms":         "FAIL p99.9<250ms (p99.9 was 250.04ms" + drop,
		"p99.99<=251ms":       "PASS p99.99<=251ms (p99.99 was 251ms" + drop,
		"max<1m30s":           "PASS max<1m30s (max was 1.2s" + drop,
		"mean>1us":            "PASS mean>1us (mean was 1.5ms" + drop,
		"min>0":               "PASS min>0 (min was 90µs" + drop,
		"p50==1.2ms":          "PASS p50==1.2ms (p50 was 1.2ms" + drop,
		"p75<1ms":             "FAIL p75<1ms (p75 was 2ms" + drop,
		"p90<1ms":             "FAIL p90<1ms (p90 was 3ms" + drop,
		"p95<1ms":             "FAIL p95<1ms (p95 was 4ms" + drop,
		"service.p99.9<=10ms": "PASS service.p99.9<=10ms (service.p99.9 was 10ms" + drop,
		"connect.p99<1s":      "FAIL connect.p99<1s (no connect time was measured)",
		"tls.p99<1s":          `FAIL tls.p99<1s (the report has no latency "tls"; it has connect, response, service)`,
		"errors<1%":           "FAIL errors<1% (errors was 2.02 %)",
		"errors==0":           "FAIL errors==0 (errors was 2.02 %)",
		"ok>=970":             "PASS ok>=970 (ok was 970)",
		"ok>=99%":             "FAIL ok>=99% (ok was 97 %)",
		"failed==0":           "FAIL failed==0 (failed was 15)",
		"dropped<=1%":         "PASS dropped<=1% (dropped was 1 %)",
		"unfinished<5":        "FAIL unfinished<5 (unfinished was 5)",
		"rate>=99%":           "FAIL rate>=99% (rate was 98.5 %)",
		"rate>=980/s":         "PASS rate>=980/s (rate was 985/s)",
	} {
		a, err := assert.ParseAssertion(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := a.Check(report()).String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A report has the results. No assertion passes on a run that proves nothing.
func TestJudge(t *testing.T) {
	var list []assert.Assertion
	for _, text := range []string{"p99<250ms", "errors<1%", "tls.p99<1s"} {
		a, err := assert.ParseAssertion(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	const passes = `p99<250ms (p99 was 12.3ms`
	for _, test := range []struct {
		name    string
		verdict takt.Verdict
		ok      uint64
		want    []string
	}{
		{"valid", takt.Valid, 970, []string{"PASS " + passes + ")", "FAIL errors<1% (errors was 2.02 %)", "FAIL tls.p99<1s (the report has no latency"}},
		{"invalid", takt.Invalid, 970, []string{"VOID " + passes + ", but the run is invalid)", "VOID errors<1% (errors was 2.02 %, but the run is invalid)", "VOID tls.p99<1s (the"}},
		{"all failed", takt.Valid, 0, []string{"VOID " + passes + ", but nothing succeeded)", "FAIL errors<1% (errors was 100 %)", "FAIL tls.p99<1s (the"}},
	} {
		r := report()
		r.Verdict, r.Counts.OK, r.Counts.Dropped = test.verdict, test.ok, 0
		for range 2 { // again: the results replace those of the first time
			assert.Judge(r, list)
		}
		if len(r.Assertions) != len(test.want) {
			t.Fatalf("%s: %v", test.name, r.Assertions)
		}
		for i, a := range r.Assertions {
			if !strings.HasPrefix(a.String(), test.want[i]) {
				t.Errorf("%s: %s, want %s", test.name, a, test.want[i])
			}
		}
		if first, last := r.Assertions[0], r.Assertions[2]; *first.Value != 12300 || first.Unit != takt.UnitMicroseconds || last.Value != nil {
			t.Errorf("%s: %+v, %+v", test.name, first, last)
		}
	}
}

// What was not measured passes nothing.
func TestNothingMeasuredFails(t *testing.T) {
	for _, text := range []string{"p99<1s", "errors==0", "rate>=1%", "dropped<1%"} {
		a, err := assert.ParseAssertion(text)
		if err != nil {
			t.Fatal(err)
		}
		if o := a.Check(&takt.Report{}); o.Result == takt.Pass || o.Reason == "" {
			t.Errorf("%s", o)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":              "METRIC<BOUND",
		"p99":           "METRIC<BOUND",
		"<5ms":          "METRIC<BOUND",
		"p99=5ms":       "operator",
		"x<5ms":         `unknown metric "x"`,
		"p98<5ms":       `unknown metric "p98"`,
		"service<5ms":   `unknown metric "service"`,
		"service.<5ms":  "unknown metric",
		".p99<5ms":      "unknown metric",
		"p99<250":       "a time with its unit",
		"p99<-1s":       "a time with its unit",
		"p99<1%":        "a time with its unit",
		"errors<1":      "a percentage",
		"errors<1/s":    "a percentage",
		"errors<NaN%":   "a percentage",
		"rate>=990":     "rate>=990/s",
		"ok>=1e3":       "a count",
		"ok>=":          "a count",
		"ok>=-1":        "a count",
		"dropped<5ms":   "a count",
		"dropped<5%s/s": "a count",
		"lag<5%":        "lag<1000",
		"lag<5ms":       "lag<1000",
	} {
		if _, err := assert.ParseAssertion(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// One grammar: commas and repeats mean the same, and every fault is named.
func TestParseAssertions(t *testing.T) {
	all, faults := assert.ParseAssertions("p99 < 250ms, errors<1%", "ok>=5")
	var texts []string
	for _, a := range all {
		texts = append(texts, a.Text)
	}
	if got := strings.Join(texts, "|"); len(faults) > 0 || got != "p99 < 250ms|errors<1%|ok>=5" {
		t.Errorf("%s %v", got, faults)
	}
	all, faults = assert.ParseAssertions("p99<1s,p98<1s,", "x<1")
	if len(all) != 1 || len(faults) != 3 || !strings.Contains(faults[1].Error(), `"p99<1s,p98<1s," has nothing between its commas`) {
		t.Errorf("%v %v", all, faults)
	}
}

func FuzzParseAssertion(f *testing.F) {
	f.Add("service.p99.9<=250ms")
	f.Add("rate>=99%")
	f.Fuzz(func(t *testing.T, text string) {
		all, _ := assert.ParseAssertions(text)
		for _, a := range all {
			_ = a.Check(report()).String()
		}
	})
}

// Where nobody answers no assertion on a time that ends with an answer can pass, and each
// says why.
func TestOneWay(t *testing.T) {
	r := &takt.Report{Latency: map[string]takt.Latency{"send": {Count: 5, P99: 40}, "schedule_lag": {Count: 5, P99: 10}}}
	for text, passes := range map[string]bool{
		"p99<1s": false, "p99>0s": false, "service.max<1s": false, "response_ok.p50<1s": false, "send.p99<1ms": true, "schedule_lag.p99<1ms": true,
	} {
		a, err := assert.ParseAssertion(text)
		if err != nil {
			t.Fatal(err)
		}
		o := a.Check(r)
		if (o.Result == takt.Pass) != passes || !passes && !strings.Contains(o.Reason, "nobody acknowledged the operations") || a.NeedsAnswer() == passes {
			t.Errorf("%v, needs an answer: %v", o, a.NeedsAnswer())
		}
	}
}

// A report has its lag as a driver writes it, or as a file has it; without a consumer nothing passes.
func TestLag(t *testing.T) {
	a, err := assert.ParseAssertion("lag<1000")
	if err != nil {
		t.Fatal(err)
	}
	late := int64(1000)
	for want, r := range map[string]*takt.Report{
		"PASS lag<1000 (lag was 999)":           {Extra: map[string]any{"lag": int64(999)}},
		"FAIL lag<1000 (lag was 1000)":          {Extra: map[string]any{"lag": 1000.0}},
		"FAIL lag<1000 (nothing was consumed, ": {},
		"FAIL lag<1000 (lag was 1000)\n":        assert.OfInterval(takt.Interval{Lag: &late}, nil, 1),
	} {
		if got := a.Check(r).String(); !strings.HasPrefix(got, strings.TrimSuffix(want, "\n")) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if err := a.InInterval(true, nil); err != nil {
		t.Error(err)
	}
}

// A second in which nobody answered has a schedule lag all the same.
func TestOneWayInterval(t *testing.T) {
	r := assert.OfInterval(takt.Interval{OK: 7, ScheduleLagP99: 30}, nil, 1)
	a, err := assert.ParseAssertion("schedule_lag.p99>20us")
	if err != nil {
		t.Fatal(err)
	}
	if o := a.Check(r); o.Result != takt.Pass {
		t.Error(o)
	}
}

// A condition on a step is about its row, whose name may have spaces, dots and signs.
func TestSteps(t *testing.T) {
	r := report()
	pay, other := steps.New("log in"), steps.New("GET /a.b?x={{y}}")
	pay.OK, pay.Failed, pay.Skipped = 90, 10, 5
	for i := range 100 {
		pay.Response.Record(time.Duration(i+1) * time.Millisecond)
		pay.Service.Record(time.Millisecond)
	}
	r.Extra = map[string]any{steps.Key: steps.Rows([]steps.Figures{pay, other})}
	for text, want := range map[string]string{
		"steps.log in.p50<60ms":              "PASS steps.log in.p50<60ms (steps.login.p50 was 50ms)",
		"steps.login.service.p99.9<0.5ms":    "FAIL steps.login.service.p99.9<0.5ms (steps.login.service.p99.9 was 1ms)",
		"steps.login.errors<=10%":            "PASS steps.login.errors<=10% (steps.login.errors was 10 %)",
		"steps.login.dropped==5":             "PASS steps.login.dropped==5 (steps.login.dropped was 5)",
		"steps.pay.ok>1":                     `FAIL steps.pay.ok>1 (there is no step "pay"; the steps are log in, GET /a.b?x={{y}})`,
		"steps.GET /a.b?x={{y}}.failed == 0": "PASS steps.GET /a.b?x={{y}}.failed == 0 (steps.GET/a.b?x={{y}}.failed was 0)",
	} {
		a, err := assert.ParseAssertion(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := a.Check(r).String(); got != want {
			t.Errorf("%s", got)
		}
	}
	r.Extra[steps.Rounds] = map[string]any{"begun": 100.0, "completed": 90.0, "failed": 5.0, "dropped": 2.0} // 5 did not end
	for text, want := range map[string]string{
		"rounds.errors<1%":  "FAIL rounds.errors<1% (rounds.errors was 5.26 %)",
		"rounds.failed==5":  "PASS rounds.failed==5 (rounds.failed was 5)",
		"rounds.ok >= 90":   "PASS rounds.ok >= 90 (rounds.ok was 90)",
		"rounds.dropped==0": "FAIL rounds.dropped==0 (rounds.dropped was 2)",
	} {
		a, err := assert.ParseAssertion(text)
		if err != nil || a.InSteps(nil) == nil || a.InSteps([]string{"pay"}) != nil || a.InInterval(false, nil) == nil || a.Provable() {
			t.Errorf("%s: %v, %+v", text, err, a)
			continue
		}
		if got := a.Check(r).String(); got != want {
			t.Errorf("%s", got)
		}
		if got := a.Check(report()); got.Result != takt.Fail || !strings.Contains(got.Reason, "no rounds were counted") {
			t.Errorf("%v", got)
		}
	}
	for _, text := range []string{"rounds.lag<1", "rounds.errors<1%@95%", "rounds.rate>1/s", "rounds.<1", "steps.p99<1s", "steps.a.lag<1", "steps.a.p99<1s@95%", "steps..p99<1s"} {
		if a, err := assert.ParseAssertion(text); err == nil {
			t.Errorf("%s is accepted: %+v", text, a)
		}
	}
	if a, _ := assert.ParseAssertion("steps.pya.ok>1"); a.InSteps([]string{"pay"}) == nil || a.InSteps([]string{"p ya"}) != nil || a.InInterval(false, nil) == nil {
		t.Error("it is checked against the steps")
	}
}
