package format_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

var update = flag.Bool("update", false, "write the golden files anew")

func replay(t *testing.T, name string, r *takt.Report) string {
	t.Helper()
	f, _, err := format.Parse(name + "=-")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := format.Replay(f, &b, r); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b.String()
}

// Every format of every sample, as it stands in testdata. Look at the difference
// and run with -update when it is meant.
func TestGolden(t *testing.T) {
	for _, s := range samples() {
		for _, f := range replayable() {
			if f.Name == "html" { // its package tests it: a golden page would change with every rule of its style
				continue
			}
			golden(t, filepath.Join("testdata", s.name, "report."+f.Name), replay(t, f.Name, s.report))
		}
	}
}

// replayable are the formats that a report alone is enough for.
func replayable() []format.Format {
	return slices.DeleteFunc(format.Table(), func(f format.Format) bool { return f.Rows })
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	if g, w := plain(got), plain(string(want)); g != w {
		t.Errorf("%s: got\n%s\nwant\n%s", path, g, w)
	}
}

// plain puts what they hold in the place of encoded histograms: how tightly they
// are compressed is up to the Go release.
func plain(s string) string {
	return regexp.MustCompile(`HISTF[A-Za-z0-9+/]+=*`).ReplaceAllStringFunc(s, func(code string) string {
		h, err := hist.Decode(code)
		if err != nil {
			return code
		}
		return fmt.Sprint(h.Buckets())
	})
}

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"json=out.json": "json out.json",
		"text":          "text -",
		"hlog=-":        "hlog -",
		"csv=a=b.csv":   "csv a=b.csv",
		"csv=-":         "csv -",
		"csv":           "samples -", // as hey's users mean it
	} {
		f, path, err := format.Parse(in)
		if got := f.Name + " " + path; got != want || err != nil {
			t.Errorf("%s: %s (%v), want %s", in, got, err, want)
		}
	}
	names := strings.Join(format.Names(), ", ")
	for in, want := range map[string]string{
		"xml=x":    `unknown format "xml"; use one of ` + names + `, as in json=out.json`,
		"":         `unknown format ""; use one of ` + names + `, as in json=out.json`,
		"out.hlog": `unknown format "out.hlog"; use one of ` + names + `; did you mean hlog=out.hlog?`,
		"json=":    `output "json=" has no path; write json=FILE, or json=- for standard output`,
	} {
		if _, _, err := format.Parse(in); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", in, err, want)
		}
	}
}

func TestJSONIsTheReport(t *testing.T) {
	for _, s := range samples() {
		var back takt.Report
		if err := json.Unmarshal([]byte(replay(t, "json", s.report)), &back); err != nil {
			t.Fatal(err)
		}
		if s.name != "empty" && !reflect.DeepEqual(&back, s.report) {
			t.Errorf("%s came back as\n%+v\nwant\n%+v", s.name, &back, s.report)
		}
		lines := strings.Split(strings.TrimSpace(replay(t, "ndjson", s.report)), "\n")
		var last format.Line
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
			t.Fatal(err)
		}
		if len(lines) != len(s.report.Intervals)+1 || !reflect.DeepEqual(last.Summary, &back) {
			t.Errorf("%s: the summary of ndjson is another report", s.name)
		}
	}
}

// One NaN in a driver's section does not cost the report.
func TestNotFinite(t *testing.T) {
	r := failures()
	r.Extra["ratio"] = math.NaN()
	r.Extra["deep"] = []any{map[string]float64{"x": math.Inf(1), "y": 2}, struct{ Z *float64 }{new(float64)}}
	r.Rate.Achieved = math.Inf(-1)
	for _, name := range []string{"json", "ndjson"} {
		got := replay(t, name, r)
		for _, want := range []string{`"ratio":null`, `"achieved":0`, `"y":2`, "3 numbers were not finite", "rate_per_s.achieved"} {
			if !strings.Contains(strings.ReplaceAll(got, `": `, `":`), want) {
				t.Errorf("%s lacks %s", name, want)
			}
		}
	}
	if !math.IsInf(r.Rate.Achieved, -1) || len(r.Warnings) != 1 {
		t.Error("the original report was changed")
	}
}

func TestCSVHasEveryFigure(t *testing.T) {
	head, _, _ := strings.Cut(replay(t, "csv", base()), "\n")
	var want []string
	for field := range reflect.TypeFor[takt.Interval]().Fields() {
		if field.Type.Kind() == reflect.Map || field.Type.Kind() == reflect.Pointer || field.Type.Kind() == reflect.Struct || strings.HasSuffix(field.Tag.Get("json"), "hdr") {
			continue // for programs that read JSON
		}
		want = append(want, field.Tag.Get("json"))
	}
	if head != strings.Join(want, ",") {
		t.Errorf("got  %s\nwant %s", head, strings.Join(want, ","))
	}
}

// The log gives back, second by second, what the intervals hold.
func TestHLogRoundTrip(t *testing.T) {
	for _, s := range samples() {
		log := hdrhistogram.NewHistogramLogReader(strings.NewReader(replay(t, "hlog", s.report)))
		for i, iv := range s.report.Intervals {
			type line struct{ tag, hdr string }
			all := []line{{"response", iv.HDR}, {"service", iv.ServiceHDR}}
			for _, name := range timeline.AnnouncedOf(s.report).Courses() { // a second without one has an empty line
				all = append(all, line{name, iv.Latency[name].HDR})
			}
			for _, want := range all {
				got, err := log.NextIntervalHistogram()
				if err != nil || got == nil {
					t.Fatalf("%s, second %d: %v, %v", s.name, i, got, err)
				}
				h := hist.New()
				if err := h.MergeEncoded(want.hdr); err != nil {
					t.Fatal(err)
				}
				start := s.report.StartedAt.UnixMilli() + int64(i)*1000
				if got.Tag() != want.tag || uint64(got.TotalCount()) != h.Count() || got.Max() != int64(h.Max()) ||
					got.StartTimeMs() != start || got.EndTimeMs() != start+1000 {
					t.Errorf("%s, second %d: %s %d values to %d ns, from %d to %d", s.name, i, got.Tag(), got.TotalCount(), got.Max(), got.StartTimeMs(), got.EndTimeMs())
				}
			}
		}
		if rest, err := log.NextIntervalHistogram(); rest != nil || err != nil {
			t.Errorf("%s: more than expected: %v", s.name, err)
		}
	}
}

// What is written while the run goes is what is written afterwards, and each
// second is there before the next.
func TestStreaming(t *testing.T) {
	r := failures()
	for _, f := range replayable() {
		var b bytes.Buffer
		w, err := f.Open(&b, format.Head(r))
		if err != nil {
			t.Fatal(err)
		}
		streams := map[string]bool{"ndjson": true, "csv": true, "hlog": true}[f.Name]
		for _, iv := range r.Intervals {
			before := b.Len()
			if err := w.Interval(iv, nil); err != nil {
				t.Fatal(err)
			}
			if streams != (b.Len() > before) {
				t.Errorf("%s wrote %d bytes for a second", f.Name, b.Len()-before)
			}
		}
		if err := w.Close(r); err != nil {
			t.Fatal(err)
		}
		if b.String() != replay(t, f.Name, r) {
			t.Errorf("%s: replay differs", f.Name)
		}
	}
}

// A full disk is an error of every format, not a silence.
func TestWriteErrors(t *testing.T) {
	full := errors.New("disk full")
	for _, f := range replayable() {
		if err := format.Replay(f, failing{full}, failures()); !errors.Is(err, full) {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestDamagedHistogram(t *testing.T) {
	r := failures()
	r.Latency["response"] = takt.Latency{Count: 1, HDR: "nonsense"}
	r.Intervals[2].HDR = "nonsense"
	for _, name := range []string{"text", "hgrm", "quantiles", "hlog"} {
		f, _, _ := format.Parse(name)
		if err := format.Replay(f, &bytes.Buffer{}, r); err == nil {
			t.Errorf("%s swallowed a damaged histogram", name)
		}
	}
}

// Nothing from outside reaches the terminal raw, and every line fits.
func TestTextIsSafeAndNarrow(t *testing.T) {
	for _, s := range samples() {
		for line := range strings.Lines(replay(t, "text", s.report)) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > 80 || strings.ContainsAny(line, "\x1b\t\r") || strings.HasSuffix(line, " ") {
				t.Errorf("%s: %q", s.name, line)
			}
		}
	}
}

// Colours change nothing but colours.
func TestTextColour(t *testing.T) {
	for _, s := range samples() {
		var b bytes.Buffer
		if err := format.Replay(format.Text(true), &b, s.report); err != nil {
			t.Fatal(err)
		}
		bare := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(b.String(), "")
		trimmed := regexp.MustCompile(" +\n").ReplaceAllString(bare, "\n")
		if bare == b.String() || trimmed != replay(t, "text", s.report) {
			t.Errorf("%s: coloured text differs:\n%s", s.name, trimmed)
		}
	}
}
