package figures

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/convert"
	"github.com/taktload/takt/internal/trace/reader"
)

func TestSurvey(t *testing.T) {
	var records []trace.Record
	for second, n := range map[int]int{0: 3, 1: 5, 9: 5, 3: 1} {
		for i := range n {
			r := tracetest.At(time.Duration(second)*time.Second+time.Duration(i)*time.Millisecond, "/")
			r.Latency, r.Bytes, r.Status = time.Duration(i+1)*time.Millisecond, int64(i*100), 200+i
			records = append(records, r)
		}
	}
	slices.SortFunc(records, func(a, b trace.Record) int { return a.At.Compare(b.At) })
	records[0].Method, records[1].Bytes, records[2].Latency = []byte("POST"), trace.Unknown, trace.Unknown
	s, err := Survey(&tracetest.List{Records: records}, nil)
	if err != nil || s.Requests != 14 || !s.First.Equal(tracetest.Start) || !s.Last.Equal(tracetest.Start.Add(9004*time.Millisecond)) {
		t.Errorf("%+v %v", s, err)
	}
	if want := (Distribution{Count: 10, Sum: 14, P50: 0, P90: 5, P99: 5, Max: 5}); s.PerSecond != want || !s.PeakAt.Equal(tracetest.Start.Add(time.Second)) || s.MeanPerS != 13/9.004 {
		t.Errorf("%+v at %v", s.PerSecond, s.PeakAt)
	}
	if s.Bytes.Count != 13 || s.Bytes.Sum != 2200 || s.Bytes.Max != 400 || s.Latency.Count != 13 {
		t.Errorf("%+v %+v", s.Bytes, s.Latency)
	}
	var b bytes.Buffer
	if err := s.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	const want = `requests    14
time        2024-03-04 05:06:07.000 +0000 to 2024-03-04 05:06:16.004 +0000, 9.004s
rate        mean 1.4438/s, by the second p50 0, p90 5, p99 5, max 5 at 2024-03-04 05:06:08
burstiness  CV of the gaps 2.46; dispersion of the counts 4.31 in 100ms (Poisson: 1)
methods     GET 13 (92.9 %), POST 1 (7.14 %)
status      200 4 (28.6 %), 201 3 (21.4 %), 202 3 (21.4 %), 203 2 (14.3 %), 204 2 (14.3 %)
bytes       total 2200, p50 200, p90 400, p99 400, max 400
latency     mean 2.62ms, p50 2ms, p90 5ms, p95 5ms, p99 5ms, max 5ms
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}

	s, err = Survey(untimed(t), nil)
	b.Reset()
	if err := errors.Join(err, s.WriteText(&b)); err != nil || b.String() != "requests    6\nmethods     GET 4 (66.7 %), DELETE 1 (16.7 %), POST 1 (16.7 %)\nstatus      none 6 (100 %)\n" {
		t.Errorf("%s %v", &b, err)
	}
}

// The second's requests, errors and means are right where the predecessor's were
// not: first rows, lone rows, midnight.
func TestSeconds(t *testing.T) {
	row := func(at time.Time, latency, transfer time.Duration, status int, offered float64) trace.Record {
		return trace.Record{At: at, Latency: latency, Transfer: transfer, Bytes: 100, Status: status, Offered: offered}
	}
	midnight := time.Date(2024, 1, 1, 23, 59, 59, 0, time.UTC)
	records := []trace.Record{
		row(midnight, 100*time.Millisecond, 20*time.Millisecond, 200, 3),
		row(midnight.Add(500*time.Millisecond), 300*time.Millisecond, 40*time.Millisecond, 404, 3),
		row(midnight.Add(999*time.Millisecond), 500*time.Millisecond, 60*time.Millisecond, 206, 6),
		row(midnight.Add(time.Second), time.Second, trace.Unknown, 302, 0),
		row(midnight.Add(3*time.Second), trace.Unknown, trace.Unknown, 444, 2.5),
	}
	records[4].Bytes = trace.Unknown
	var b bytes.Buffer
	c, err := Seconds(&b, &tracetest.List{Records: records})
	const want = secondsHead + `2024-01-01 23:59:59 0.260000 0.040000 0 100 3 1 4 0.300155 0.500171
2024-01-02 00:00:00 1.000000 0.000000 0 100 1 0 0 1.000342 1.000342
2024-01-02 00:00:02 - - 0 0 1 1 2.5 - -
`
	if err != nil || b.String() != want || c != (SecondsCounts{Rows: 3, Requests: 5, Errors: 2, NotFound: 1}) {
		t.Errorf("got\n%swant\n%s%+v %v", &b, want, c, err)
	}
	if _, err := Seconds(io.Discard, untimed(t)); err == nil || err.Error() != "the log has no times, so it has no seconds" {
		t.Error(err)
	}
	if _, err := Seconds(tracetest.Full{}, &tracetest.List{Records: records}); err == nil || err.Error() != "disk full" {
		t.Error(err)
	}
}

// 10 rows a second are 10 a second, not 9 with means that are 10/9 too high.
func TestSecondsCountAll(t *testing.T) {
	var text strings.Builder
	text.WriteString(convert.LoadHead)
	for i := range 100 {
		r := tracetest.At(time.Duration(i)*100*time.Millisecond, "/a")
		r.Latency, r.Transfer, r.Bytes, r.Status, r.Offered = 50*time.Millisecond, 0, 4054, 200, 10
		text.Write(convert.AppendLoadRow(nil, &r))
	}
	r, err := reader.New("raw.csv", strings.NewReader(text.String()), reader.Options{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	c, err := Seconds(&b, trace.Timed(r, trace.Timing{}))
	if err != nil || c.Rows != 10 || strings.Count(b.String(), " 0.050000 0.000000 0 4054 10 0 10 0.050") != 10 {
		t.Errorf("%+v %v\n%s", c, err, &b)
	}
}

// untimed is a log without times.
func untimed(t *testing.T) *reader.Reader {
	t.Helper()
	text, err := os.ReadFile("../testdata/paths.txt")
	if err != nil {
		t.Fatal(err)
	}
	r, err := reader.New("paths.txt", bytes.NewReader(text), reader.Options{Format: "paths"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A log of milliseconds has latencies of 0, which are not 1 ns.
func TestLatencyOfZero(t *testing.T) {
	var records []trace.Record
	for _, latency := range []time.Duration{0, 0, time.Millisecond} {
		r := tracetest.At(0, "/")
		r.Latency = latency
		records = append(records, r)
	}
	s, err := Survey(&tracetest.List{Records: records}, nil)
	var b bytes.Buffer
	if err := errors.Join(err, s.WriteText(&b)); err != nil || s.Latency.P50 != 0 || s.Latency.Max < 1000 || !strings.Contains(b.String(), "p50 0µs") {
		t.Errorf("%+v %v\n%s", s.Latency, err, &b)
	}
}

// What Seconds writes can be read again, also without a latency: it is unknown then.
func TestSecondsWithoutLatency(t *testing.T) {
	r := tracetest.At(0, "/")
	r.Latency, r.Transfer = trace.Unknown, trace.Unknown
	var b bytes.Buffer
	if _, err := Seconds(&b, &tracetest.List{Records: []trace.Record{r}}); err != nil {
		t.Fatal(err)
	}
	rows, err := ReadSeconds(&b, time.UTC)
	if err != nil || len(rows) != 1 || rows[0].Mean != 0 || rows[0].P99 != 0 || rows[0].Requests != 1 {
		t.Errorf("%+v %v", rows, err)
	}
}

// burst is the Burstiness of records at these instants after tracetest.Start, whose stamps are cut to a resolution.
func burst(t *testing.T, resolution time.Duration, at ...time.Duration) Burstiness {
	t.Helper()
	var records []trace.Record
	for _, d := range at {
		r := tracetest.At(d, "/")
		r.At = r.At.Truncate(resolution)
		r.Second = resolution == time.Second
		records = append(records, r)
	}
	stamps := &Stamps{Src: &tracetest.List{Records: records}}
	s, err := Survey(trace.Timed(stamps, trace.Timing{}), stamps)
	if err != nil {
		t.Fatal(err)
	}
	return s.Bursts
}

func TestBurstiness(t *testing.T) {
	const ms, sec = time.Millisecond, time.Second
	const fraction = 123457 // so the stamps are not multiples of the gap
	even := func(n int, gap time.Duration) (at []time.Duration) {
		for i := range n {
			at = append(at, fraction+time.Duration(i)*gap)
		}
		return at
	}
	pairs := func(n int, gap time.Duration) (at []time.Duration) { // gaps 0 and 2·gap in turn: CV 1
		for i := range n {
			at = append(at, fraction+time.Duration(i/2)*2*gap)
		}
		return at
	}
	r := rand.New(rand.NewPCG(1, 1))
	var poisson []time.Duration
	for x := 0.0; len(poisson) < 20_000; x += r.ExpFloat64() {
		poisson = append(poisson, time.Duration(x*1e8)) // 10/s
	}
	for _, c := range []struct {
		name       string
		resolution time.Duration
		at         []time.Duration
		cv         float64
		unknown    string
		dispersion map[float64]float64 // by window
		near       float64
	}{
		{"even", 1, even(1301, 100*ms), 0, "", map[float64]float64{0.1: 0, 1: 0, 10: 0}, 1e-6},
		{"pairs in one second each", 1, pairs(2602, 500*ms), 1, "", map[float64]float64{0.1: 1.8, 1: 0, 10: 0, 60: 0}, 0.01}, // 2 in one window of ten
		{"Poisson", 1, poisson, 1, "", map[float64]float64{0.1: 1, 1: 1, 10: 1, 60: 1}, 0.3},
		{"Poisson, in seconds", sec, poisson, 0, "the stamps are multiples of 1s, and the mean gap is 100ms", map[float64]float64{1: 1, 10: 1, 60: 1}, 0.3},
		{"rare, in seconds", sec, even(50, 5*sec), 0, "", map[float64]float64{1: 0.8, 10: 0}, 0.03}, // the places in the seconds are all 0
		{"too few", 1, even(10, 100*ms), 0, "", nil, 0},
		{"just enough", 1, even(11, 100*ms), 0, "", nil, 0},
		{"even, to the stamp", 100 * ms, even(100, 100*ms), 0, "the stamps are multiples of 100ms, and the mean gap is 100ms", map[float64]float64{0.1: 0}, 1e-6},
		{"one stamp", 1, pairs(100, 0), 0, "all requests have one stamp", nil, 0},
		{"nothing", ms, nil, 0, "", nil, 0},
	} {
		b := burst(t, c.resolution, c.at...)
		if math.Abs(b.GapCV-c.cv) > max(1e-6, c.near/10) || b.GapUnknown != c.unknown || len(b.Dispersion) != len(c.dispersion) {
			t.Errorf("%s: %+v", c.name, b)
			continue
		}
		for _, d := range b.Dispersion {
			if want, ok := c.dispersion[d.WindowS]; !ok || math.Abs(d.Index-want) > c.near {
				t.Errorf("%s: %+v, want %v", c.name, d, want)
			}
		}
	}
	b := burst(t, ms, poisson...)
	if text := b.text(); !strings.HasPrefix(text, "CV of the gaps ") || !strings.HasSuffix(text, " in 1m (Poisson: 1)") {
		t.Error(text)
	}
}

// A silence of years costs no time, and its windows count as empty.
func TestBurstinessOfASilence(t *testing.T) {
	var at []time.Duration
	for i := range 150 {
		at = append(at, 1+time.Duration(i)*time.Second)
	}
	b := burst(t, 1, append(at, 100*365*24*time.Hour)...)
	for _, d := range b.Dispersion {
		if whole := 100 * 365 * 24 * 3600 / d.WindowS; d.Windows != uint64(whole)-1 || d.Index < 0.9 {
			t.Errorf("%+v, want %v windows", d, whole-1)
		}
	}
	if len(b.Dispersion) != len(windows) || b.GapCV < 4 {
		t.Errorf("%+v", b)
	}
}

func TestResolution(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		at    []time.Duration // negative: a stamp in whole seconds
		want  time.Duration
		blurs time.Duration // the largest gap that it blurs
	}{
		{nil, 0, -1},
		{[]time.Duration{-1, -1}, time.Second, 4*time.Second - 1},
		{[]time.Duration{0, 1000 * ms}, time.Second, 4*time.Second - 1},
		{[]time.Duration{0, 100 * ms, 1700 * ms}, 100 * ms, 400*ms - 1},
		{[]time.Duration{10 * ms, 123 * ms}, ms, 4*ms - 1},
		{[]time.Duration{123 * ms, 45 * time.Microsecond}, time.Microsecond, 4*time.Microsecond - 1},
		{[]time.Duration{1}, 1, 3},
		{slices.Concat(slices.Repeat([]time.Duration{123 * ms}, 19), []time.Duration{-1}), ms, 4*ms - 1}, // a fraction of zeros was left out
		{slices.Concat(slices.Repeat([]time.Duration{123 * ms}, 18), []time.Duration{-1}), time.Second, 4*time.Second - 1},
	} {
		var records []trace.Record
		for _, at := range c.at {
			r := tracetest.At(max(0, at), "/")
			r.Second = at < 0
			records = append(records, r)
		}
		s := &Stamps{Src: &tracetest.List{Records: records}}
		for rec := (trace.Record{}); s.Next(&rec) == nil; {
		}
		if got := s.Resolution(); got != c.want || !Blurs(got, c.blurs) || Blurs(got, c.blurs+1) {
			t.Errorf("%v: %v, want %v", c.at, got, c.want)
		}
	}
}
