package merge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/audit"
	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/judge/merge"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

func readReport(t *testing.T, path string) *takt.Report {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := document.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// asJSON is what -o json would write.
func asJSON(t *testing.T, r *takt.Report) string {
	t.Helper()
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A fold is what merging all reports at once was, before there was a fold, but for the lines of parts.
func TestFoldIsTheOldMerge(t *testing.T) {
	for _, name := range []string{"whole", "cut"} {
		files, err := filepath.Glob("../../cli/runscmd/testdata/shards/" + name + "/*.json")
		if err != nil || len(files) < 3 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		f := merge.New(merge.Options{ID: "01W"})
		for _, path := range files {
			if err := f.Add(readReport(t, path)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := f.Report()
		if err != nil {
			t.Fatal(err)
		}
		if err := audit.Check(got); err != nil {
			t.Error(err)
		}
		want := readReport(t, "testdata/"+name+".json")
		if lines := got.Extra["parts"].([]any); len(lines) != len(files) {
			t.Errorf("%d parts of %d shards", len(lines), len(files))
		}
		delete(got.Extra, "parts")
		delete(want.Extra, "parts")
		if got.Stalls == nil {
			t.Errorf("%s: its stalls are unknown", name)
		}
		got.Stalls = nil // the old merge did not look for them
		for i := range got.Warnings {
			got.Warnings[i].Fields, got.Warnings[i].Advice = nil, "" // nor had it these
		}
		if got, want := asJSON(t, got), asJSON(t, want); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// oddShards differ in all that is not the same in all shards of a run, with figures whose sums depend on
// their order.
func oddShards(t *testing.T, n int) []*takt.Report {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, 7))
	parts := recordShards(recordedOps(rnd, 5, 100, 400*time.Microsecond), n, 5, false)
	for i, p := range parts {
		if i%3 == 1 {
			*p = *coarser(t, p)
		}
		p.Command = []string{"takt", "--shard", p.Schedule.Shard}
		p.Generator.CPUS, p.Generator.WaitedS = rnd.Float64(), rnd.Float64()*1e-9
		p.Generator.HostClass = fmt.Sprint("class ", i%2)
		p.Tool.Version = fmt.Sprint("0.", i%3)
		p.Labels = map[string]string{"branch": "main"}
		if i%2 == 0 {
			p.Labels[fmt.Sprint("rack", i%4)] = "b"
		}
		p.Variables["connections"] = rnd.Float64()
		p.Extra = map[string]any{"mode": "a", "lost": float64(i), "host": fmt.Sprint("node", i)}
		p.Attribution.Slices = []takt.Slice{{Below: 2, Operations: 1, Parts: takt.Parts{Late: rnd.Float64(), Target: rnd.Float64()}}}
		p.Errors = append(p.Errors, takt.ErrorClass{Class: "odd", Count: 1, Sample: strings.Repeat("first of ", (i+1)%2) + fmt.Sprint(i), Body: "body"})
		from, to, n := float64(i%3), float64(i%3)+rnd.Float64(), uint64(i)
		p.Outages = []takt.Outage{{From: from, To: &to, FirstSuccess: &to, Parts: 1, First: fmt.Sprint("partition ", i), Failed: n, Lost: &n}}
		p.Faults = []takt.Fault{{Command: fmt.Sprint("command ", i), From: from}}
		for range 1 + i%2 {
			p.Warnings = append(p.Warnings, takt.Words{}.Warning(warn.GC, "stopped for up to %v", takt.Time("pause_max", time.Duration(rnd.IntN(9)+1)*time.Millisecond)), takt.Warning{Code: "odd", Message: fmt.Sprint("of ", i)})
		}
	}
	return parts
}

// The order in which shards come does not matter, to the last byte.
func TestFoldInAnyOrder(t *testing.T) {
	parts := oddShards(t, 7)
	want := asJSON(t, mustMerge(t, parts, merge.Options{ID: "01W"}))
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		rnd.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		if got := asJSON(t, mustMerge(t, parts, merge.Options{ID: "01W"})); got != want {
			t.Fatalf("%s\nin another order\n%s", got, want)
		}
	}
}

// A report of what has come so far does not change what comes later.
func TestFoldGoesOn(t *testing.T) {
	parts := oddShards(t, 5)
	want := asJSON(t, mustMerge(t, parts, merge.Options{ID: "01W", AllowMissing: true}))
	f := merge.New(merge.Options{ID: "01W", AllowMissing: true})
	if _, err := f.Report(); err == nil {
		t.Error("there is a report of nothing")
	}
	for i, p := range parts {
		if err := f.Add(p); err != nil {
			t.Fatal(err)
		}
		r, err := f.Report()
		if err != nil {
			t.Fatal(err)
		}
		if missing := r.Warned("shards_missing"); missing != (i < len(parts)-1) {
			t.Errorf("after %d shards: %v", i+1, r.Warnings)
		}
		if i == len(parts)-1 && asJSON(t, r) != want {
			t.Errorf("%s, want %s", asJSON(t, r), want)
		}
	}
}

// live is the number of bytes in use.
func live() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A fold forgets the intervals and histograms of a shard. The bound is generous: a shard's report has some
// hundred kilobytes.
func TestFoldForgets(t *testing.T) {
	const seconds, few, many, perShard = 60, 20, 220, 12 << 10
	text, err := json.Marshal(recordRun(recordedOps(rand.New(rand.NewPCG(2, 2)), seconds, 200, time.Millisecond), 0, 1, seconds, false))
	if err != nil {
		t.Fatal(err)
	}
	f := merge.New(merge.Options{})
	add := func(from, to int) {
		for k := from; k <= to; k++ {
			r, err := document.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			r.ID, r.Schedule.Shard = fmt.Sprint("01R", k), fmt.Sprintf("%d/%d", k, many)
			if err := f.Add(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(1, few)
	before := live()
	add(few+1, many)
	if grown := int64(live()) - int64(before); grown > (many-few)*perShard || len(text) < 5*perShard {
		t.Errorf("%d more shards of %d bytes each use %d bytes, more than %d each", many-few, len(text), grown, perShard)
	}
	if r, err := f.Report(); err != nil || len(r.Intervals) < seconds {
		t.Error(err)
	}
}

// What cannot be merged is named, with its shard, and there is no report of the others.
func TestFoldRefuses(t *testing.T) {
	all := recordShards(recordedOps(rand.New(rand.NewPCG(11, 12)), 3, 100, 0), 3, 3, false)
	huge := hist.New()
	huge.RecordN(time.Millisecond, 1<<62)
	for name, c := range map[string]struct {
		change func(p []*takt.Report)
		want   []string
	}{
		"many intervals":     {func(p []*takt.Report) { p[1].Intervals = make([]takt.Interval, 1201) }, []string{"shard 2/3 (01R2): it has 1201 intervals, and no report has more than 1200"}},
		"a late interval":    {func(p []*takt.Report) { p[1].Intervals[2].T = 1e9 }, []string{"shard 2/3 (01R2): an interval ends at 1e+09 s, after one at 2 s; use the report that takt wrote"}},
		"an early interval":  {func(p []*takt.Report) { p[1].Intervals[2].T = 1 }, []string{"shard 2/3 (01R2): an interval ends at 1 s, after one at 2 s; use the report that takt wrote"}},
		"a negative end":     {func(p []*takt.Report) { p[1].Intervals[0].T = -1 }, []string{"shard 2/3 (01R2): an interval ends at -1 s, after one at 0 s; use the report that takt wrote"}},
		"no end":             {func(p []*takt.Report) { p[1].Intervals[0].T = math.NaN() }, []string{"shard 2/3 (01R2): an interval ends at NaN s, after one at 0 s; use the report that takt wrote"}},
		"no length":          {func(p []*takt.Report) { p[1].IntervalS = 0 }, []string{"shard 2/3 (01R2) has intervals of 0 s, and takt writes 1 s, 2 s, 4 s and so on; use the report that takt wrote"}},
		"three times longer": {func(p []*takt.Report) { p[1].IntervalS = 3 }, []string{"shard 2/3 (01R2) has intervals of 3 s, and takt writes 1 s, 2 s, 4 s and so on; use the report that takt wrote"}},
		"too many values": {func(p []*takt.Report) {
			p[0].Intervals[0].HDR, p[1].Intervals[0].HDR = huge.Encode(), huge.Encode()
		}, []string{"shard 2/3 (01R2): the interval that ends at 1 s: cannot decode the histogram: its counts make more than 2^63 values; is it V2 compressed base64?"}},
		"twice":       {func(p []*takt.Report) { p[1].Schedule.Shard = "1/3" }, []string{"01R1 and 01R2 are both shard 1/3; give each shard once"}},
		"another run": {func(p []*takt.Report) { p[1].Schedule.RunGroup = "x" }, []string{`shard 2/3 (01R2) does not belong to shard 1/3 (01R1): it differs in run_group ("x", not "nightly")`}},
		"a lost histogram": {func(p []*takt.Report) {
			l := p[2].Latency["service"]
			l.HDR = ""
			p[2].Latency["service"] = l
		}, []string{fmt.Sprintf("shard 3/3 (01R3): service time: the histogram contains 0 of %d values; use the report that takt wrote", all[2].Latency["service"].Count)}},
		"several": {func(p []*takt.Report) {
			p[0].Intervals[0].T = -1
			p[1].Schedule.RunGroup = "x"
			p[2].Schedule.Shard = ""
		}, []string{
			"01R3 is not a shard, but the report of a whole run; give the reports of runs with --shard k/n",
			`shard 2/3 (01R2) does not belong to shard 1/3 (01R1): it differs in run_group ("x", not "nightly")`,
			"shard 1/3 (01R1): an interval ends at -1 s, after one at 0 s; use the report that takt wrote",
		}},
	} {
		parts := copied(t, all)
		c.change(parts)
		f := merge.New(merge.Options{AllowMissing: true})
		refused := false
		for _, p := range parts {
			refused = f.Add(p) != nil || refused
		}
		r, err := f.Report()
		var bad *merge.UnmergeableError
		if r != nil || !errors.As(err, &bad) || !slices.Equal(bad.Faults, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if !refused {
			t.Errorf("%s: each shard was accepted", name)
		}
	}
}

// The live interval of the whole is that of the report.
func TestIntervalsAreThoseOfTheReport(t *testing.T) {
	parts := recordShards(recordedOps(rand.New(rand.NewPCG(5, 5)), 4, 300, time.Millisecond), 4, 4, false)
	want := mustMerge(t, parts, merge.Options{}).Intervals
	var joiner merge.Joiner
	for i := range want {
		var list []takt.Interval
		for _, p := range parts {
			list = append(list, p.Intervals[i])
		}
		once, err := merge.Intervals(list)
		if err != nil {
			t.Fatal(err)
		}
		again, err := joiner.Join(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []takt.Interval{once, again} {
			if got, want := stringOf(got), stringOf(want[i]); !bytes.Equal(got, want) {
				t.Errorf("interval %d: %s, want %s", i, got, want)
			}
		}
		list[1].ServiceHDR = "nonsense"
		if _, err := joiner.Join(list); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("interval 2 of 4, which ends at %v s: ", list[1].T)) {
			t.Errorf("a damaged histogram: %v", err)
		}
	}
	if iv, err := merge.Intervals(nil); err != nil || iv.T != 0 || iv.HDR != "" || iv.Warmup {
		t.Errorf("of none: %+v, %v", iv, err)
	}
}

func stringOf(iv takt.Interval) []byte {
	text, _ := json.Marshal(iv)
	return text
}

// Hosts that the caller knows are those of the lines of parts, and their room is that of the others.
func TestFoldKnowsHosts(t *testing.T) {
	parts := recordShards(recordedOps(rand.New(rand.NewPCG(3, 3)), 4, 300, 0), 3, 4, false)
	parts[0].Verdict = takt.Invalid
	parts[0].Warn("generator_behind", "it fell behind")
	parts[2].Extra = map[string]any{"host": "c"}
	parts[2].Generator.CPUS = 1 // of 4 s
	whole := mustMerge(t, parts, merge.Options{Hosts: map[string]string{"1/3": "a", "2/3": "b"}})
	var hosts []any
	for _, v := range whole.Extra["parts"].([]any) {
		hosts = append(hosts, v.(map[string]any)["host"])
	}
	want := "shards_limited: the generator was the bottleneck in 1 of 3 shards (1/3); the others used at most 25 % of the CPU that they can use, which leaves room for up to 3.6 times their rate"
	if !slices.Equal(hosts, []any{"a", "b", "c"}) || !slices.ContainsFunc(whole.Warnings, func(w takt.Warning) bool { return bare(w) == want }) {
		t.Errorf("%v, %v", hosts, whole.Warnings)
	}
}

// With LeaveOut a report that is refused leaves no trace.
func TestFoldLeavesOut(t *testing.T) {
	all := recordShards(recordedOps(rand.New(rand.NewPCG(11, 12)), 3, 100, 0), 3, 3, false)
	o := merge.Options{ID: "01W", AllowMissing: true, LeaveOut: true}
	want := asJSON(t, mustMerge(t, []*takt.Report{all[0], all[2]}, o))
	for name, change := range map[string]func(p *takt.Report){
		"no shard":              func(p *takt.Report) { p.Schedule.Shard = "" },
		"the first again":       func(p *takt.Report) { p.Schedule.Shard = "1/3" },
		"another run":           func(p *takt.Report) { p.Schedule.RunGroup = "x" },
		"no group":              func(p *takt.Report) { p.Schedule.RunGroup = "" },
		"another label":         func(p *takt.Report) { p.Labels = map[string]string{"branch": "b"} },
		"another length":        func(p *takt.Report) { p.IntervalS = 3 },
		"a damaged interval":    func(p *takt.Report) { p.Intervals[2].ServiceHDR = "nonsense" },
		"a wrong interval":      func(p *takt.Report) { p.Intervals[2].T = 1 },
		"a damaged histogram":   func(p *takt.Report) { p.Latency["send_delay"] = takt.Latency{Count: 3, HDR: "nonsense"} },
		"a histogram of others": func(p *takt.Report) { p.Latency["connect"] = takt.Latency{Count: 99} },
	} {
		parts := copied(t, all)
		if name == "another label" {
			parts[0].Labels = map[string]string{"branch": "a"}
		}
		change(parts[1])
		f := merge.New(o)
		for i, p := range parts {
			if err := f.Add(p); (err != nil) != (i == 1) {
				t.Errorf("%s: shard %d: %v", name, i+1, err)
			}
		}
		got, err := f.Report()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "another label" {
			delete(got.Labels, "branch")
			got.Warnings = slices.DeleteFunc(got.Warnings, func(w takt.Warning) bool { return w.Code == "shards_differ" })
		}
		if got := asJSON(t, got); got != want {
			t.Errorf("%s: %s\nwant\n%s", name, got, want)
		}
		if err := f.Add(copied(t, all)[1]); err != nil && name != "another label" {
			t.Errorf("%s: the right report is refused afterwards: %v", name, err)
		}
	}
}

// A shard that ends a little after a full second has no second of its own.
func TestEnd(t *testing.T) {
	for _, c := range []struct{ before, t, span, want float64 }{
		{2, 3, 1, 3}, {2, 3.0004, 1, 3}, {2, 3.2, 1, 3.2}, {3, 3.0004, 1, 3.0004}, {0, 0.02, 1, 0.02}, {0, 1.01, 1, 1}, {2, 2.7, 1, 2.7},
		{6, 8.01, 2, 8}, {8, 8.01, 2, 8.01}, {0, 0, 1, 0},
	} {
		if got := merge.End(c.before, c.t, c.span); got != c.want {
			t.Errorf("an interval of %v s from %v to %v counts as one to %v, want %v", c.span, c.before, c.t, got, c.want)
		}
	}
}
