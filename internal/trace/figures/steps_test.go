package figures

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/convert"
	"github.com/taktload/takt/pkg/hist"
)

// result is a row at an instant after start.
func result(after time.Duration, offered float64, status int) trace.Record {
	r := tracetest.At(after, "/")
	r.Status, r.Offered, r.Latency = status, offered, time.Duration(offered)*time.Millisecond
	return r
}

// A step changes within a second, also with rows that stand out of their order at the
// change; each span lasts until the next begins, and the last as long as its rate says.
func TestSteps(t *testing.T) {
	ms := time.Millisecond
	steps, err := Steps(&tracetest.List{Records: []trace.Record{
		result(200*ms, 2, 200), result(700*ms, 2, 503),
		result(1100*ms, 4, 200), result(1200*ms, 2, 200), result(1350*ms, 4, 301), result(1600*ms, 4, 444),
		result(5000*ms, 4, 200),
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range steps {
		h, err := hist.Decode(s.HDR)
		if err != nil || h.Count() != s.OK+s.Failed || math.Abs(h.Max().Seconds()*1e3/s.Offered-1) > 0.001 {
			t.Errorf("%+v: %v of %d (%v)", s, h.Max(), h.Count(), err)
		}
		got = append(got, fmt.Sprintf("%v: %.4g/s for %.4g s, %d ok, %d failed", s.At.Sub(tracetest.Start), s.Offered, s.Seconds, s.OK, s.Failed))
	}
	want := []string{
		"200ms: 2/s for 0.9 s, 1 ok, 1 failed", "1.1s: 4/s for 3.75 s, 2 ok, 1 failed", "1.2s: 2/s for 0.15 s, 1 ok, 0 failed",
		"5s: 4/s for 0.25 s, 1 ok, 0 failed",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A recorded 404 is no failure, an unexpected one is.
func TestFailed(t *testing.T) {
	for _, c := range []struct {
		status, expected int
		failed           bool
	}{
		{200, 200, false}, {404, 404, false}, {404, 0, false}, {404, 200, true}, {200, 404, true}, {200, 304, false}, {200, 206, false}, {304, 200, true},
		{204, 200, true}, {200, 201, true}, {200, 499, false}, {404, 408, false},
		{302, 200, true}, {503, 503, true}, {444, 444, true}, {-1, 0, true}, {0, 0, true},
		{429, 0, true}, {429, 429, true}, {408, 0, true}, {499, 0, true},
	} {
		if got := failed(&trace.Record{Status: c.status, Expected: c.expected}); got != c.failed {
			t.Errorf("%d where %d was expected: failed is %v", c.status, c.expected, got)
		}
	}
}

// Without rates what was sent is what was offered; a ramp without steps has the mean
// rate of each second; nothing is lost, and the spans fill the time.
func TestStepsOfOtherLogs(t *testing.T) {
	var unknown, ramp []trace.Record
	for i := range 40 {
		unknown = append(unknown, result(time.Duration(i)*50*time.Millisecond, 0, 200))
		unknown[i].Latency = trace.Unknown
		ramp = append(ramp, result(time.Duration(i)*50*time.Millisecond, 1+float64(i), 200))
	}
	steps, err := Steps(&tracetest.List{Records: unknown})
	if err != nil || len(steps) != 2 || math.Abs(steps[0].Offered-20) > 1e-9 || math.Abs(steps[1].Offered-20) > 1e-9 || math.Abs(steps[1].Seconds-1) > 1e-9 {
		t.Errorf("%+v %v", steps, err)
	}
	steps, err = Steps(&tracetest.List{Records: ramp})
	if err != nil || len(steps) != 2 || steps[0].Offered != 10.5 || steps[1].Offered != 30.5 || steps[0].OK+steps[1].OK != 40 || math.Abs(steps[0].Seconds-1) > 1e-9 {
		t.Errorf("%+v %v", steps, err)
	}
	once := []trace.Record{result(0, 10, 200), result(0, 10, 200), result(0, 20, 200)}
	if steps, err = Steps(&tracetest.List{Records: once}); err != nil || len(steps) != 2 || steps[0].Seconds != 0.2 || steps[1].Seconds != 0.05 {
		t.Errorf("%+v %v", steps, err)
	}
	if steps, err = Steps(&tracetest.List{Records: unknown[:1]}); err != nil || len(steps) != 0 {
		t.Errorf("%+v %v", steps, err)
	}
	if _, err = Steps(untimed(t)); err != errNoSeconds {
		t.Error(err)
	}
}

// What Seconds writes is read as it was.
func TestReadSeconds(t *testing.T) {
	var b bytes.Buffer
	records := []trace.Record{result(0, 2, 200), result(time.Second, 3, 500)}
	records[0].Transfer = time.Millisecond
	records[0].Bytes, records[1].Bytes = 7, 9
	if _, err := Seconds(&b, &tracetest.List{Records: records}); err != nil || !IsSeconds(b.Bytes()) {
		t.Fatal(err, b.String())
	}
	rows, err := ReadSeconds(&b, time.UTC)
	want := []SecondRow{
		{At: tracetest.Start, Mean: 0.002, Bytes: 7, Requests: 1, Offered: 2, P50: 0.002001, P99: 0.002001},
		{At: tracetest.Start.Add(time.Second), Mean: 0.003, Bytes: 9, Requests: 1, Errors: 1, Offered: 3, P50: 0.003, P99: 0.003},
	}
	if err != nil || !reflect.DeepEqual(rows, want) {
		t.Errorf("%+v %v", rows, err)
	}
	row := "2024-01-01 00:00:00 0.1 0 0 5 1 0 9 0.1 0.1\n"
	for text, cause := range map[string]string{
		"2024-01-01 00:00:00 0.1 0 0 5 1 0\n":                    "it was made by perf2seconds, which",
		row + "2024-01-01 00:00:00 0.1 0 0 5 1 0 9 0.1\n":        "line 2: 10 columns instead of the 11",
		"yesterday noon -1 x 0 5 0 0 9 0.1 NaN\n":                `line 1: parsing time "yesterday noon"`,
		"2024-01-01 00:00:00 -1 x 0 5 0 1 9 0.1 NaN\n":           "\"-1\" is out of range\nstrconv.ParseFloat: parsing \"x\": invalid syntax\n\"NaN\" is out of range\n1 errors of 0 requests",
		strings.Repeat(row, maxSeconds+1):                        "it has more than 1000 rows",
		secondsHead + strings.Repeat("x", 100_000):               "token too long",
		"#date time latency xfertime sleeptime bytes requests\n": "",
	} {
		_, err := ReadSeconds(strings.NewReader(text), nil)
		if (err == nil) != (cause == "") || err != nil && !strings.Contains(err.Error(), cause) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
	if IsSeconds([]byte(convert.LoadHead)) {
		t.Error("a load file is no file of seconds")
	}
}

func FuzzSeconds(f *testing.F) {
	f.Add([]byte(secondsHead + "2024-01-01 00:00:00 0.1 0 0 5 1 0 9 0.1 0.1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := ReadSeconds(bytes.NewReader(data), time.UTC)
		for _, r := range rows {
			if err == nil && (r.Requests == 0 || r.Errors > r.Requests || !(r.Mean >= 0 && r.P50 >= 0 && r.P99 >= 0 && r.Offered >= 0)) {
				t.Fatalf("%+v", r)
			}
		}
	})
}
