package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// rowsOf are the cells of a table that writer w shows, each row as one text.
func rowsOf(t *part.Table, w part.Outputs) (rows []string) {
	for i := range t.Rows {
		var cells []string
		for k, v := range t.Rows[i].Cells {
			if t.Columns[k].In.Has(w) {
				cells = append(cells, v.String()+v.Mark)
			}
		}
		if t.Rows[i].In.Has(w) {
			rows = append(rows, strings.Join(cells, "|"))
		}
	}
	return rows
}

// titles are those of the blocks that writer w shows, or the names of their drawings.
func titles(one part.Part, w part.Outputs) (list []string) {
	for _, b := range one.Blocks {
		name := b.Title + b.Fold
		if b.Drawing != nil {
			name = fmt.Sprint(b.Drawing)
		}
		if b.In.Has(w) {
			list = append(list, name)
		}
	}
	return list
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A cause has a row if it is 0.05 % of the time of all operations or of the slowest, and a part of both bars.
func TestCauses(t *testing.T) {
	r := &takt.Report{Attribution: takt.Attribution{Slices: []takt.Slice{
		{Below: 2048, Operations: 990, Parts: takt.Parts{Target: 9995, Input: 4.9}},
		{Below: 4096, Operations: 10, Parts: takt.Parts{Late: 0.04, Queue: 0.06, Network: 0.0000001}},
	}}}
	one := causes(&run{Report: r})
	all, slow, table := one.Blocks[0], one.Blocks[1], one.Blocks[2]
	equal(t, "causes", rowsOf(table.Table, part.Text), []string{
		"target|99.95 %|0.00 %|service time without the network", "queue|< 0.01 %|60.00 %|the target had all connections, or their streams", "takt late|< 0.01 %|40.00 %|takt was late or busy",
	})
	if table.Table.Columns[2].Title != "above 2.05ms" || slow.Title != "The slowest, above 2.05ms" || all.Bar[0].Part < 0.999 || slow.Bar[0].Part != 0 {
		t.Errorf("%+v\n%+v\n%+v", table.Table.Columns, all, slow)
	}
	for _, b := range []part.Block{all, slow} {
		if len(b.Bar) != len(reasons) {
			t.Errorf("%s has %d parts", b.Title, len(b.Bar))
		}
	}
	if one := causes(&run{Report: &takt.Report{}}); one.Blocks != nil {
		t.Errorf("nobody asked: %+v", one)
	}
}

// Text and Markdown have ten classes and how many more there are; a page has all. Result codes are beside them.
func TestFailures(t *testing.T) {
	r := &takt.Report{Counts: takt.Counts{Failed: 22}}
	for i := range 11 {
		r.Errors = append(r.Errors, takt.ErrorClass{Class: fmt.Sprint("c", i), Count: 2})
	}
	r.Errors[10].Count = 1
	one := failures(&run{Report: r})
	for _, w := range []part.Outputs{part.Text, part.Markdown} {
		rows := rowsOf(one.Blocks[1].Table, w)
		if last := rows[len(rows)-1]; len(rows) != 11 || !strings.HasPrefix(last, "and 1 more kind|1") {
			t.Errorf("%q", rows)
		}
	}
	if rows := rowsOf(one.Blocks[1].Table, part.HTML); len(rows) != 11 || !strings.HasPrefix(rows[10], "c10|") {
		t.Errorf("%q", rows)
	}
	equal(t, "blocks without codes", titles(one, part.HTML), []string{"errors"})
	r.Errors, r.Status = nil, map[string]uint64{"200": 3}
	one = failures(&run{Report: r})
	equal(t, "blocks without errors", titles(one, part.HTML), []string{""})
	if one.Lead != "No operation failed." || one.Blocks[0].Facts[0].Says != "200"+page.NoBreak+"×"+page.NoBreak+"3" {
		t.Errorf("%+v", one)
	}
}

// How commands of --fault ended, and what was out.
func TestFaultsAndOutages(t *testing.T) {
	code := func(n int) *int { return &n }
	for want, f := range map[string]takt.Fault{
		"exit code 0": {ExitCode: code(0)}, "exit code 3": {ExitCode: code(3)}, "ended by a signal": {ExitCode: code(-1)},
		"ended by takt": {ExitCode: code(-1), Stopped: true}, "did not start": {},
	} {
		if got := faultEnd(&f); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for parts, want := range map[int]string{1: "a: b", 2: "a and 1 more: b", 3: "a and 2 more: b"} {
		if got := outageCause(&takt.Outage{Parts: parts, First: "a", Cause: "b"}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Five shards are all shown; of six the worst five.
func TestShardsShown(t *testing.T) {
	for all, want := range map[int]string{1: "1 shard", 5: "5 shards", 6: "the worst 5 of 6 shards"} {
		if got := shardsShown(all, 5); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// over is a run of three intervals, the last one too short for a rate.
func over(change func(r *takt.Report)) part.Part {
	r := &takt.Report{Latency: map[string]takt.Latency{takt.LatencyResponse: {Count: 3}}, Intervals: []takt.Interval{
		{T: 1, Scheduled: 4, OK: 4}, {T: 2, Scheduled: 4, OK: 4}, {T: 2.1, OK: 1},
	}}
	if change != nil {
		change(r)
	}
	return overTime(&run{Report: r, primary: takt.LatencyResponse})
}

// A chart over time is there if there is something to see, and no curve shows a rate of a tiny interval.
func TestOverTime(t *testing.T) {
	equal(t, "a quiet run", titles(over(nil), part.HTML), []string{"time", "Due and completed, a second"})
	equal(t, "everything", titles(over(func(r *takt.Report) {
		r.Stalls = []takt.Stall{{FromS: 1, ToS: 2, LongestUS: 1e6, Held: 7}}
		r.Intervals[0].InFlightMax, r.Intervals[1].Failed, r.Intervals[1].Errors = 3, 1, map[string]uint64{"5xx": 1}
		r.Latency[takt.LatencyScheduleLag] = takt.Latency{Count: 1}
	}), part.HTML), []string{"time", "Stalls (1)", "Due and completed, a second", "Failed a second: 5xx", "In flight, at most", "lag"})
	rates := over(func(r *takt.Report) { r.Intervals[1].Dropped = 1 }).Blocks[1].Curves
	if len(rates.List) != 3 || rates.List[2].Highest() != 1 || rates.End != 2.1 {
		t.Errorf("%+v", rates)
	}
	for i, unknown := range []bool{false, false, true} {
		if at := rates.List[1].Points[i]; at.Unknown != unknown || !unknown && at.Value != 4 {
			t.Errorf("interval %d: %+v", i, at)
		}
	}
}

// What a reader must know of percentiles is below them, from the first dropped operation on.
func TestNotesOfPercentiles(t *testing.T) {
	for n, want := range map[uint64]bool{0: false, 1: true} {
		r := &takt.Report{Counts: takt.Counts{Dropped: n}, Latency: map[string]takt.Latency{takt.LatencyResponse: {Count: 3}}}
		one := percentiles(&run{Report: r, unit: unitOf(r)})
		if got := strings.Contains(fmt.Sprint(one.Blocks[1].Below), "truncated: 1 dropped"); got != want {
			t.Errorf("%d dropped: %+v", n, one.Blocks[1].Below)
		}
	}
}

// The colour of the verdict, and the noise floor in a page.
func TestWordsOfARun(t *testing.T) {
	r := &takt.Report{Verdict: takt.Valid, Counts: takt.Counts{OK: 1}, Generator: takt.Generator{NoiseFloorUS: 30}}
	if colour, words := VerdictWords(r); colour != page.Green || words != "valid run" {
		t.Errorf("%s %s", colour, words)
	}
	r.Warn("gc", "often")
	if colour, words := VerdictWords(r); colour != page.Yellow || words != "valid run, with 1 warning" {
		t.Errorf("%s %s", colour, words)
	}
	facts := About(r, true).Blocks[1].Facts
	if i := slices.IndexFunc(facts, func(f part.Fact) bool { return f.Label == "noise floor" }); i < 0 || facts[i].Says != "30µs" || facts[i].In != part.HTML {
		t.Errorf("%+v", facts)
	}
}

// A page has a chart for each group of figures of the server that it knows.
func TestServerCharts(t *testing.T) {
	r := &takt.Report{Intervals: []takt.Interval{{T: 1}, {T: 2}}}
	for i := range 2 {
		r.ServerSeconds = append(r.ServerSeconds, takt.ServerSecond{From: float64(i), T: float64(i + 1), Figures: map[string]float64{timeline.Acked: 3, timeline.CPU: 0.5}})
	}
	equal(t, "charts", titles(server(&run{Report: r}), part.HTML), []string{"Server: events a second", "Server: CPU, of one core", "The server as a table"})
}
