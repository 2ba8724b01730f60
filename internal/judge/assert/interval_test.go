package assert_test

import (
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// second is one of 50 operations due: 40 answered after 1 ms to 40 ms, of which 10
// failed, each having waited for 1 ms less than it took.
func second() takt.Interval {
	response, service := hist.New(), hist.New()
	for i := range 40 {
		response.Record(time.Duration(i+1) * time.Millisecond)
		service.Record(time.Duration(i) * time.Millisecond)
	}
	return takt.Interval{
		T: 7, Scheduled: 50, OK: 30, Failed: 10, Dropped: 5, InFlightMax: 6,
		ScheduleLagP99: 1500, HDR: response.Encode(), ServiceHDR: service.Encode(),
	}
}

func TestOfInterval(t *testing.T) {
	const drop = "; 5 dropped operations are not included)"
	for text, want := range map[string]string{
		"errors>20%":            "PASS errors>20% (errors was 25 %)",
		"errors>25%":            "FAIL errors>25% (errors was 25 %)",
		"ok==30":                "PASS ok==30 (ok was 30)",
		"ok<70%":                "PASS ok<70% (ok was 60 %)",
		"failed>9":              "PASS failed>9 (failed was 10)",
		"dropped>0":             "PASS dropped>0 (dropped was 5)",
		"dropped>10%":           "FAIL dropped>10% (dropped was 10 %)",
		"rate<50/s":             "PASS rate<50/s (rate was 40/s)",
		"rate<80%":              "FAIL rate<80% (rate was 80 %)",
		"max>40ms":              "PASS max>40ms (max was 40.01ms" + drop, // the bucket's upper end
		"min<1ms":               "PASS min<1ms (min was 999.9µs" + drop,  // its lower end
		"p50>20ms":              "PASS p50>20ms (p50 was 20.005ms" + drop,
		"service.p50<20ms":      "PASS service.p50<20ms (service.p50 was 19ms" + drop,
		"schedule_lag.p99>1ms":  "PASS schedule_lag.p99>1ms (schedule_lag.p99 was 1.5ms" + drop,
		"schedule_lag.p99>10ms": "FAIL schedule_lag.p99>10ms (schedule_lag.p99 was 1.5ms" + drop,
	} {
		a, err := assert.ParseAssertion(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if err := a.InInterval(false, nil); err != nil {
			t.Error(err)
		}
		if got := a.Check(assert.OfInterval(second(), nil, 1)).String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A rate is per second also of an interval that was longer.
func TestOfIntervalRate(t *testing.T) {
	r := assert.OfInterval(second(), nil, 2)
	if r.Rate.Achieved != 20 || *r.Rate.Intended != 25 || r.DurationS != 2 {
		t.Errorf("achieved %v, intended %v, in %v s, want 20, 25, 2", r.Rate.Achieved, *r.Rate.Intended, r.DurationS)
	}
}

// In a second in which nothing ended no share and no latency is judged, in either
// direction; the counts are.
func TestOfIntervalWithoutAnEnd(t *testing.T) {
	silent := takt.Interval{T: 1, Scheduled: 100, InFlightMax: 100}
	for text, want := range map[string]bool{
		"errors>0%": false, "errors<1%": false, "p99>0": false, "p99<1h": false,
		"service.max<1h": false, "schedule_lag.p99<1h": false,
		"ok==0": true, "ok<1": true, "failed==0": true, "rate<1%": true, "rate<1/s": true, "ok<1%": true,
	} {
		a, err := assert.ParseAssertion(text)
		if err != nil {
			t.Fatal(err)
		}
		if o := a.Check(assert.OfInterval(silent, nil, 1)); (o.Result == takt.Pass) != want || o.Reason == "" {
			t.Errorf("%s: %s", text, o)
		}
	}
}

// What a single second does not know is refused before the run.
func TestInInterval(t *testing.T) {
	for _, c := range []struct {
		text   string
		closed bool
		want   string // of the fault; "": none
	}{
		{"errors>50%", true, ""},
		{"p99.99>2s", true, ""},
		{"service.mean>2s", false, ""},
		{"rate<50%", false, ""},
		{"rate<50%", true, "a closed loop has no intended rate"},
		{"rate<50/s", true, ""},
		{"unfinished>0", false, "known at the end only"},
		{"schedule_lag.max>1ms", false, "use schedule_lag.p99"},
		{"response_ok.p99>1s", false, "no response_ok time"},
		{"send_delay.p99>1s", false, "no send_delay time"},
		{"connect.max>1s", false, "no connect time"},
	} {
		a, err := assert.ParseAssertion(c.text)
		if err != nil {
			t.Fatal(err)
		}
		err = a.InInterval(c.closed, nil)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, closed %v: %v, want %q", c.text, c.closed, err, c.want)
		}
	}
}

func BenchmarkOfInterval(b *testing.B) {
	iv := second()
	b.ReportAllocs()
	for b.Loop() {
		_ = assert.OfInterval(iv, nil, 1)
	}
}
