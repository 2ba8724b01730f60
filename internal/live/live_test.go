package live

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

var update = flag.Bool("update", false, "write the golden files and the pictures of the docs again")

// head is a run of a minute at 20k/s after a warm-up.
func head() Head {
	return Head{
		Command: "takt http --rate 20k/s -z 1m --warmup 5s --assert p99<250ms,errors<0.1%,connect.p99<5ms http://shop.example/cart",
		End:     65 * time.Second, Warmup: 5 * time.Second, Drain: 20 * time.Second, Room: 10_000,
		Assertions: []string{"p99<250ms", "errors<0.1%", "ok>=1000000", "connect.p99<5ms"},
	}
}

// minute is a fixed minute at 20k/s: about 1 ms with a tail, a freeze of the target in every 15th
// second, and failures after the first freeze.
var minute = sync.OnceValue(func() (list []Snapshot) {
	var failed [3]uint64
	for n := range 60 {
		snap := Snapshot{Interval: figures(n)}
		if n >= 15 {
			failed[0] += uint64(20 + n%7)
			failed[1] += uint64(n % 3)
			failed[2] = 3
			snap.Interval.Failed = uint64(20 + n%7 + n%3)
			if n == 15 {
				snap.Interval.Failed += failed[2]
			}
			snap.Interval.OK -= snap.Interval.Failed
			snap.Errors = []takt.ErrorClass{
				{Class: "5xx", Count: failed[0]},
				{Class: "timeout", Count: failed[1], Sample: "no answer within 20s from \x1b[31mshop\x1b[2J\nexample"},
				{Class: "reset", Count: failed[2], Sample: "read tcp 127.0.0.1:40112->127.0.0.1:8080: connection reset by peer"},
			}
		}
		list = append(list, snap)
	}
	return list
})

const rate = 20_000

// figures are the n-th second of minute, without failures.
func figures(n int) takt.Interval {
	response, service := hist.New(), hist.New()
	frozen := n%15 == 14
	parts := uint64(200)
	if frozen {
		parts = 400
	}
	for i := range 200 {
		at := (float64(i)+0.5)/100 - 1
		us := 1100 * math.Exp(0.55*math.Tan(1.2*at)) * (1 + 0.2*math.Sin(float64(n)/4))
		service.RecordN(time.Duration(us*1e3), rate/parts)
		response.RecordN(time.Duration((us+25)*1e3), rate/parts)
		if n%15 == 0 && n > 0 && i < 100 {
			response.RecordN(time.Duration(i+1)*5*time.Millisecond, rate/200)
		}
	}
	iv := takt.Interval{
		T: float64(n + 1), Warmup: n < 5, Scheduled: rate, OK: response.Count(), InFlightMax: 24 + n%7,
		ResponseP50: hist.Micros(response.Quantile(0.5)), ResponseP99: hist.Micros(response.Quantile(0.99)), ResponseMax: hist.Micros(response.Max()),
		ScheduleLagP99: 60 + 20*math.Sin(float64(n)), HDR: response.Encode(), ServiceHDR: service.Encode(),
	}
	if frozen {
		iv.InFlightMax, iv.ScheduleLagP99 = 9_950, 1400
	}
	return iv
}

// second is the n-th second of a run that repeats the minute.
func second(n int) Snapshot {
	snap := minute()[n%60]
	snap.Interval.T, snap.Interval.Warmup = float64(n+1), n < 5
	return snap
}

func after(h Head, seconds int) *State {
	s := New(h)
	for n := range seconds {
		s.Add(second(n))
	}
	return s
}

func moment(seconds int) Moment {
	return Moment{Elapsed: time.Duration(seconds)*time.Second + 300*time.Millisecond, Keys: true}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs; it would be:\n%s", path, got)
	}
}

func TestGolden(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		lines := after(head(), 47).View(moment(47), size[0], size[1], Mono)
		golden(t, filepath.Join("testdata", fmt.Sprintf("view-%dx%d.txt", size[0], size[1])), strings.Join(lines, "\n")+"\n")
	}
	for name, p := range map[string]Palette{"basic": Basic, "rich": Rich} {
		golden(t, filepath.Join("testdata", "view-80x24-"+name+".txt"), strings.Join(after(head(), 47).View(moment(47), 80, 24, p), "\n")+"\n")
	}
	closed := head()
	closed.Closed, closed.End, closed.Requests, closed.Warmup, closed.Assertions = true, -1, 2_000_000, 0, nil
	golden(t, filepath.Join("testdata", "closed-80x24.txt"), strings.Join(after(closed, 30).View(moment(30), 80, 24, Mono), "\n")+"\n")
	oneWay := head()
	oneWay.OneWay = true
	golden(t, filepath.Join("testdata", "oneway-80x24.txt"), oneSided(oneWay))
	receives := Head{Command: "takt kafka consume --topic orders", End: -1, Receives: true}
	golden(t, filepath.Join("testdata", "receives-80x24.txt"), oneSided(receives))
	m := moment(47)
	m.Help = true
	golden(t, filepath.Join("testdata", "help-80x24.txt"), strings.Join(after(head(), 47).View(m, 80, 24, Mono), "\n")+"\n")
}

// oneSided is the view and the line of a run without answers.
func oneSided(h Head) string {
	s := New(h)
	for n := range 30 {
		snap := second(n)
		snap.Interval.HDR, snap.Interval.ServiceHDR = "", ""
		snap.Interval.ResponseP50, snap.Interval.ResponseP99, snap.Interval.ResponseMax = 0, 0, 0
		if h.Receives {
			snap.Interval.Scheduled, snap.Interval.InFlightMax, snap.Interval.ScheduleLagP99 = 0, 0, 0
		}
		s.Add(snap)
	}
	return strings.Join(append(s.View(moment(30), 80, 24, Mono), s.Header(80, Mono), s.Line(80, Mono)), "\n") + "\n"
}

// The line a second: a table, in every width.
func TestLines(t *testing.T) {
	var b strings.Builder
	s := New(head())
	b.WriteString(s.Header(80, Mono) + "\n")
	for n := range 20 {
		s.Add(second(n))
		b.WriteString(s.Line(80, Mono) + "\n")
	}
	for _, width := range []int{60, 40, 7, 6, 0} {
		fmt.Fprintf(&b, "%d columns\n%s\n%s\n", width, s.Header(width, Mono), s.Line(width, Mono))
	}
	b.WriteString("colours\n" + strings.ReplaceAll(s.Line(80, Basic), "\x1b", "ESC") + "\n")
	golden(t, filepath.Join("testdata", "lines.txt"), b.String())
}

var sequence = regexp.MustCompile("\x1b\\[[0-9;]*m")

// columns is the number of columns of a line of takt's own picture.
func columns(line string) (n int) {
	for _, r := range sequence.ReplaceAllString(line, "") {
		n += max(1, widthOf(r))
	}
	return n
}

// Lines fit 80 columns with the largest figures.
func TestLinesFit(t *testing.T) {
	for _, v := range []float64{0, 0.0004, 0.9996, 9.996, 99.96, 999.6, 9996, 99_960, 999_600, 12_345_678, 3.6e9} {
		for _, end := range []time.Duration{-1, time.Second, 99 * time.Hour, 9999 * time.Hour} {
			s := New(Head{End: end})
			s.Add(Snapshot{Interval: takt.Interval{
				T: v, Scheduled: uint64(v * 1e6), OK: uint64(v * 1e6), Failed: uint64(v), Dropped: uint64(v * 1e3), InFlightMax: int(v),
				ResponseP50: v, ResponseP99: v, ResponseMax: v, ScheduleLagP99: v,
			}})
			for _, f := range s.fields() {
				if n := utf8.RuneCountInString(f.text); n > f.width {
					t.Errorf("%v: %s is %q, wider than %d", v, f.name, f.text, f.width)
				}
			}
			if line := s.Line(80, Mono); utf8.RuneCountInString(line) > 80 {
				t.Errorf("%q is wider than 80 columns", line)
			}
		}
	}
}

// No picture is wider or higher than the screen, whatever its size, the run and its texts.
func TestViewFits(t *testing.T) {
	hostile := "\x1b[2J\x1b]0;title\x07\r\n\tz\u0301\u202e\u200b\ufeff日本語\U0001f4a3\U0001f468\u200d\U0001f469\xff\u0600\u0e33\u1100\u115f" + strings.Repeat("長", 100)
	for _, seconds := range []int{0, 1, 47, 700} {
		h := head()
		h.Command = "takt http " + hostile
		s := after(h, seconds)
		s.errors = []takt.ErrorClass{{Class: hostile, Count: math.MaxUint64, Sample: hostile}}
		s.total.Dropped = 1
		for _, size := range [][2]int{{0, 0}, {1, 1}, {3, 2}, {20, 5}, {40, 10}, {79, 23}, {80, 24}, {81, 25}, {200, 60}, {600, 100}} {
			for _, m := range []Moment{moment(seconds), {Elapsed: -time.Hour}, {Help: true, Keys: true}, {Note: hostile, Stopping: true, Paused: true, Keys: true}} {
				lines := s.View(m, size[0], size[1], Rich)
				if len(lines) != size[1] {
					t.Fatalf("%d lines at %v", len(lines), size)
				}
				for _, line := range lines {
					if n := columns(line); n > size[0] {
						t.Fatalf("%d columns at %v: %q", n, size, line)
					}
					if rest := sequence.ReplaceAllString(line, ""); strings.ContainsFunc(rest, func(r rune) bool { return widthOf(r) == 0 }) {
						t.Fatalf("%q contains a rune without a certain width", line)
					}
				}
			}
		}
	}
}

// A run of any length uses the same memory.
func TestStateIsBounded(t *testing.T) {
	s := New(Head{End: -1})
	snap := second(3)
	for n := range 3 * maxColumns {
		snap.Interval.T = float64(n + 1)
		s.Add(snap)
	}
	if len(s.columns) != maxColumns || cap(s.columns) > 2*maxColumns {
		t.Errorf("%d columns, room for %d", len(s.columns), cap(s.columns))
	}
	list := s.newest(1000)
	if len(list) != maxColumns || list[0].t != 2*maxColumns+1 || last(list).t != 3*maxColumns {
		t.Errorf("%d columns from %v to %v", len(list), list[0].t, last(list).t)
	}
}

// A paused picture does not change.
func TestClone(t *testing.T) {
	s := after(head(), 20)
	c := s.Clone()
	before := strings.Join(c.View(moment(20), 100, 40, Rich), "\n")
	if now := strings.Join(s.View(moment(20), 100, 40, Rich), "\n"); now != before {
		t.Error("the clone looks different")
	}
	for n := range 600 {
		s.Add(second(20 + n%40))
	}
	if now := strings.Join(c.View(moment(20), 100, 40, Rich), "\n"); now != before {
		t.Error("the clone has changed")
	}
}

// Assertions turn red as they fail.
func TestAssertions(t *testing.T) {
	s := New(Head{End: time.Minute, Assertions: []string{"p99<20ms", "service.p99<1s", "ok>=100000", "failed<100", "rate>=99%", "unfinished==0", "schedule_lag.p99<1ms", "steps.pay.p99<1s", "rounds.errors<1%"}})
	states := func() (list []string) {
		for _, n := range s.assertionNotes(99) {
			list = append(list, strings.Join(strings.Fields(n.text), " "))
		}
		return list
	}
	check := func(want ...string) {
		t.Helper()
		if got := strings.Join(states(), ", "); got != strings.Join(want, ", ") {
			t.Errorf("%s, want %s", got, strings.Join(want, ", "))
		}
	}
	check("not yet p99<20ms", "not yet service.p99<1s", "not yet ok>=100000", "not yet failed<100", "not yet rate>=99%", "at the end unfinished==0", "at the end schedule_lag.p99<1ms", "at the end steps.pay.p99<1s", "at the end rounds.errors<1%")
	for n := 5; n < 10; n++ {
		s.Add(second(n))
	}
	check("true p99<20ms", "true service.p99<1s", "true ok>=100000", "true failed<100", "true rate>=99%", "at the end unfinished==0", "at the end schedule_lag.p99<1ms", "at the end steps.pay.p99<1s", "at the end rounds.errors<1%")
	for n := 10; n < 31; n++ {
		s.Add(second(n))
	}
	check("FALSE p99<20ms", "true service.p99<1s", "true ok>=100000", "FALSE failed<100", "true rate>=99%", "at the end unfinished==0", "at the end schedule_lag.p99<1ms", "at the end steps.pay.p99<1s", "at the end rounds.errors<1%")
}

func TestUnits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.5: "0.5", 999.4: "999", 999.6: "1k", 20_000: "20k", 99_960: "100k", 1.234e6: "1.23M", 5e9: "5G", 5e12: "5T"} {
		if got := si(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 59400 * time.Millisecond: "59s", 59600 * time.Millisecond: "1m00s", 90 * time.Second: "1m30s",
		12*time.Hour + 34*time.Minute: "12h34m", 999 * time.Hour: "999h00m", 2400 * time.Hour: "100d",
	} {
		if got := span(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestBuckets(t *testing.T) {
	for us, want := range map[float64]int{0: 0, 0.5: 0, 1: 0, 9.9: perDecade - 1, 10.01: perDecade, 3600e6: buckets - 1, 1e12: buckets - 1} {
		if got := bucketOf(us); got != want {
			t.Errorf("%v µs: bucket %d, want %d", us, got, want)
		}
	}
}

func TestBucketsMeet(t *testing.T) {
	for b := range buckets {
		if got := bucketOf(lowest(b) * 1.0001); got != b {
			t.Errorf("%v µs: bucket %d, want %d", lowest(b), got, b)
		}
	}
	for bucket, want := range map[int]string{0: "1µs", partsOfStep: "2µs", 2 * partsOfStep: "5µs", 3*perDecade + 2: "1.41ms", 6 * perDecade: "1s"} {
		if got := figure.Micros(lowest(bucket)); got != want {
			t.Errorf("bucket %d begins at %s, want %s", bucket, got, want)
		}
	}
}

func BenchmarkView(b *testing.B) {
	s := after(head(), 200)
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.View(moment(47), size[0], size[1], Rich)
			}
		})
	}
}

func BenchmarkAdd(b *testing.B) {
	s, snap := New(head()), second(30)
	b.ReportAllocs()
	for b.Loop() {
		s.Add(snap)
	}
}

// The rates of the last interval are those of the schedule: operations end before it.
func TestRateOfTheLastInterval(t *testing.T) {
	for _, test := range []struct {
		end      time.Duration
		t        []float64
		due      uint64
		want     string
		measured float64
	}{
		{time.Second, []float64{0.9}, 10, "10/s", 1},
		{time.Second, []float64{1.004}, 10, "10/s", 1},
		{2500 * time.Millisecond, []float64{1, 2, 2.49}, 50, "100/s", 2.5},
		{2500 * time.Millisecond, []float64{1, 2, 3}, 50, "100/s", 2.5}, // open operations end
		{2500 * time.Millisecond, []float64{1, 2, 3, 4}, 0, "0/s", 2.5},
		{2010 * time.Millisecond, []float64{1, 2, 2.01}, 1, "-", 2.01},
		{6 * time.Second, []float64{1, 2, 3, 4, 4.001}, 1, "-", 4.001},
		{time.Hour, []float64{1, 1.5}, 50, "100/s", 1.5}, // Ctrl-C
		{-1, []float64{1, 1.5}, 50, "100/s", 1.5},
		{-1, nil, 0, "-", 0},
	} {
		s := New(Head{End: test.end})
		for _, at := range test.t {
			s.Add(Snapshot{Interval: takt.Interval{T: at, Scheduled: test.due, OK: test.due}})
		}
		for _, c := range s.curves()[:2] {
			if c.value != test.want {
				t.Errorf("%v %v: %s is %s, want %s", test.end, test.t, c.label, c.value, test.want)
			}
		}
		if math.Abs(s.measured-test.measured) > 1e-9 {
			t.Errorf("%v %v: measured %v s, want %v", test.end, test.t, s.measured, test.measured)
		}
	}
}

// The line of the last interval has its end and counts, unless nothing happened in it.
func TestLastLine(t *testing.T) {
	for _, test := range []struct {
		end   time.Duration
		last  float64
		iv    takt.Interval
		begin string // without spaces; "": no line
	}{
		{2500 * time.Millisecond, 2.49, takt.Interval{Scheduled: 50, OK: 49, Failed: 1}, "2.5s 0s 50 50"},
		{6 * time.Second, 2.001, takt.Interval{OK: 1}, "2s 0s 0 1"},
		{2 * time.Second, 2.001, takt.Interval{Dropped: 1}, "2s 0s 0 0"},
		{-1, 2.3, takt.Interval{Failed: 1}, "2.3s - 0 1"},
		{10 * time.Second, 3, takt.Interval{}, "3s 7s 0 0"},
		{2 * time.Second, 2.9, takt.Interval{}, ""},
	} {
		s := New(Head{End: test.end})
		test.iv.T = test.last
		s.Add(Snapshot{Interval: takt.Interval{T: 2, Scheduled: 100, OK: 100}})
		s.Add(Snapshot{Interval: test.iv})
		if s.Silent() != (test.begin == "") {
			t.Errorf("%v: silent: %v", test.iv, s.Silent())
		}
		if words := strings.Join(strings.Fields(s.Line(80, Mono)), " "); !strings.HasPrefix(words, test.begin) {
			t.Errorf("%v: %q, want %q", test.iv, words, test.begin)
		}
	}
	for length, want := range map[float64]bool{0.002: true, 0.5: true, 0.6: false} {
		s := New(Head{End: -1})
		s.Add(Snapshot{Interval: takt.Interval{T: length, OK: 1}})
		if s.Silent() != want {
			t.Errorf("a run of %v s: silent: %v", length, s.Silent())
		}
	}
	for at, want := range map[float64]string{0.9: "0.9s", 59.9: "59.9s", 59.97: "1m00s", 60.4: "1m00s", 2.001: "2s"} {
		if got := (&column{t: at}).time(); got != want {
			t.Errorf("%v s is %s, want %s", at, got, want)
		}
	}
}

// What failed and what was dropped have their own counts: assertions on errors count only the first.
func TestNotOK(t *testing.T) {
	classes := []takt.ErrorClass{{Class: "5xx", Count: 390}, {Class: "timeout", Count: 3}}
	for _, test := range []struct {
		iv     takt.Interval
		errors []takt.ErrorClass
		room   int
		want   string
	}{
		{takt.Interval{OK: 809}, nil, 1, "0 of 809 operations"},
		{takt.Interval{OK: 607, Failed: 393}, classes, 3, "393 of 1k, 39.30 %: 393 failed, 0 dropped"},
		{takt.Interval{OK: 409, Failed: 393, Dropped: 398}, classes, 3, "791 of 1.2k, 65.92 %: 393 failed in 2 classes, 398 dropped"},
		{takt.Interval{OK: 602, Dropped: 398}, nil, 1, "398 of 1k, 39.80 %: 0 failed, 398 dropped"},
		{takt.Interval{OK: 1234e9, Failed: 1234e9, Dropped: 1234e9}, make([]takt.ErrorClass, 99), 1, "2.47T of 3.7T, 66.67 %: 1.23T failed in 99 classes, 1.23T dropped"},
	} {
		s := New(Head{})
		s.Add(Snapshot{Interval: test.iv, Errors: test.errors})
		n := s.errorNotes(test.room)[0]
		if n.label != "not ok" || n.text != test.want || labelWidth+1+len(n.text) > MinWidth {
			t.Errorf("%s %q, want %q", n.label, n.text, test.want)
		}
	}
}

// On a small terminal parts are missing, but no two share a line, and a heat map has three lines.
func TestSmallView(t *testing.T) {
	s := after(head(), 47)
	for width := 40; width <= 100; width += 10 {
		for height := range 40 {
			for _, help := range []bool{false, true} {
				m := moment(47)
				m.Help = help
				lines := s.View(m, width, height, Mono)
				if height > 2 && !strings.HasPrefix("space pause   q quit   ? help", lines[height-1]) {
					t.Errorf("%dx%d: the footer is %q", width, height, lines[height-1])
				}
				text := strings.Join(lines, "\n")
				if n := strings.Count(text, "┤"); n > 0 && n < leastHeat || strings.Contains(text, "response time") != (n > 0) {
					t.Errorf("%dx%d: %d lines of a heat map:\n%s", width, height, n, text)
				}
			}
		}
	}
	if text := strings.Join(s.View(moment(47), 60, 15, Mono), "\n"); !strings.Contains(text, "734   5xx") {
		t.Errorf("60x15 is\n%s", text)
	}
}

// A run whose answers come in parts has a curve for each latency of parts, and the first of them in its line.
func TestParts(t *testing.T) {
	h := head()
	h.Timed, h.Assertions = []string{"first_part_due", "maxgap", "gap", "tpot", "ttfo"}, []string{"goodput>40%", "goodput>60%", "gap.p99<1s"}
	s := New(h)
	snap := second(6)
	good := (snap.Interval.OK + snap.Interval.Failed) / 2
	snap.Interval.Good = &good
	snap.Interval.Latency = map[string]takt.Course{"first_part_due": {P99: 123e3}, "gap": {P99: 20e3}, "ttfo": {P99: 1}}
	s.Add(snap)
	view := strings.Join(s.View(moment(6), 100, 40, Mono), "\n")
	for _, want := range []string{"first p99 123ms", "maxgap p99 -", " gap p99 20ms", "tpot p99 -", "true goodput>40% goodput is 50 %", "FALSE goodput>60%", "at the end gap.p99<1s"} {
		if !strings.Contains(strings.Join(strings.Fields(view), " "), want) {
			t.Errorf("the view lacks %q:\n%s", want, view)
		}
	}
	if strings.Contains(view, "ttfo") {
		t.Error("the view has more latencies than there is room for")
	}
	if header, line := s.Header(120, Mono), s.Line(120, Mono); !strings.Contains(header, "first") || !strings.Contains(line, "123ms") {
		t.Errorf("%s\n%s", header, line)
	}
	h.Timed = []string{strings.Repeat("x\x1b[2J", 100)}
	s = New(h)
	s.Add(snap)
	for _, line := range append(s.View(moment(6), 100, 40, Mono), s.Line(120, Mono), s.Header(120, Mono)) {
		if strings.Contains(line, "\x1b") {
			t.Errorf("%q", line)
		}
	}
}
