package assert_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
)

// aRun has a value of each type.
func aRun() *stored.Run {
	return &stored.Run{
		ID: "01JDABC", Kind: "apm", Group: "g1", StartedAt: time.Date(2018, 5, 18, 23, 59, 59, 5e8, time.UTC),
		Settings: stored.NewSettings(map[string]any{
			"duration_s": 30.0, "events": 10, "workers": 20.0, "memory_limit_bytes": -1.0, "rate_per_s": 500.0,
			"keepalive": true, "arrivals": "uniform", "headers": []any{"a", "b"}, "rate": "max", "host": "a:80", "nothing": nil,
			"flags": map[string]any{"apm-server.tracing.enabled": "false", "queue.mem.events": "4096", "flush": "10s", "auto": "auto", "events": "7"},
		}, "hc"),
		Labels:  map[string]string{"branch": "main", "revision": "1e3", "revision_date": "2018-05-18T12:21:00+02:00", "build": "12", "team": "load"},
		Figures: stored.Figures{Names: []string{"p99", "errors", "rate", "index", "pushed", "latency", "max_rss", "goodput", "ttft.p99"}, Values: []float64{250000, 0.5, 990, 0.733, 7.5e6, 185, 432.9e6, 98.5, 3e5}},
	}
}

func filters(t *testing.T, words ...string) query.Filters {
	t.Helper()
	fs, err := query.ParseFilters(words)
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

func ExampleParseFilters() {
	fs, err := query.ParseFilters([]string{"branch=main", "p99<=250ms", "events>=10"})
	fmt.Println(fs.Match(aRun()), fs.Labels(), err)
	// Output: true map[branch:main] <nil>
}

func TestFilterMatches(t *testing.T) {
	for text, want := range map[string]bool{
		"id=01jd": true, "report_id=01JDABC": true, "id=1JD": false, "id!=01JD": false,
		"kind=apm": true, "kind!=apm": false, "run_group=g1": true, "host_class=hc": true, "host=a:80": true, "unfit=false": true,
		// Dates are whole days of UTC, or the unit that is written.
		"date=2018-05-18": true, "date=2018-05-19": false, "date<2018-05-19": true, "date<2018-05-18": false, "date>2018-05-17": true,
		"date>2018-05-18": false, "date>=2018-05-18": true, "date<=2018-05-18": true, "date!=2018-05-18": false,
		"report_date=2018-05-18T23:59:59Z": true, "date=2018-05-18T23:59:59.4Z": false, "date=2018-05-18 23:59": true, "date=2018-05-19T01:59:59+02:00": true,
		"revision_date=2018-05-18T10:21:00Z": true, "revision_date=2018-05-18 10:21": true, "revision_date<2018-05-18": false, "revision_date>=2018-05-18": true,
		// Numbers in the unit that the name says.
		"duration=30s": true, "duration=30": true, "duration_s=0.5m": true, "duration>29s": true, "duration<30s": false, "duration<=30s": true,
		"events=10": true, "events == 10": true, " events = 10 ": true, "events!=10": false, "concurrency=20": true, "workers>20": false, "workers>=20": true,
		"limit=-1": true, "limit<4GB": true, "rate_per_s=500/s": true, "throttle=500": true, "rate_per_s>0.4": true,
		"keepalive=true": true, "keepalive!=false": true, "keepalive=0": false,
		"arrivals=uniform": true, "arrivals!=uniform": false, "headers=a,b": true, "variable.rate=max": true,
		// Flags are text, of which some are numbers or times.
		"apm-server.tracing.enabled=false": true, "apm-server.tracing.enabled!=false": false,
		"queue.mem.events>=4096": true, "queue.mem.events=4096.0": true, "queue.mem.events<100": false, "queue.mem.events=auto": false,
		"flush<1m": true, "flush=10000ms": true, "auto!=4": true, "flag.events=7": true, "flag.workers!=1": false,
		// Labels; a revision stays text.
		"branch=main": true, "branch=mai": false, "branch!=main": false, "revision=1000": false, "revision=1e3": true, "build>2": true, "label.team=load": true, "team!=load": false,
		// A number of days is a time.
		"duration<1d": true, "duration_s>7d": false, "flush<1d": true, "p99<1d": true, "p99>0.5d": false,
		// Metrics, with their units.
		"p99=250ms": true, "p99<250ms": false, "p99<=0.25s": true, "errors<1%": true, "errors>0.5%": false, "rate>=990/s": true, "rate<990": false,
		"index>70%": true, "index>0.7": true, "actual_expected_ratio<0.7": false, "pushed_volume=7.5MB/s": true, "pushed>7MiB/s": true, "latency<200ms": true,
		"max_rss<432900001": true, "max_rss>412MiB": true, "max_rss>413MiB": false,
		"goodput>98%": true, "goodput<98.5%": false, "ttft.p99<=300ms": true, "ttft.p99>300ms": false, "maxgap.p99<1s": false,
		// What is not there holds never.
		"nothing=1": false, "nothing!=1": false, "p50!=1ms": false, "unheard!=of": false, "label.events!=1": false, "variable.team!=x": false,
	} {
		if got := filters(t, text).Match(aRun()); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// A value may hold what looks like an operator.
func TestFilterSplitsOnce(t *testing.T) {
	r := &stored.Run{Labels: map[string]string{"url": "/a?b=c>d"}, Settings: stored.NewSettings(nil, "")}
	if !filters(t, "url=/a?b=c>d").Match(r) {
		t.Error("the value was cut at an operator in it")
	}
}

// x=v and x!=v part the runs that have x; x<v, x=v, x>v do so where there is an order.
func TestFiltersPart(t *testing.T) {
	for _, c := range []struct {
		field  string
		values []string
		known  bool
	}{
		{"events", []string{"9", "10", "11"}, true}, {"duration", []string{"29s", "30s", "1m"}, true},
		{"date", []string{"2018-05-17", "2018-05-18", "2018-05-19"}, true}, {"queue.mem.events", []string{"1", "4096", "1e9"}, true},
		{"p99", []string{"1ms", "250ms", "1s"}, true}, {"unheard", []string{"1"}, false},
	} {
		for _, v := range c.values {
			held := map[string]int{}
			for _, op := range []string{"=", "!=", "<", "<=", ">", ">="} {
				if filters(t, c.field+op+v).Match(aRun()) {
					held[op] = 1
				}
			}
			want := map[bool]int{true: 1}[c.known]
			if held["="]+held["!="] != want || held["<"]+held["="]+held[">"] != want || held["<="]+held[">"] != want || held["<"]+held[">="] != want {
				t.Errorf("%s against %s: %v", c.field, v, held)
			}
		}
	}
}

func TestFilterFaults(t *testing.T) {
	for text, want := range map[string]string{
		"branch":             `filter "branch" has no operator; write FIELD=VALUE, or one of != < <= > >= in quotes`,
		"=main":              `filter "=main" is not of the form FIELD=VALUE; write for example branch=main or 'p99<250ms', with one of = != < <= > >=`,
		"branch=":            `filter "branch=" is not of the form`,
		"branch!main":        `filter "branch!main" is not of the form`,
		"p99<250":            `filter "p99<250": "250" cannot be compared with p99; give a time with its unit, such as 250ms`,
		"errors<1":           `"1" cannot be compared with errors; give a percentage, such as 0.1%`,
		"rate=max":           `"max" cannot be compared with rate; give a rate, such as 500/s; a bare number is per second`,
		"max_rss<NaN":        `give a size, such as 1MiB or 4GB`,
		"ok>0x10":            `"0x10" cannot be compared with ok; give a number`,
		"date>yesterday":     `filter "date>yesterday": "yesterday" is not a date; give one such as 2026-01-31, or 2026-01-31T18:00:00Z`,
		"revision_date>2018": `"2018" is not a date`,
		"branch<main":        `filter "branch<main": branch is text, which is not ordered; use = or !=`,
		"kind>apm":           `filter "kind>apm": kind is not ordered; use = or !=`,
	} {
		if _, err := query.ParseFilters([]string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
	if _, err := query.ParseFilters([]string{"a", "b=1", "p99<1"}); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("both faults of three words: %v", err)
	}
}

func TestFilterUnknown(t *testing.T) {
	for text, want := range map[string]string{
		"events=10":           "",
		"events=9":            "",
		"unfit=true":          "",
		"evnets=10":           `filter "evnets=10": no run has "evnets"; use one of events queue.mem.events `,
		"p98=1":               `no run has "p98"; use one of p99 `,
		"p50<1ms":             `no run has "p50"`,
		"workers=many":        `"many" cannot be compared with workers; give a number`,
		"arrivals<uniform":    `arrivals is text, which is not ordered; use = or !=`,
		"keepalive>0":         `keepalive is true or false; use = or != with one of them`,
		"label.events=1":      `no run has "label.events"`,
		"duration=soon":       `give a time, such as 30s or 7d; a bare number is seconds`,
		"branch=other":        "",
		"queue.mem.events=no": "",
	} {
		fs := filters(t, text)
		if err := fs.Unknown(); err != nil {
			t.Errorf("%s: %v before any run", text, err)
		}
		fs.Match(aRun())
		if err := fs.Unknown(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

// A run that has the field settles that it is known, also after runs that do not, and
// also when another filter does not hold.
func TestFilterKnownSomewhere(t *testing.T) {
	bare := &stored.Run{Settings: stored.NewSettings(nil, "")}
	fs := filters(t, "kind=other", "events=10")
	for _, r := range []*stored.Run{bare, aRun(), bare} {
		if fs.Match(r) {
			t.Errorf("%s matches", r.ID)
		}
	}
	if err := fs.Unknown(); err != nil {
		t.Error(err)
	}
}

// The beginning of a hash finds the revision, as the table of runs shortens it; the
// beginning of a number or a date is another one.
func TestFilterRevision(t *testing.T) {
	const hash = "8d6a1f0c5b7e4932aa00112233445566778899ff"
	for _, c := range []struct {
		label, operand string
		want           bool
	}{
		{hash, hash, true}, {hash, "8d6a1f0c5b7e", true}, {hash, "8d6a1f0", true}, {hash, "8d6a1f", false}, {hash, "8d6a1f1", false},
		{hash + "-dirty", "8d6a1f0c5b7e-dirty", true}, {hash + "-dirty", "8d6a1f0c5b7e", false}, {hash, "8d6a1f0c5b7e-dirty", false}, {hash + "-dirty", hash, false},
		{"12345678", "1234567", false}, {"20261121103000", "20261121", false}, {"v1.2.3-rc4", "v1.2.3-rc", false}, {"feedbacks", "feedbac", false},
		{"1234567a", "1234567", true}, {hash + "00", hash, false},
	} {
		r := &stored.Run{Labels: map[string]string{"revision": c.label}, Settings: stored.NewSettings(nil, "")}
		is, not := filters(t, "revision="+c.operand), filters(t, "label.revision!="+c.operand)
		if is.Match(r) != c.want || not.Match(r) == c.want {
			t.Errorf("%s is %s: %t, is not: %t", c.label, c.operand, is.Match(r), not.Match(r))
		}
		// A store is asked for equal labels only.
		if asked, ok := is.Labels()["revision"]; c.want && ok && asked != c.label {
			t.Errorf("%s: a store would not give %s", c.operand, c.label)
		}
	}
}

// A day is a date of a revision too.
func TestParseRevisionDate(t *testing.T) {
	for text, want := range map[string]string{
		"2026-01-31": "2026-01-31T00:00:00Z", "2026-01-31T18:00:00+02:00": "2026-01-31T16:00:00Z",
		"": "", "yesterday": "", "2026-13-01": "", "2026-01-31 18:00": "", "1769878800": "",
	} {
		got, err := stored.ParseRevisionDate(text)
		if want == "" && (err == nil || !strings.Contains(err.Error(), "give one such as")) || want != "" && got.Format(time.RFC3339) != want {
			t.Errorf("%q: %v %v, want %s", text, got, err, want)
		}
	}
	r := &stored.Run{Labels: map[string]string{"revision_date": "2026-01-31"}, Settings: stored.NewSettings(nil, "")}
	if !filters(t, "revision_date<2026-02-01").Match(r) || filters(t, "revision_date>2026-01-31").Match(r) {
		t.Error("filters do not take a day as the date of a revision")
	}
}

// A store that was damaged may give fewer values than names.
func TestFiguresTooShort(t *testing.T) {
	r := &stored.Run{Settings: stored.NewSettings(nil, ""), Figures: stored.Figures{Names: []string{"p50", "p99"}, Values: []float64{1}}}
	if _, ok := r.Figures.Get("p99"); ok || filters(t, "p99<1s").Match(r) {
		t.Error("there is a p99")
	}
	if v, ok := r.Figures.Get("p50"); !ok || v != 1 {
		t.Errorf("p50 %v %t", v, ok)
	}
}

func TestFilterLabels(t *testing.T) {
	got := filters(t, "branch=main", "revision!=x", "label.team=load", "label.build=12", "label.flush=10s", "revision_date=2018-05-18", "events=1").Labels()
	if want := map[string]string{"branch": "main", "team": "load"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Lists of figures differ from run to run.
func TestFilterFigures(t *testing.T) {
	names := []string{"p50", "p99"}
	fs := filters(t, "p99<2ms")
	for i, c := range []struct {
		f    stored.Figures
		want bool
	}{
		{stored.Figures{Names: names, Values: []float64{5000, 1000}}, true},
		{stored.Figures{Names: names[:1], Values: []float64{5000}}, false},
		{stored.Figures{Names: names, Values: []float64{1000, 5000}}, false},
		{stored.Figures{}, false},
		{stored.Figures{Names: []string{"p99"}, Values: []float64{1}}, true},
	} {
		if got := fs.Match(&stored.Run{Settings: stored.NewSettings(nil, ""), Figures: c.f}); got != c.want {
			t.Errorf("run %d: %t", i, got)
		}
	}
}

func FuzzParseFilters(f *testing.F) {
	for _, seed := range []string{"p99<250ms", "date>=2018-05-18", "a!=b", "limit<4GB", "errors<1%", "branch==x", "flush=1m0s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fs, err := query.ParseFilters([]string{text})
		if err == nil {
			fs.Match(aRun())
			_ = fs.Unknown()
			fs.Labels()
		}
	})
}

// sorted are the rows of a group, each of one run.
func sorted(t *testing.T, by string, list []stored.Run) string {
	t.Helper()
	c, err := query.Collate(list, options(t, "workers", by), none)
	if err != nil {
		return err.Error()
	}
	return shape(c)
}

func TestSort(t *testing.T) {
	list := func() []stored.Run {
		names := []string{"p99", "efficiency", "latency"}
		var list []stored.Run
		for i, c := range []struct {
			revision string
			workers  any
			figures  []float64
		}{
			{"2020-01-03T00:00:00Z", 1, []float64{10, 0.5, 3}},
			{"2020-01-01T00:00:00Z", 20, []float64{30, 0.7, 2}},
			{"2020-01-02T00:00:00+09:00", 3, []float64{20, 0.7, 1}},
			{"", "many", nil},
		} {
			list = append(list, stored.Run{
				ID: string(rune('a' + i)), StartedAt: time.Unix(int64(i), 0), Labels: map[string]string{"revision_date": c.revision},
				Settings: stored.NewSettings(map[string]any{"workers": c.workers, "flags": map[string]any{"flush": fmt.Sprint(i, "s")}}, ""),
				Figures:  stored.Figures{Names: names[:len(c.figures)], Values: c.figures},
			})
		}
		return list
	}
	for by, want := range map[string]string{
		"": "[d | c | b | a]", "report_date": "[d | c | b | a]", "date": "[d | c | b | a]", "revision_date": "[a | c | b | d]",
		"p99": "[a | c | b | d]", "efficiency": "[c | b | a | d]", "latency": "[c | b | a | d]", "concurrency": "[b | c | a | d]", "workers": "[b | c | a | d]",
		"throughputt": `cannot sort by "throughputt": no run has such a number or date; use one of report_date revision_date duration pushed_volume index_success_ratio actual_expected_ratio throughput efficiency latency, a metric such as p99 or errors, or a label, variable or flag with numbers`,
	} {
		if got := sorted(t, by, list()); got != want {
			t.Errorf("by %q: %s, want %s", by, got, want)
		}
	}
	for _, by := range []string{"id", "a=b", "kind"} {
		if _, err := query.ParseSort(by); err == nil || !strings.Contains(err.Error(), "use one of report_date revision_date") {
			t.Errorf("%s: %v", by, err)
		}
	}
}
