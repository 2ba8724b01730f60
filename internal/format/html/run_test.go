package html_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/format/html"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// payload is a text that would set a global, wherever it became code.
const payload = `"'></script></pre><img src=x onerror="window.struck=1"><script>window.struck=1</script><svg onload="window.struck=1">`

// run is a report of n seconds at perS operations a second, with a stall of one second in every ten.
func run(n, perS int) *takt.Report {
	random := rand.New(rand.NewPCG(1, 2))
	response, service, lag := hist.New(), hist.New(), hist.New()
	intended := float64(perS)
	r := &takt.Report{
		SchemaVersion: 1, ID: "01JD0000000000000000000000", Kind: "http", IntervalS: 1, DurationS: float64(n),
		Tool:      takt.Tool{Name: "takt", Version: "1.0", Go: "go1.26"},
		Command:   []string{"takt", "http", "http://127.0.0.1:8080/"},
		Variables: map[string]any{"method": "GET", "host": "127.0.0.1:8080", "path": "/", "seed": 1.0},
		StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Counts:    takt.Counts{Scheduled: uint64(n * perS), Sent: uint64(n * perS), OK: uint64(n * perS)},
		Rate:      takt.Rate{Intended: &intended, Achieved: intended}, Latency: map[string]takt.Latency{},
		Status: map[string]uint64{"200": uint64(n * perS)}, Verdict: takt.Valid,
		Generator: takt.Generator{Engine: "loop", Loops: 1, GOMAXPROCS: 2, Cores: 2, HostClass: "linux/amd64"},
	}
	for i := range n {
		h, s := hist.New(), hist.New()
		for k := range perS {
			took := time.Duration(float64(2*time.Millisecond) * math.Exp(random.NormFloat64()/2))
			waited := time.Duration(0)
			if i%10 == 9 {
				waited = time.Second * time.Duration(perS-k) / time.Duration(perS)
			}
			h.Record(took + waited)
			s.Record(took)
			lag.Record(time.Duration(random.IntN(50_000)))
		}
		iv := takt.Interval{T: float64(i + 1), Scheduled: uint64(perS), OK: uint64(perS), InFlightMax: 3, HDR: h.Encode(), ServiceHDR: s.Encode(), ScheduleLagP99: 45}
		l := h.Figures()
		iv.ResponseP50, iv.ResponseP99, iv.ResponseMax = l.P50, l.P99, l.Max
		r.Intervals = append(r.Intervals, iv)
		response.Merge(h)
		service.Merge(s)
	}
	for name, h := range map[string]*hist.Histogram{takt.LatencyResponse: response, takt.LatencyService: service, takt.LatencyScheduleLag: lag} {
		r.Latency[name] = h.Summary()
	}
	return r
}

func write(t *testing.T, r *takt.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := html.Report(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// reread is the report inside a page.
func reread(t *testing.T, page string) *takt.Report {
	t.Helper()
	in, err := document.OfPage(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := document.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPageReadsBackAsTheReport(t *testing.T) {
	r := run(12, 100)
	want, _ := document.Encode(r)
	got, _ := document.Encode(reread(t, write(t, r)))
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A page of ten minutes has at most 500 KB.
func TestTenMinutesAreSmall(t *testing.T) {
	page := write(t, run(600, 1000))
	if len(page) > 500_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	inner := reread(t, page)
	var sum takt.Counts
	for _, iv := range inner.Intervals {
		sum.OK += iv.OK
	}
	if inner.IntervalS < 2 || len(inner.Intervals) < 30 || sum.OK != 600_000 || !strings.Contains(page, fmt.Sprintf("The intervals of the report inside last %vs", inner.IntervalS)) {
		t.Errorf("%d intervals of %v s with %d operations", len(inner.Intervals), inner.IntervalS, sum.OK)
	}
	// A target whose latencies are alike, as most are, keeps every interval.
	narrow := run(600, 200)
	if n := len(reread(t, write(t, narrow)).Intervals); n != 600 {
		t.Errorf("at 200/s the report has %d intervals", n)
	}
}

// Text from a target or a command line changes nothing in the page, wherever it appears.
func TestForeignTextIsEscaped(t *testing.T) {
	const evil = `"'></script></style></title></pre><script>alert(1)</script><img src=x onerror=alert(1)><!--`
	clean := write(t, run(12, 100))
	r := run(12, 100)
	r.ID, r.ComparabilityKey, r.Generator.HostClass, r.Generator.Engine, r.Schedule.Shard = evil, evil, evil, evil, evil
	r.Tool = takt.Tool{Name: evil, Version: evil, Go: evil}
	r.Command = append(r.Command, evil)
	r.Labels = map[string]string{evil: evil}
	r.Variables = map[string]any{"method": evil, "host": evil, "path": evil, evil: evil}
	r.Status[evil] = 1
	r.Errors = []takt.ErrorClass{{Class: evil, Count: 1, Sample: evil, Body: evil}}
	r.Warnings = []takt.Warning{{Code: evil, Message: evil}}
	r.Assertions = []takt.Assertion{{Expression: evil, Result: takt.Fail, Reason: evil}}
	r.Latency[evil] = r.Latency[takt.LatencyService]
	r.Extra = map[string]any{evil: evil}
	page := write(t, r)
	for _, mark := range []string{"<script", "</script", "<style", "</style", "<title>", "</title", "<!--", "onerror=alert(1)>"} {
		if got, want := strings.Count(page, mark), strings.Count(clean, mark); got != want && mark != "<title>" {
			t.Errorf("%q occurs %d times, and %d times in a page without such text", mark, got, want)
		}
	}
	if strings.Contains(page, "<img src=x") {
		t.Error("an element of the text is an element of the page")
	}
	if !reflect.DeepEqual(reread(t, page).Labels, r.Labels) {
		t.Error("the labels are not read back")
	}
}

// Pages of runs with few figures.
func TestPagesOfPoorRuns(t *testing.T) {
	empty := run(1, 1)
	empty.Intervals, empty.Latency, empty.Counts, empty.Status = nil, nil, takt.Counts{}, nil
	failed := run(3, 10)
	failed.Counts = takt.Counts{Scheduled: 30, Sent: 30, Failed: 30}
	failed.Errors = []takt.ErrorClass{{Class: "refused", Count: 30, Sample: "connection refused"}}
	for i := range failed.Intervals {
		failed.Intervals[i].OK, failed.Intervals[i].Failed = 0, 10
	}
	without := run(3, 10)
	without.Intervals = nil
	received := run(3, 10)
	received.Latency = map[string]takt.Latency{"transfer": received.Latency[takt.LatencyResponse]}
	received.Rate.Intended = nil
	for i := range received.Intervals {
		received.Intervals[i].ServiceHDR = ""
	}
	silent := run(2, 5)
	for i := range silent.Intervals {
		silent.Intervals[i].HDR, silent.Intervals[i].ServiceHDR = "", ""
	}
	closed := run(3, 10)
	closed.Rate.Intended = nil
	instant := run(3, 10)
	for i := range instant.Intervals {
		instant.Intervals[i].T = 0
	}
	invalid := run(3, 10)
	invalid.Verdict, invalid.Warnings = takt.Invalid, []takt.Warning{{Code: "generator_bottleneck", Message: "takt was late"}}
	for name, c := range map[string]struct {
		report    *takt.Report
		has, lack []string
	}{
		"nothing":       {empty, []string{"nothing succeeded"}, []string{`id="time"`, `id="percentiles"`, `id="account"`}},
		"one operation": {run(1, 1), []string{`id="time"`, `id="percentiles"`}, []string{"id=\"stall"}},
		"no success":    {failed, []string{"failed</strong>", "connection refused", "100.00 %"}, nil},
		"no intervals":  {without, []string{`id="percentiles"`}, []string{`id="time"`, `class="heat"`}},
		"received only": {received, []string{"transfer time", "received"}, []string{"service p50"}},
		"no histograms": {silent, []string{`id="time"`}, nil},
		"closed loop":   {closed, []string{"Response time and service time", "closed loop"}, []string{"What users felt"}},
		"no time":       {instant, []string{`id="time"`}, nil},
		"invalid":       {invalid, []string{"invalid</strong>", "takt was late"}, nil},
	} {
		page := write(t, c.report)
		for _, text := range c.has {
			if !strings.Contains(page, text) {
				t.Errorf("%s: the page has no %s", name, text)
			}
		}
		for _, text := range append(c.lack, "NaN", "Inf") {
			if body, _, _ := strings.Cut(page, document.PageOpen); strings.Contains(body, text) {
				t.Errorf("%s: the page has %s", name, text)
			}
		}
	}
}

// The picture names each stall with its length and what it held up, and a slow operation is not a stall.
func TestStalls(t *testing.T) {
	page := write(t, run(30, 200))
	if !strings.Contains(page, "The target stalled 3 times, for up to 1s; ") || strings.Count(page, "1s stall") != 9 {
		t.Error("the page does not name three stalls of a second in each of three pictures")
	}
	r := run(5, 200)
	h := hist.New()
	h.RecordN(time.Millisecond, 199)
	h.Record(time.Second)
	r.Intervals[2].HDR, r.Intervals[2].ResponseMax = h.Encode(), 1e6
	if page := write(t, r); strings.Contains(page, "stalled") {
		t.Error("a single slow operation is a stall")
	}
}

// A damaged histogram is an error that names its interval.
func TestDamagedHistogram(t *testing.T) {
	r := run(3, 10)
	r.Intervals[1].HDR = "AAAA"
	if err := html.Report(io.Discard, r); err == nil || !strings.Contains(err.Error(), "ends at 2 s") {
		t.Errorf("the error is %v", err)
	}
}

// The page of a run in progress counts the warm-up to its length, and says why nothing is counted yet.
func TestLiveWarmup(t *testing.T) {
	for _, c := range []struct {
		ran  time.Duration
		want string
	}{{3 * time.Second, "this is its warm-up of 5s, which is not counted"}, {8 * time.Second, "this is what it had counted after 8s"}} {
		r := run(3, 10)
		r.WarmupS, r.Variables["duration_s"] = 5, 20.0
		var b strings.Builder
		if err := new(html.Frame).Live(&b, r, c.ran, false); err != nil {
			t.Fatal(err)
		}
		if page := b.String(); !strings.Contains(page, c.want) || !strings.Contains(page, fmt.Sprintf("%v so far of 25s", c.ran)) {
			t.Errorf("after %v:\n%s", c.ran, page[strings.Index(page, "<header"):][:2000])
		}
	}
}

// The length of a run in progress is rounded, and not above that of the whole.
func TestLiveLength(t *testing.T) {
	for ran, want := range map[time.Duration]string{8058292691: "8s so far of 8s", 3051234567: "3.1s so far of 8s"} {
		r := run(3, 10)
		r.WarmupS, r.Variables["duration_s"] = 0, 8.0
		var b strings.Builder
		if err := new(html.Frame).Live(&b, r, ran, false); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("after %v there is no %q", ran, want)
		}
	}
}

// The page loads nothing: the policy forbids it, and no address is in it.
func TestNothingIsLoaded(t *testing.T) {
	page := write(t, run(3, 10))
	if !strings.Contains(page, "default-src &#39;none&#39;; img-src data:;") {
		t.Error("there is no policy")
	}
	for _, text := range []string{`src="http`, `href="http`, "@import", "url("} {
		if strings.Contains(page, text) {
			t.Errorf("the page has %s", text)
		}
	}
}

// replayed is a run with the comparison of takt replay.
func replayed() *takt.Report {
	r := run(5, 100)
	r.Kind = "replay"
	class := func(name string, us float64) map[string]any {
		return map[string]any{
			"class": name, "count": 250.0, "with_latency": 240.0, "recorded_p50_us": us, "recorded_p95_us": 2 * us, "recorded_p99_us": 3 * us,
			"response_p50_us": 1.2 * us, "response_p95_us": 2.1 * us, "response_p99_us": 9 * us,
		}
	}
	status := func(recorded, replayed float64, verdict string) map[string]any {
		return map[string]any{"recorded": recorded, "replayed": replayed, "count": 100.0, "verdict": verdict}
	}
	r.Extra = map[string]any{"comparison": map[string]any{
		"classes":  []any{class("GET 2xx", 1500), class(payload, 900)},
		"statuses": []any{status(200, 200, "same"), status(200, 500, "failed"), status(404, 404, "same"), status(0, 200, payload)},
	}}
	return r
}

func TestContrastAndOwnSection(t *testing.T) {
	r := run(5, 100)
	r.Extra = map[string]any{"contrast": map[string]any{"tool": "hey" + payload, "p50_us": 1234.0, "p99_us": 5678.0}}
	page := write(t, r)
	for _, text := range []string{`id="contrast"`, "<td>1.23ms", "<td>5.68ms", "&#34;p50_us&#34;: 1234"} {
		if !strings.Contains(page, text) {
			t.Errorf("the page has no %s", text)
		}
	}
	if strings.Contains(page, "<img src=x") {
		t.Error("an element of the text is an element of the page")
	}
}

// Where the report is not what makes a page large, it keeps its intervals.
func TestLargeTextsCostNoIntervals(t *testing.T) {
	r := run(130, 10)
	r.Warnings = []takt.Warning{{Code: "steal", Message: strings.Repeat("x ", 300_000)}}
	if n := len(reread(t, write(t, r)).Intervals); n != 130 {
		t.Errorf("the report has %d intervals", n)
	}
}

func TestReplay(t *testing.T) {
	page := write(t, replayed())
	for _, text := range []string{`id="replayed"`, "GET 2xx recorded p99 4.5ms", "GET 2xx replayed p99 13.5ms", "200 answers were neither", "<th scope=\"col\" class=\"n\">replayed 500"} {
		if !strings.Contains(page, text) {
			t.Errorf("the page has no %s", text)
		}
	}
}

// The most frequent classes of failures have a strip and a column over time each, and foreign
// names are text.
func TestFailuresOverTime(t *testing.T) {
	r := run(5, 20)
	for i := range r.Intervals {
		r.Intervals[i].Failed = 40
		r.Intervals[i].Errors = map[string]uint64{"5xx": 7, "timeout": 20, "a": 1, "b": 2, payload: 3}
	}
	got := write(t, r)
	at := 0
	for _, want := range []string{"Failed a second: timeout", "Failed a second: 5xx"} {
		i := strings.Index(got, want)
		if i < at {
			t.Errorf("%q is at %d, not after %d", want, i, at)
		}
		at = i
	}
	if strings.Contains(got, "Failed a second: a<") || strings.Contains(got, payload) {
		t.Error("a fifth class, or a name that is code")
	}
	if again := reread(t, got); !reflect.DeepEqual(again.Intervals, r.Intervals) {
		t.Errorf("%+v", again.Intervals[0])
	}
	if strings.Contains(write(t, run(5, 20)), "Failed a second") {
		t.Error("a strip without failures")
	}
}

// An interval without answers has no figures of them.
func TestIntervalWithoutAnswers(t *testing.T) {
	r := run(3, 20)
	r.Intervals[1] = takt.Interval{T: 2, Scheduled: 20, InFlightMax: 20}
	_, rest, _ := strings.Cut(write(t, r), `<th scope="row">2s`)
	row, _, _ := strings.Cut(rest, "<tr>")
	if strings.Contains(row, "0µs") || strings.Count(row, "<td class=\"n\">–")+strings.Count(row, "<td>–") != 8 {
		t.Errorf("the row is %s", row)
	}
}

// Failures of the warm-up have no classes, so the strip of a class has a gap there.
func TestFailuresInWarmup(t *testing.T) {
	r := run(4, 20)
	for i := range r.Intervals {
		r.Intervals[i].Failed = 5
		r.Intervals[i].Warmup = i < 2
		if i >= 2 {
			r.Intervals[i].Errors = map[string]uint64{"5xx": 5}
		}
	}
	_, rest, _ := strings.Cut(write(t, r), `aria-label="Failed a second: 5xx; the table has the figures"`)
	if _, path, _ := strings.Cut(rest, `<path class="bad" d="`); !strings.HasPrefix(path, "M500 ") {
		t.Errorf("the strip begins with %.20q, not after the warm-up", path)
	}
}

// The caption of the lag has the whole rule of the verdict.
func TestLagCaption(t *testing.T) {
	if want := "invalid if more than 1 % of the operations, and at least 10, are later than the bound, "; !strings.Contains(write(t, run(10, 20)), want) {
		t.Errorf("the page does not say %q", want)
	}
}
