package format_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

const ms = time.Millisecond

// netPhases are those of HTTP, in an order of their own: they are found by name.
func netPhases() []string { return []string{"first_byte", "dns", "connect", "tls"} }

// operations are one of each kind.
func operations() []takt.Sample {
	phases := func(first, dns, connect, tls time.Duration) [takt.MaxPhases]time.Duration {
		return [takt.MaxPhases]time.Duration{first, dns, connect, tls}
	}
	at := func(due, delay, service time.Duration) takt.Sample {
		return takt.Sample{Due: due, Free: due, Sent: due + delay, Done: due + delay + service, BytesSent: 70}
	}
	with := func(s takt.Sample, p [takt.MaxPhases]time.Duration, status int, class string) takt.Sample {
		s.Phases, s.Status, s.Class = p, status, class
		return s
	}
	refused := with(at(6*ms, 0, 3*ms), phases(0, 2*ms, 0, 0), 0, "refused")
	refused.BytesSent = 0
	return []takt.Sample{
		with(at(0, 0, 12345678), phases(9*ms, 4*ms, 2*ms, ms), 200, ""),                // a new connection
		with(at(time.Hour+1, 7, 50*time.Microsecond), phases(49999, 0, 0, 0), 404, ""), // one that was there
		with(at(2*ms, 0, 30*ms), phases(0, 0, 0, 0), 0, "timeout"),                     // no answer
		with(at(3*ms, 40*ms, 3*ms), phases(ms, 0, 0, 0), 200, "truncated"),             // half an answer
		refused, // never a connection
		with(at(7*ms, 0, 2*ms), phases(ms, 0, 3*ms, 0), 200, ""), // a dial that another connection overtook
		{Due: 8 * ms, Free: 8 * ms, Sent: takt.NotSent, Done: 8 * ms, Class: takt.ClassDropped},
		{Due: 9 * ms, Free: ms, Sent: 10 * ms, Done: 1009 * ms, Class: takt.ClassUnfinished},
		{Due: 9 * ms, Free: 1009 * ms, Sent: takt.NotSent, Done: 1009 * ms, Class: takt.ClassUnfinished},
		with(at(10*ms, 0, ms), phases(ms, 0, 0, 0), -7, `odd, "very"`), // no driver's, but it must not break the file
	}
}

// rowsOf is the output samples with list in it.
func rowsOf(t *testing.T, phases []string, lists ...[]takt.Sample) string {
	t.Helper()
	var b bytes.Buffer
	w := openRows(t, &b)
	for _, list := range lists {
		if err := w.Samples(phases, list); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Interval(takt.Interval{T: 1}, nil), w.Close(base())); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func openRows(t *testing.T, b *bytes.Buffer) format.RowWriter {
	t.Helper()
	f, _, err := format.Parse("samples=x")
	if err != nil || !f.Rows {
		t.Fatal(err, f.Rows)
	}
	w, err := f.Open(b, format.Head(base()))
	if err != nil {
		t.Fatal(err)
	}
	return w.(format.RowWriter)
}

func TestSamplesGolden(t *testing.T) {
	golden(t, filepath.Join("testdata", "samples.csv"), rowsOf(t, netPhases(), operations()))
	golden(t, filepath.Join("testdata", "samples-no-phases.csv"), rowsOf(t, nil, operations()))
}

// The rows of a scenario have the names of their steps, in a column of their own.
func TestSamplesOfSteps(t *testing.T) {
	head := format.Head(base())
	head.Extra = steps.Named([]string{"log in", `GET /a?"x",y`})
	f, _, err := format.Parse("samples=x")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := f.Open(&b, head)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.(format.RowWriter).Samples(nil, []takt.Sample{{Step: 2}, {Step: 1, Class: "5xx"}, {}}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, strings.Join(r[len(r)-2:], " "))
	}
	if want := []string{"class step", `ok GET /a?"x",y`, "5xx log in", "ok "}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// The batches make no difference, and the head is there before the first row.
func TestSamplesBatches(t *testing.T) {
	all := operations()
	one := rowsOf(t, netPhases(), all)
	if two := rowsOf(t, netPhases(), all[:3], nil, all[3:]); two != one {
		t.Errorf("in two batches\n%s\nin one\n%s", two, one)
	}
	var many []takt.Sample // more than is written at once
	for range 500 {
		many = append(many, all...)
	}
	head, body, _ := strings.Cut(one, "\n")
	if got := rowsOf(t, netPhases(), many); got != head+"\n"+strings.Repeat(body, 500) {
		t.Error("500 times the same rows are something else")
	}
	var b bytes.Buffer
	openRows(t, &b)
	if want := "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset,send-delay,class"; b.String() != want+"\n" || head != want {
		t.Errorf("head %q", b.String())
	}
}

// A program reads the rows back: every operation in turn, and its parts add up to
// its response time, where all of them are known.
func TestSamplesAddUp(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(rowsOf(t, netPhases(), operations()))).ReadAll()
	if err != nil || len(rows) != len(operations())+1 {
		t.Fatal(len(rows), err)
	}
	whole := 0
	for i, s := range operations() {
		cell := map[string]string{}
		for c, name := range rows[0] {
			cell[name] = rows[i+1][c]
		}
		if got, _ := nanos(cell["offset"]); got != s.Due || cell["class"] != className(s.Class) || cell["status-code"] != strconv.Itoa(s.Status) {
			t.Errorf("operation %d: %v", i, cell)
		}
		var total time.Duration
		known := true
		for _, name := range []string{"send-delay", "DNS+dialup", "Response-delay", "Response-read"} {
			d, ok := nanos(cell[name])
			total, known = total+d, known && ok
		}
		if response, ok := nanos(cell["response-time"]); known && (!ok || response != total) {
			t.Errorf("operation %d: %v is %v in parts", i, response, total)
		}
		if known {
			whole++
		}
	}
	if whole != 4 {
		t.Errorf("%d operations with all parts, want 4", whole)
	}
}

func className(class string) string {
	if class == "" {
		return "ok"
	}
	return class
}

// nanos reads seconds with nine decimals; false: the cell is empty.
func nanos(s string) (time.Duration, bool) {
	n, err := strconv.ParseInt(strings.Replace(s, ".", "", 1), 10, 64)
	return time.Duration(n), err == nil
}

// A full disk is an error of the head, and of each batch.
func TestSamplesWriteErrors(t *testing.T) {
	full := errors.New("disk full")
	f, _, _ := format.Parse("samples=x")
	if _, err := f.Open(failing{full}, takt.Report{}); !errors.Is(err, full) {
		t.Errorf("head: %v", err)
	}
	w, err := f.Open(&oneWrite{err: full}, takt.Report{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.(format.RowWriter).Samples(nil, operations()); !errors.Is(err, full) {
		t.Errorf("rows: %v", err)
	}
}

// oneWrite has room for one write.
type oneWrite struct {
	err  error
	full bool
}

func (o *oneWrite) Write(b []byte) (int, error) {
	if o.full {
		return 0, o.err
	}
	o.full = true
	return len(b), nil
}

// Rows are not in a report, and a replay says so instead of writing an empty file.
func TestRowsCannotBeReplayed(t *testing.T) {
	for _, f := range format.Table() {
		var b bytes.Buffer
		w, err := f.Open(&bytes.Buffer{}, takt.Report{})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := w.(format.RowWriter); ok != f.Rows {
			t.Errorf("%s: %s, but Rows is %v", f.Name, reflect.TypeOf(w), f.Rows)
		}
		err = format.Replay(f, &b, base())
		want := f.Name + " cannot be made from a stored run, which keeps histograms and no operations; give -o " + f.Name + "=FILE to the run itself, or take csv=FILE for one row a second"
		if f.Rows && (err == nil || err.Error() != want || b.Len() > 0) {
			t.Errorf("%s: %v\nwant %s", f.Name, err, want)
		}
	}
}

func BenchmarkSamples(b *testing.B) {
	const rows = 400
	list := make([]takt.Sample, rows)
	for i := range list {
		list[i] = operations()[i%2]
	}
	var out bytes.Buffer
	f, _, _ := format.Parse("samples=x")
	w, err := f.Open(&out, takt.Report{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		if err := w.(format.RowWriter).Samples(netPhases(), list); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/rows, "ns/row")
}

// A load that measures parts of answers has a column for each latency that an operation has once, and one for its conditions.
func TestRowsOfStreams(t *testing.T) {
	a := timeline.Announced{Timed: []takt.Timed{{Name: "ttft_sent"}, {Name: "first_part_due", Row: true, Course: true}, {Name: "gap", Course: true}, {Name: "maxgap", Row: true, Course: true}}, Goal: "ttft<1s"}
	f, _, err := format.Parse("samples=-")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := f.Open(&b, takt.Report{Extra: a.Announce(steps.Named([]string{"ask"}))})
	if err != nil {
		t.Fatal(err)
	}
	list := []takt.Sample{
		{Done: ms, Timed: [takt.MaxTimed]time.Duration{20 * ms, 300 * ms}, Goal: takt.GoalMet, Step: 1},
		{Done: ms, Timed: [takt.MaxTimed]time.Duration{20 * ms}, Goal: takt.GoalUnknown, Step: 1},
		{Done: ms, Goal: takt.GoalMissed, Step: 1},
		{Done: ms, Sent: takt.NotSent, Class: takt.ClassUnfinished, Step: 1},
	}
	if err := w.(format.RowWriter).Samples(netPhases(), list); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatal(rows, err)
	}
	for i, want := range [][]string{
		{"step", "first-part-due", "maxgap", "good"},
		{"ask", "0.020000000", "0.300000000", "yes"}, {"ask", "0.020000000", "", "unknown"}, {"ask", "", "", "no"}, {"ask", "", "", "no"},
	} {
		if got := rows[i][len(rows[i])-4:]; !slices.Equal(got, want) {
			t.Errorf("row %d ends with %v; want %v", i, got, want)
		}
	}
}
