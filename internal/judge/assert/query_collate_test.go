package assert_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// setup is a run that is like others but for what is given.
type setup struct {
	kind      string // http unless given
	variables map[string]any
	flags     map[string]any
	labels    map[string]string
	host      string
	p99       float64 // µs
}

// runsOf makes runs a, b, c … in the order of their starts.
func runsOf(setups ...setup) (list []stored.Run) {
	for i, s := range setups {
		v := map[string]any{"duration_s": 30.0, "workers": 1.0}
		for name, value := range s.variables {
			v[name] = value
		}
		if s.flags != nil {
			v["flags"] = s.flags
		}
		if s.kind == "" {
			s.kind = "http"
		}
		list = append(list, stored.Run{
			ID: string(rune('a' + i)), Kind: s.kind, StartedAt: time.Unix(int64(i)*60, 0).UTC(), Labels: s.labels,
			Settings: stored.NewSettings(v, s.host),
			Figures:  stored.Figures{Names: []string{"rate", "p50", "p99"}, Values: []float64{100, s.p99 / 2, s.p99}},
		})
	}
	return list
}

func on(branch, revision string) map[string]string {
	return map[string]string{"branch": branch, "revision": revision, "revision_date": "2026-01-0" + revision + "T00:00:00Z"}
}

// none is a load for collations that need no report.
func none(ids ...string) ([]*takt.Report, error) { return nil, fmt.Errorf("asked for %v", ids) }

// alike loads reports with one operation each.
func alike(ids ...string) ([]*takt.Report, error) {
	h := hist.New()
	h.Record(time.Millisecond)
	r := &takt.Report{Latency: map[string]takt.Latency{"response": h.Summary()}}
	return slices.Repeat([]*takt.Report{r}, len(ids)), nil
}

func options(t *testing.T, variable, sort string, words ...string) query.CollateOptions {
	t.Helper()
	by, err := query.ParseSort(sort)
	if err != nil {
		t.Fatal(err)
	}
	return query.CollateOptions{Variable: variable, Sort: by, Filters: filters(t, words...)}
}

// shape writes groups as the ids of their rows: [c b | a] [d].
func shape(c query.Collation) string {
	var groups []string
	for _, g := range c.Groups {
		var rows []string
		for _, r := range g.Rows {
			rows = append(rows, strings.Join(r.IDs, " "))
		}
		groups = append(groups, "["+strings.Join(rows, " | ")+"]")
	}
	return strings.Join(groups, " ")
}

func TestCollateGroups(t *testing.T) {
	workers := func(n float64) map[string]any { return map[string]any{"workers": n} }
	inFlight := func(connections, bound int) setup {
		return setup{variables: map[string]any{"connections": connections, "max_in_flight": bound}}
	}
	// The workers of takt apm are its connections.
	ofApm := func(workers, connections, bound int) setup {
		return setup{variables: map[string]any{"workers": workers, "connections": connections, "max_in_flight": bound}}
	}
	flag := func(v string) map[string]any { return map[string]any{"tracing": v} }
	for name, c := range map[string]struct {
		variable string
		runs     []stored.Run
		want     string
	}{
		"a variable":                           {"workers", runsOf(setup{}, setup{variables: workers(2)}, setup{}), "[c a | b]"},
		"by hey-apm's name":                    {"concurrency", runsOf(setup{}, setup{variables: workers(2)}), "[b | a]"},
		"by two names":                         {"rate", runsOf(setup{variables: map[string]any{"rate": "max"}}, setup{variables: map[string]any{"rate_per_s": 9}}, setup{variables: map[string]any{"rate_per_s": 8}}), "[c | b | a]"},
		"connections bound what is in flight":  {"connections", runsOf(inFlight(1, 1), inFlight(2, 2), inFlight(2, 1), inFlight(3, 1)), "[d | c] [b | a]"},
		"workers are connections":              {"concurrency", runsOf(ofApm(1, 1, 1), ofApm(20, 20, 20), ofApm(4, 4, 9), ofApm(5, 5, 9)), "[d | c] [b | a]"},
		"others are equal":                     {"workers", runsOf(setup{}, setup{variables: map[string]any{"duration_s": 60}}), "[b] [a]"},
		"numbers are equal as JSON has them":   {"workers", runsOf(setup{}, setup{variables: map[string]any{"duration_s": 30}}), "[b a]"},
		"the kind is equal":                    {"workers", runsOf(setup{}, setup{kind: "kafka"}), "[b] [a]"},
		"the class of host is equal":           {"workers", runsOf(setup{}, setup{host: "x"}), "[b] [a]"},
		"other labels are equal":               {"workers", runsOf(setup{}, setup{labels: map[string]string{"team": "x"}}), "[b] [a]"},
		"branch and revision are equal":        {"workers", runsOf(setup{labels: on("main", "1")}, setup{labels: on("main", "2")}, setup{labels: on("dev", "1")}), "[c] [b] [a]"},
		"a label":                              {"team", runsOf(setup{labels: map[string]string{"team": "x"}}, setup{labels: map[string]string{"team": "y"}}), "[b | a]"},
		"a branch lets the revision differ":    {"branch", runsOf(setup{labels: on("main", "1")}, setup{labels: on("dev", "2")}, setup{labels: on("dev", "3")}), "[c | b | a]"},
		"a revision does not lift the branch":  {"revision", runsOf(setup{labels: on("main", "1")}, setup{labels: on("main", "2")}, setup{labels: on("dev", "2")}), "[c] [b | a]"},
		"flags stand beside a variable":        {"workers", runsOf(setup{flags: flag("true")}, setup{flags: flag("false")}, setup{flags: flag("true")}), "[c a | b]"},
		"flags stand beside a branch":          {"branch", runsOf(setup{labels: on("main", "1"), flags: flag("true")}, setup{labels: on("main", "1")}), "[b | a]"},
		"flags are equal for a revision":       {"revision", runsOf(setup{labels: on("main", "1"), flags: flag("true")}, setup{labels: on("main", "1")}), "[b] [a]"},
		"a flag":                               {"tracing", runsOf(setup{flags: flag("true")}, setup{flags: flag("false")}), "[b | a]"},
		"other flags are equal for a flag":     {"tracing", runsOf(setup{flags: flag("true")}, setup{flags: map[string]any{"tracing": "false", "x": "1"}}), "[b] [a]"},
		"a run without the flag stands beside": {"tracing", runsOf(setup{flags: flag("true")}, setup{}), "[b | a]"},
		"but opens no group":                   {"tracing", runsOf(setup{flags: flag("true")}, setup{variables: workers(2)}), "[a]"},
		"a flag named as a variable":           {"flag.workers", runsOf(setup{flags: map[string]any{"workers": "3"}}, setup{variables: workers(2), flags: map[string]any{"workers": "4"}}), "[b] [a]"},
		"a variable named as a flag":           {"variable.workers", runsOf(setup{flags: map[string]any{"workers": "3"}}, setup{variables: workers(2), flags: map[string]any{"workers": "4"}}), "[b | a]"},
	} {
		got, err := query.Collate(c.runs, options(t, c.variable, ""), alike)
		if err != nil || shape(got) != c.want {
			t.Errorf("%s: %s (%v), want %s", name, shape(got), err, c.want)
		}
		backwards := slices.Clone(c.runs)
		slices.Reverse(backwards)
		if again, _ := query.Collate(backwards, options(t, c.variable, ""), alike); !reflect.DeepEqual(again, got) {
			t.Errorf("%s: the order of the runs matters: %s and %s", name, shape(again), shape(got))
		}
	}
}

func TestCollateChoice(t *testing.T) {
	runs := runsOf(setup{p99: 40}, setup{variables: map[string]any{"workers": 2}, p99: 20}, setup{variables: map[string]any{"workers": 4}, p99: 30},
		setup{variables: map[string]any{"duration_s": 60}, p99: 10}, setup{variables: map[string]any{"workers": 8}, p99: 1}, setup{p99: 1})
	runs[4].Unfit = "cancelled"
	runs[5].Shard = "1/2"
	for name, c := range map[string]struct {
		change func(*query.CollateOptions)
		sort   string
		words  []string
		want   string
		hidden int
		unfit  int
	}{
		"all":                        {nil, "", nil, "[d] [c | b | a]", 0, 1},
		"a filter opens a group":     {nil, "", []string{"workers=2"}, "[c | b | a]", 0, 0},
		"by id":                      {nil, "", []string{"report_id=A"}, "[c | b | a]", 0, 0},
		"better first":               {nil, "p99", nil, "[d] [b | c | a]", 0, 1},
		"larger first":               {nil, "duration", nil, "[d] [c | b | a]", 0, 1},
		"since":                      {func(o *query.CollateOptions) { o.Since = time.Unix(180, 0) }, "", nil, "[d]", 0, 1},
		"a limit":                    {func(o *query.CollateOptions) { o.Limit = 1 }, "", nil, "[d]", 3, 1},
		"the first by the criterion": {func(o *query.CollateOptions) { o.Limit = 2 }, "p99", nil, "[d] [b | c | a]", 0, 1},
		"with the unfit":             {func(o *query.CollateOptions) { o.All = true }, "", nil, "[e | c | b | a] [d]", 0, 0},
	} {
		o := options(t, "workers", c.sort, c.words...)
		if c.change != nil {
			c.change(&o)
		}
		got, err := query.Collate(runs, o, none)
		if err != nil || shape(got) != c.want || got.Hidden != c.hidden || got.Unfit != c.unfit {
			t.Errorf("%s: %s, %d hidden, %d unfit (%v); want %s, %d, %d", name, shape(got), got.Hidden, got.Unfit, err, c.want, c.hidden, c.unfit)
		}
	}
}

// A group shows the rows that opened it and at most 20 others.
func TestCollateBeside(t *testing.T) {
	var setups []setup
	for i := range 26 {
		setups = append(setups, setup{variables: map[string]any{"workers": i}})
	}
	got, err := query.Collate(runsOf(setups...), options(t, "workers", "", "workers<2"), none)
	if err != nil {
		t.Fatal(err)
	}
	if want := "[z | y | x | w | v | u | t | s | r | q | p | o | n | m | l | k | j | i | h | g | b | a]"; shape(got) != want || got.Groups[0].Hidden != 4 {
		t.Errorf("%s, %d hidden; want %s, 4", shape(got), got.Groups[0].Hidden, want)
	}
}

func TestCollateFaults(t *testing.T) {
	runs := runsOf(setup{labels: on("main", "1")}, setup{flags: map[string]any{"tracing": "true"}})
	cut := runsOf(setup{})
	cut[0].Unfit = "cancelled"
	for name, c := range map[string]struct {
		runs     []stored.Run
		variable string
		sort     string
		words    []string
		want     string
	}{
		"an unknown variable":   {runs, "trcing", "", nil, `no run has a variable, label or flag "trcing"; use one of tracing `},
		"a metric":              {runs, "p99", "", nil, `no run has a variable, label or flag "p99"; use one of `},
		"a filter first":        {runs, "branch=main", "", nil, `"branch=main" is not a variable to collate by; give the name of a variable first`},
		"no variable":           {runs, "", "", nil, `"" is not a variable to collate by`},
		"a revision's date":     {runs, "revision_date", "", nil, `use collate revision --sort revision_date`},
		"no runs":               {nil, "branch", "", nil, "no run matches: the store has no such runs; make some first"},
		"an unknown field":      {runs, "branch", "", []string{"wokers=1"}, `filter "wokers=1": no run has "wokers"; use one of workers `},
		"nothing chosen":        {runs, "branch", "", []string{"workers=7"}, "no run matches; change the filters or --since; takt runs lists the stored runs"},
		"none has the variable": {runs, "tracing", "", []string{"branch=main"}, "no run matches that has tracing (without it: 1); collate by another variable, or change the filters"},
		"none is fit":           {cut, "workers", "", nil, "no run matches from which something can be concluded (cut short or invalid: 1); add --all to see them"},
		"an unknown criterion":  {runs, "workers", "efficency", nil, `cannot sort by "efficency": no run has such a number or date; use one of report_date `},
	} {
		_, err := query.Collate(c.runs, options(t, c.variable, c.sort, c.words...), none)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
		var asked *stored.UsageError
		if errors.As(err, &asked) == strings.Contains(c.want, "no run matches") {
			t.Errorf("%s: UsageError in %v", name, err)
		}
		if got := errors.Is(err, query.ErrNothingToCollate); got != strings.Contains(c.want, "no run matches") {
			t.Errorf("%s: ErrNothingToCollate %t", name, got)
		}
	}
}

// Percentiles of a row are those of one histogram of all operations of its runs; other
// figures are the median.
func TestCollateMerges(t *testing.T) {
	var setups []setup
	reports, all := map[string]*takt.Report{}, hist.New()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 5 {
		h := hist.New()
		for range 100 * (i + 1) {
			d := time.Duration(random.ExpFloat64() * 1e6)
			h.Record(d)
			all.Record(d)
		}
		setups = append(setups, setup{p99: h.Summary().P99})
		reports[string(rune('a'+i))] = &takt.Report{Latency: map[string]takt.Latency{"response": h.Summary()}}
	}
	runs := runsOf(setups...)
	for i := range runs {
		runs[i].Figures.Values[0] = []float64{10, 50, 20, 40, 30}[i]
	}
	got, err := query.Collate(runs, options(t, "workers", ""), func(ids ...string) (list []*takt.Report, err error) {
		for _, id := range ids {
			list = append(list, reports[id])
		}
		return list, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	row := got.Groups[0].Rows[0]
	if f := row.Figures["p99"]; f.Value != all.Summary().P99 || row.Merged != 5 || f.Min == f.Max {
		t.Errorf("%d merged: %+v, want %v", row.Merged, f, all.Summary().P99)
	}
	if f, want := row.Figures["rate"], (query.Figure{Value: 30, Median: 30, Min: 10, Max: 50}); f != want {
		t.Errorf("%+v, want %+v", f, want)
	}
	boom := errors.New("boom")
	if _, err := query.Collate(runs, options(t, "workers", ""), func(...string) ([]*takt.Report, error) { return nil, boom }); !errors.Is(err, boom) {
		t.Errorf("the error of load: %v", err)
	}
}

// However many runs the rows have, at most 100 reports are read, the newest of each row,
// and a row says of how many it is.
func TestCollateMergesWithinBound(t *testing.T) {
	for _, c := range []struct {
		rows   int
		runs   []int // of each row, in turn
		merged []int
		read   int
	}{
		{2, []int{3, 1}, []int{3, 1}, 3},
		{2, []int{2, 500}, []int{2, 98}, 100},
		{4, []int{50}, []int{25}, 100},
		{200, []int{1}, []int{1}, 0},
	} {
		var list []stored.Run
		for row := range c.rows {
			for i := range c.runs[row%len(c.runs)] {
				r := runsOf(setup{variables: map[string]any{"workers": row}})[0]
				r.ID, r.StartedAt = fmt.Sprintf("%d/%04d", row, i), time.Unix(int64(i), 0)
				list = append(list, r)
			}
		}
		read := 0
		got, err := query.Collate(list, options(t, "workers", "workers"), func(ids ...string) ([]*takt.Report, error) {
			read += len(ids)
			return alike(ids...)
		})
		if err != nil || read != c.read {
			t.Errorf("%d reports were read, want %d (%v)", read, c.read, err)
			continue
		}
		for i, r := range got.Groups[0].Rows {
			row := c.rows - 1 - i
			if want := c.merged[row%len(c.merged)]; r.Merged != want || len(r.IDs) != c.runs[row%len(c.runs)] {
				t.Errorf("row %d of %d: %d runs, %d merged, want %d", row, c.rows, len(r.IDs), r.Merged, want)
			}
		}
	}
}

// each loads a report for each run: one operation of the latency that is its p99.
func each(runs []stored.Run) query.Load {
	reports := map[string]*takt.Report{}
	for _, r := range runs {
		p99, _ := r.Figures.Get("p99")
		h := hist.New()
		h.Record(time.Duration(p99 * 1e3))
		reports[r.ID] = &takt.Report{ID: r.ID, Latency: map[string]takt.Latency{"response": h.Summary()}}
	}
	return func(ids ...string) (list []*takt.Report, err error) {
		for _, id := range ids {
			list = append(list, reports[id])
		}
		return list, nil
	}
}

func TestCollateBest(t *testing.T) {
	for name, c := range map[string]struct {
		rows []string // p99 of the runs, µs
		want string   // of the rows
	}{
		"one row is best of nothing":     {[]string{"1"}, "-"},
		"single runs":                    {[]string{"2", "1"}, "- ?4"},
		"three of each are too few":      {[]string{"1 2 3", "4 5 6"}, "?4 -"},
		"four of each, apart":            {[]string{"1 2 3 4", "5 6 7 8"}, "sure -"},
		"four of each, not quite apart":  {[]string{"1 2 3 5", "4 6 7 8"}, "best -"},
		"against the second best only":   {[]string{"9 9 9 9", "1 2 3 4", "5 6 7 8"}, "- sure -"},
		"equal histograms":               {[]string{"1 2 3 4", "1 2 3 4"}, "- -"},
		"one run spoils all operations":  {[]string{"1 1 1 1 9", "5 5 5 5 5"}, "- best"}, // though the runs are apart the other way
		"one run lacks many of the rest": {[]string{"1", "2 3 4 5 6"}, "?3 -"},
		"an unfit row is not judged":     {[]string{"-1", "2", "3"}, "- ?4 -"},
		"nor one with an unfit run":      {[]string{"1 -1 1 1", "2"}, "- -"},
	} {
		var list []stored.Run
		for row, text := range c.rows {
			for i, word := range strings.Fields(text) {
				var p99 float64
				fmt.Sscan(word, &p99)
				r := runsOf(setup{variables: map[string]any{"workers": -row}, p99: p99})[0] // the first row first
				r.ID = fmt.Sprintf("%d/%d", row, i)
				if p99 < 0 {
					r.Unfit = "it dropped events"
				}
				list = append(list, r)
			}
		}
		o := options(t, "workers", "workers")
		o.All = true
		got, err := query.Collate(list, o, each(list))
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, r := range got.Groups[0].Rows {
			word := "-"
			switch {
			case r.Sure && r.Best && r.Wanted == 0:
				word = "sure"
			case r.Wanted > 0 && r.Best && !r.Sure:
				word = fmt.Sprint("?", r.Wanted)
			case r.Best:
				word = "best"
			}
			words = append(words, word)
		}
		if s := strings.Join(words, " "); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}

// A row that fails is never the best and never stands out, and says why; of rows at different rates none is.
func TestCollateRanksWhatWorks(t *testing.T) {
	for name, c := range map[string]struct {
		variable string
		errors   []float64 // of the rows, whose p99 rises from row to row; per cent
		best     int       // row; −1: none
		unranked string    // text of the first row
	}{
		"good rows":            {"workers", []float64{0, 0, 0, 0}, 0, ""},
		"the fastest fails":    {"workers", []float64{94, 0, 0, 0}, 1, "94 % of its operations are errors"},
		"too different errors": {"workers", []float64{0.5, 0, 0, 0}, -1, ""},
		"different rates":      {"rate_per_s", []float64{0, 0, 0, 0}, -1, ""},
	} {
		var list []stored.Run
		for row, errors := range c.errors {
			for i := range 6 {
				r := runsOf(setup{variables: map[string]any{c.variable: row + 1}, p99: float64(1000*(1+10*row) + i)})[0]
				r.ID = fmt.Sprintf("%d/%d", row, i)
				r.Figures = stored.Figures{Names: []string{"p99", "errors"}, Values: []float64{float64(1000*(1+10*row) + i), errors}}
				list = append(list, r)
			}
		}
		got, err := query.Collate(list, options(t, c.variable, "p99"), each(list))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range got.Groups[0].Rows {
			if r.Best != (i == c.best) {
				t.Errorf("%s: row %d is best: %v", name, i, r.Best)
			}
			if r.Apart != nil && (c.best < 0 || r.Unranked != "") {
				t.Errorf("%s: row %d stands out", name, i)
			}
		}
		if text := got.Groups[0].Rows[0].Unranked; text != c.unranked {
			t.Errorf("%s: %q, want %q", name, text, c.unranked)
		}
	}
}

// Rows and groups are in the order of what is shown, also where medians of the runs have
// another; a criterion without a column gets one.
func TestCollateSortsByWhatIsShown(t *testing.T) {
	workers := func(n int) map[string]any { return map[string]any{"workers": n} }
	runs := runsOf(setup{p99: 1}, setup{p99: 1}, setup{p99: 90}, setup{variables: workers(2), p99: 5}, setup{variables: workers(2), p99: 6},
		setup{kind: "kafka", p99: 7}, setup{kind: "kafka", variables: workers(2), p99: 8})
	got, err := query.Collate(runs, options(t, "workers", "p99"), each(runs))
	if want := "[e d | c b a] [f | g]"; err != nil || shape(got) != want {
		t.Fatalf("%s (%v), want %s", shape(got), err, want)
	}
	rows := got.Groups[0].Rows
	if f := rows[1].Figures["p99"]; f.Value < 89 || f.Median != 1 || f.Max != 90 || !rows[0].Best {
		t.Errorf("%+v of %+v", f, rows)
	}
	runs = runsOf(setup{p99: 1}, setup{variables: workers(2), p99: 2})
	for i := range runs {
		runs[i].Figures = stored.Figures{Names: []string{"p99", "service.p50"}, Values: []float64{1, float64(2 - i)}}
	}
	got, err = query.Collate(runs, options(t, "workers", "service.p50"), none)
	if err != nil || shape(got) != "[b | a]" || !slices.Contains(got.Groups[0].Metrics, "service.p50") || got.Groups[0].Rows[1].Figures["service.p50"].Value != 2 {
		t.Errorf("%s %+v (%v)", shape(got), got.Groups, err)
	}
}

// A histogram that cannot be read is left out and named, whatever its place.
func TestCollateLeavesOutDamagedHistograms(t *testing.T) {
	for _, damaged := range []string{"a", "c", "a b", "a b c"} {
		runs := runsOf(setup{p99: 10}, setup{p99: 20}, setup{p99: 30})
		load := func(ids ...string) ([]*takt.Report, error) {
			list, err := each(runs)(ids...)
			for _, r := range list {
				if strings.Contains(damaged, r.ID) {
					r.Latency["response"] = takt.Latency{HDR: "nonsense"}
				}
			}
			return list, err
		}
		got, err := query.Collate(runs, options(t, "workers", ""), load)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got.Unreadable)
		row := got.Groups[0].Rows[0]
		want := map[string]float64{"a": 30, "c": 20, "a b": 30, "a b c": 30}[damaged] // of none it is the figure of the newest
		if strings.Join(got.Unreadable, " ") != damaged || row.Merged != max(1, 3-len(got.Unreadable)) || math.Abs(row.Figures["p99"].Value-want) > 0.1 {
			t.Errorf("damaged %s: left out %v, %d merged, %+v, want %v", damaged, got.Unreadable, row.Merged, row.Figures["p99"], want)
		}
	}
}

func TestCollateQuery(t *testing.T) {
	for variable, want := range map[string]map[string]string{
		"workers":  {"branch": "main", "revision": "x"},
		"revision": {"branch": "main"},
		"branch":   {},
	} {
		if got := options(t, variable, "", "branch=main", "revision=x", "workers=1").Query().Labels; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", variable, got, want)
		}
	}
}

// many are n runs of 200 settings, 10 branches and 50 revisions.
func many(n int) []stored.Run {
	var settings []*stored.Settings
	for i := range 200 {
		settings = append(settings, stored.NewSettings(map[string]any{"workers": i % 10, "events": i / 10, "duration_s": 30, "host": "a"}, ""))
	}
	names := []string{"errors", "rate", "p50", "p99"}
	list := make([]stored.Run, n)
	for i := range list {
		revision := i / 200 / 10 % 50
		list[i] = stored.Run{
			ID: fmt.Sprintf("%08d", i), Kind: "http", StartedAt: time.Unix(int64(i), 0), Settings: settings[i%200],
			Labels: map[string]string{"branch": fmt.Sprint("b", i/200%10), "revision": fmt.Sprint("r", revision),
				"revision_date": time.Unix(int64(revision)*86400, 0).UTC().Format(time.RFC3339)},
			Figures: stored.Figures{Names: names, Values: []float64{0, 100, 1, math.Sqrt(float64(i))}},
		}
	}
	return list
}

func BenchmarkCollate(b *testing.B) {
	runs := many(100_000)
	for _, variable := range []string{"revision", "branch", "workers"} {
		b.Run(variable, func(b *testing.B) {
			for b.Loop() {
				fs, err := query.ParseFilters([]string{"branch=b1"})
				if err != nil {
					b.Fatal(err)
				}
				by, err := query.ParseSort("revision_date")
				if err != nil {
					b.Fatal(err)
				}
				if _, err := query.Collate(runs, query.CollateOptions{Variable: variable, Filters: fs, Sort: by, Limit: 20}, alike); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFilters(b *testing.B) {
	runs := many(100_000)
	for b.Loop() {
		fs, err := query.ParseFilters([]string{"branch=b1", "p99<100ms", "workers>=5"})
		if err != nil {
			b.Fatal(err)
		}
		for i := range runs {
			fs.Match(&runs[i])
		}
	}
}
