package format_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// thing is what is tested, with which settings.
type thing struct {
	branch, revision, date string
	workers                float64
	tracing                string // "": the flag is not given
}

const (
	traceRevision  = "c961d664fbe5893d523bd9077be64617f57a96e7"
	masterRevision = "d7722eb8de3e3bea60ac82472b05a4611aed78f5"
	olderRevision  = "02fe43b0d3a5c0e5b0a0a6f2c7a3d6b1f4e58a90"
)

func traced(workers float64, tracing string) thing {
	return thing{"trace-apm-server", traceRevision, "2018-05-18T12:21:07+02:00", workers, tracing}
}

func master(workers float64) thing {
	return thing{"master", masterRevision, "2018-05-16T08:02:00Z", workers, ""}
}

// apmReport is a report as `takt apm` makes one. The figures are pushed and accepted
// bytes a second, documents a second, ms a request, indexed ÷ expected, max RSS.
func apmReport(id string, minute int, of thing, figures [6]float64) *takt.Report {
	flags := map[string]any{}
	if of.tracing != "" {
		flags["apm-server.tracing.enabled"] = of.tracing
	}
	h := hist.New()
	for i := range 1000 {
		h.Record(time.Duration(figures[3]*1e6) + time.Duration(i)*100*time.Microsecond)
	}
	return &takt.Report{
		ID: id, Kind: "apm", StartedAt: time.Date(2018, 5, 21, 9, minute, 0, 0, time.UTC), Verdict: takt.Valid,
		Counts: takt.Counts{Scheduled: 1000, Sent: 1000, OK: 1000},
		Labels: map[string]string{"branch": of.branch, "revision": of.revision, "revision_date": of.date},
		Variables: map[string]any{
			"duration_s": 30.0, "events": 10.0, "spans": 10.0, "frames": 10.0, "workers": of.workers, "memory_limit_bytes": -1.0,
			"apm_host": "localhost", "elastic_host": "localhost", "arrivals": "closed", "flags": flags,
		},
		Latency: map[string]takt.Latency{takt.LatencyResponse: h.Summary()},
		Extra: map[string]any{
			"pushed": figures[0], "accepted": figures[1], "throughput": figures[2], "latency": figures[3],
			"index": figures[4], "max_rss": figures[5], "efficiency": 60 * figures[1] / figures[5],
		},
	}
}

// readme is what the six test lines of hey-apm's README make, with its figures; those of
// master it does not show.
func readme() []*takt.Report {
	return []*takt.Report{
		apmReport("xmlob0sh", 0, traced(1, "false"), [6]float64{5.2e6, 5.3e6, 491.2, 169, 0.757, 422.1e6}),
		apmReport("bcl41bfu", 1, traced(1, "true"), [6]float64{5.1e6, 5.1e6, 494.5, 174, 0.784, 354.5e6}),
		apmReport("v5yruht0", 2, traced(20, "false"), [6]float64{7.5e6, 4.8e6, 435.3, 185, 0.733, 432.9e6}),
		apmReport("958l1oly", 3, traced(20, "true"), [6]float64{7.7e6, 4.0e6, 349.6, 222, 0.676, 428.3e6}),
		apmReport("k2j0q7ma", 4, master(1), [6]float64{5.4e6, 5.4e6, 512.6, 165, 0.871, 401.4e6}),
		apmReport("t8wz3r1c", 5, master(20), [6]float64{7.9e6, 5.1e6, 467.0, 175, 0.769, 419.8e6}),
	}
}

// repeated is the lines for 20 workers, each made five times or twice, and one of them
// at an older revision of master. One was cut short.
func repeated() (list []*takt.Report) {
	minute := 0
	for _, c := range []struct {
		of     thing
		runs   int
		figure float64
	}{
		{thing{"master", olderRevision, "2018-05-09T10:00:00Z", 20, ""}, 5, 380e6},
		{master(20), 5, 440e6}, {traced(20, "false"), 5, 400e6}, {traced(20, "true"), 2, 350e6},
	} {
		for i := range c.runs {
			list = append(list, apmReport(fmt.Sprintf("run%02d", minute), minute, c.of,
				[6]float64{7.5e6, 5e6 + 1e4*float64(i), 440 + float64(i), 180 + float64(i), 0.9, c.figure + 1e6*float64(i)}))
			minute++
		}
	}
	list[len(list)-1].Warnings = []takt.Warning{{Code: "cancelled", Message: "the run was cancelled"}}
	return append(list, apmReport("newest", minute, traced(20, "true"), [6]float64{7.5e6, 5e6, 440, 180, 0.8, 340e6}))
}

// collate is what takt collate does: words are VARIABLE FILTER….
func collate(t *testing.T, reports []*takt.Report, sort string, limit int, words ...string) query.Collation {
	t.Helper()
	filters, err := query.ParseFilters(words[1:])
	if err != nil {
		t.Fatal(err)
	}
	by, err := query.ParseSort(sort)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*takt.Report{}
	var runs []stored.Run
	for _, r := range reports {
		byID[r.ID] = r
		runs = append(runs, stored.RunOf(r))
	}
	load := func(ids ...string) (list []*takt.Report, err error) {
		for _, id := range ids {
			list = append(list, byID[id])
		}
		return list, nil
	}
	c, err := query.Collate(runs, query.CollateOptions{Variable: words[0], Filters: filters, Sort: by, Limit: limit}, load)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func rendered(t *testing.T, name string, color bool, c query.Collation) string {
	t.Helper()
	var b bytes.Buffer
	if err := format.Collation(&b, c, name, color); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The three collates of hey-apm's README, whole.
func TestCollationOfReadme(t *testing.T) {
	for name, c := range map[string]query.Collation{
		"tracing":  collate(t, readme(), "", 20, "apm-server.tracing.enabled", "branch=trace-apm-server"),
		"branch":   collate(t, readme(), "", 20, "branch", "branch=trace-apm-server"),
		"revision": collate(t, readme(), "revision_date", 20, "revision", "branch=master"),
	} {
		golden(t, filepath.Join("testdata", "collation", name+".txt"), rendered(t, "table", false, c))
	}
}

// A server that indexed too little of what it accepted stands out.
func TestCollationWarnsOfIndex(t *testing.T) {
	c := collate(t, readme(), "", 20, "branch")
	golden(t, filepath.Join("testdata", "collation", "branch.colors"), rendered(t, "table", true, c))
}

// What is not shown is said, in the table and in Markdown.
func TestCollationNotes(t *testing.T) {
	row := query.Row{IDs: []string{"a", "b", "c"}, Merged: 2}
	c := query.Collation{
		Groups: []query.Group{{Kind: "http", Rows: []query.Row{row}, Hidden: 1}, {Kind: "http", Rows: []query.Row{row}, Hidden: 2}},
		Hidden: 1, Unfit: 2, Unreadable: []string{"a", "c\x1b"},
	}
	const want = `percentiles of a part of the runs only: 2 rows, where csv and json have fewer merged_runs than runs; add filters for those of all

damaged histograms, which percentiles leave out: a, c·

not shown: 3 more rows of these groups; raise -n, or add filters

not shown: 1 more row of other groups; raise -n, or add filters

left out: 2 runs, cut short or invalid; --all takes such runs in
`
	markdown := strings.ReplaceAll(want, "_", `\_`)
	if got := rendered(t, "markdown", false, c); !strings.HasSuffix(got, "\n\n"+markdown) {
		t.Errorf("got\n%s\nwant at its end\n%s", got, want)
	}
	table := rendered(t, "table", false, c)
	if got := strings.Join(strings.Fields(table), " "); !strings.HasSuffix(got, strings.Join(strings.Fields(want), " ")) {
		t.Errorf("got\n%s", table)
	}
}

// The spread is that of the runs beside their own median, not beside the merged figure.
func TestCollationSpread(t *testing.T) {
	row := query.Row{IDs: []string{"a", "b"}, Merged: 2, Figures: map[string]query.Figure{"p99": {Value: 100, Median: 50, Min: 40, Max: 60}}}
	c := query.Collation{Groups: []query.Group{{Kind: "http", Metrics: []string{"p99"}, Criterion: "p99", Rows: []query.Row{row}}}}
	if got := rendered(t, "table", false, c); !strings.Contains(got, "±20.0%") {
		t.Errorf("got\n%s", got)
	}
}

// The table in the documentation is what is written.
func TestCollationInDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/collate.md")
	if err != nil {
		t.Fatal(err)
	}
	table := rendered(t, "table", false, collate(t, readme(), "", 20, "apm-server.tracing.enabled", "branch=trace-apm-server"))
	if !strings.Contains(string(page), "```text\n"+table+"```\n") {
		t.Errorf("docs/collate.md does not have this table:\n%s", table)
	}
}

// Repeated runs share a row; the best row is marked where there is confidence.
func TestCollationOfRepeatedRuns(t *testing.T) {
	branch := collate(t, repeated(), "", 2, "branch", "branch=trace-apm-server")
	for _, name := range format.Collations() {
		if name == "html" { // its package tests it
			continue
		}
		golden(t, filepath.Join("testdata", "collation", "repeated."+name), rendered(t, name, false, branch))
	}
	golden(t, filepath.Join("testdata", "collation", "repeated.colors"), rendered(t, "table", true, branch))
	revision := collate(t, repeated(), "revision_date", 20, "revision", "branch=master")
	golden(t, filepath.Join("testdata", "collation", "repeated-revision.txt"), rendered(t, "table", true, revision))
}

// Runs of other kinds have other columns, one table each.
func TestCollationOfKinds(t *testing.T) {
	reports := readme()[4:5]
	for i, rate := range []float64{100, 1000} {
		h := hist.New()
		h.Record(time.Duration(i+1) * time.Millisecond)
		reports = append(reports, &takt.Report{
			ID: fmt.Sprint("http", i), Kind: "http", StartedAt: time.Date(2026, 11, 21, 9, i, 0, 0, time.UTC), Verdict: takt.Valid,
			Counts: takt.Counts{Scheduled: 1000, OK: 995, Failed: 5}, Rate: takt.Rate{Achieved: rate},
			Labels: map[string]string{"branch": "master", "revision": "r|1"},
			Variables: map[string]any{"method": "GET", "host": "a:80", "path": "/", "rate_per_s": rate, "duration_s": 90.5,
				"connections": 50.0, "body_bytes": 2048.0, "memory_limit_bytes": 4e9},
			Latency: map[string]takt.Latency{takt.LatencyResponse: h.Summary()},
		})
	}
	golden(t, filepath.Join("testdata", "collation", "rates.txt"), rendered(t, "table", false, collate(t, reports, "p99", 0, "rate_per_s")))
	for _, name := range []string{"table", "csv", "markdown"} {
		golden(t, filepath.Join("testdata", "collation", "kinds."+name), rendered(t, name, false, collate(t, reports, "", 0, "limit")))
	}
}

// However long a value is, it stands in its column whole, and columns stay in line.
func TestCollationTruncatesNothing(t *testing.T) {
	for _, long := range []string{"x", strings.Repeat("value", 30), "größer", "steering\x1b[2J"} {
		list := readme()
		list[2].Variables["flags"] = map[string]any{"apm-server.tracing.enabled": long}
		lines := strings.Split(rendered(t, "table", false, collate(t, list, "", 20, "apm-server.tracing.enabled", "concurrency=20")), "\n")
		shown := strings.ReplaceAll(long, "\x1b", "·")
		if !strings.Contains(lines[3], "  "+shown+"  ") {
			t.Errorf("%q is not in %q", shown, lines[3])
		}
		at := len([]rune(lines[1][:strings.Index(lines[1], "n  best")]))
		for _, line := range lines[2:4] {
			if cells := []rune(line); cells[at] != '1' || cells[at-1] != ' ' {
				t.Errorf("the column n is not in line:\n%s", strings.Join(lines[:4], "\n"))
			}
		}
	}
}

// Short names of formats are taken, too; columns of CSV have names of their own, also where
// the variable has the name of one.
func TestCollationNames(t *testing.T) {
	c := collate(t, readme(), "", 20, "revision", "branch=master")
	if short, long := rendered(t, "md", false, c), rendered(t, "markdown", false, c); short != long || format.CheckCollation("md") != nil {
		t.Errorf("md is not markdown:\n%s", short)
	}
	for _, variable := range []string{"revision", "branch", "rate"} {
		list := readme()
		for i, r := range list {
			r.Variables["rate_per_s"] = float64(i)
		}
		rows, err := csv.NewReader(strings.NewReader(rendered(t, "csv", false, collate(t, list, "", 20, variable)))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for i, name := range rows[0] {
			if _, again := seen[name]; again {
				t.Errorf("%s: two columns are named %s", variable, name)
			}
			seen[name] = i
		}
		name, value := rows[1][seen["variable"]], rows[1][seen["value"]]
		if !strings.HasPrefix(name, variable) || value == "" {
			t.Errorf("%s: %s is %q", variable, name, value)
		}
	}
}

func TestCollationAsData(t *testing.T) {
	c := collate(t, repeated(), "", 20, "branch")
	var back query.Collation
	if err := json.Unmarshal([]byte(rendered(t, "json", false, c)), &back); err != nil {
		t.Fatal(err)
	}
	a, b := rendered(t, "json", false, back), rendered(t, "json", false, c)
	if a != b {
		t.Errorf("json gives back\n%s\nwant\n%s", a, b)
	}
	rows, err := csv.NewReader(strings.NewReader(rendered(t, "csv", false, c))).ReadAll() // it counts the fields
	if err != nil {
		t.Fatal(err)
	}
	want := 1
	for _, g := range c.Groups {
		want += len(g.Rows)
	}
	if len(rows) != want {
		t.Errorf("%d lines, want %d", len(rows), want)
	}
	if err := format.Collation(&bytes.Buffer{}, c, "xml", false); err == nil || err.Error() != `unknown format "xml"; use one of table, csv, json, markdown, html` {
		t.Error(err)
	}
}
