package history

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
)

// Several runs of a revision are one point, the median, with a spread, however often one revision was run.
func TestSeveralRuns(t *testing.T) {
	runs := levels(20, nil, nil)
	for _, factor := range []float64{0.8, 1.1, 1.2, 1.3} {
		again := runOf(7, 4000*factor, 0)
		again.StartedAt = again.StartedAt.AddDate(0, 0, 100) // later than all others
		runs = append(runs, again)
	}
	h := collected(t, DefaultOptions(), runs...)
	g, s := &h.Groups[0], h.series(t, "p99")
	if len(g.Revisions) != 20 || g.Runs != 24 || g.Revisions[7].Runs != 5 {
		t.Fatalf("%d revisions of %d runs, the 7th has %d", len(g.Revisions), g.Runs, g.Revisions[7].Runs)
	}
	if p := s.Points[7]; p.Value != 4400 || p.Low != 3200 || p.High != 5200 {
		t.Errorf("the point of five runs is %+v", p)
	}
}

// Revisions are in order of their date; without one, of their first run. Equal dates follow the first run,
// then the name.
func TestOrder(t *testing.T) {
	day := func(d int) time.Time { return dayZero.AddDate(0, 0, d) }
	run := func(revision, date string, started time.Time) stored.Run {
		r := runOf(0, 4000, 0)
		r.ID, r.StartedAt = revision, started
		r.Labels = map[string]string{"revision": revision}
		if date != "" {
			r.Labels["revision_date"] = date
		}
		return r
	}
	h := collected(t, DefaultOptions(),
		run("late", "2026-12-24", day(0)),
		run("undated", "", day(3)),
		run("undated", "", day(50)), // running it again does not make it newer
		run("same-b", "2026-09-10", day(20)),
		run("same-a", "2026-09-10", day(20)),
		run("same-early", "2026-09-10", day(10)),
		run("bad date", "yesterday", day(5)),
		run("early", "2020-01-01", day(60)),
		run("same-early", "2026-09-10", day(40)), // added before its first run
	)
	var names []string
	for _, r := range h.Groups[0].Revisions {
		names = append(names, r.Name)
	}
	if want := []string{"early", "undated", "bad date", "same-early", "same-a", "same-b", "late"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if h.Verdict != Inconclusive {
		t.Errorf("seven revisions: %s", h.Verdict)
	}
}

// Values that cannot be judged are left out and counted: no number, no logarithm, or errors among latencies.
func TestSkipped(t *testing.T) {
	runs := levels(30, nil, nil)
	for i, v := range []float64{math.NaN(), math.Inf(1), 0, -5} {
		runs[i].Figures.Values[1] = v
	}
	runs[4].Figures.Values[2] = 40 // fast errors
	runs[4].Figures.Values[1] = 10
	runs[5].Figures.Names = runs[5].Figures.Names[:1]
	h := collected(t, DefaultOptions(), runs...)
	s := h.series(t, "p99")
	if len(s.Points) != 24 || s.Skipped != 6 || s.Points[0].At != 6 {
		t.Errorf("%d points from %d on, %d runs skipped", len(s.Points), s.Points[0].At, s.Skipped)
	}
	if _, err := json.Marshal(h); err != nil {
		t.Error(err)
	}
}

func TestErrorsChange(t *testing.T) {
	var runs []stored.Run
	for i := range 30 {
		errors := 0.0
		if i >= 18 {
			errors = 0.5
		}
		runs = append(runs, runOf(i, 4000, errors))
	}
	h := collected(t, DefaultOptions(), runs...)
	s := h.series(t, "errors")
	if len(s.Changes) != 1 || !s.Absolute || s.Changes[0].At != 18 || s.Changes[0].Difference != 0.5 || h.Verdict != Regressed {
		t.Errorf("%s: %+v", h.Verdict, s.Changes)
	}
}

// A change up to the tolerance does not count, but small changes that add up do.
func TestCreep(t *testing.T) {
	if h := collected(t, DefaultOptions(), steps(60, 30, 1.03)...); h.Verdict != OK || len(h.series(t, "p99").Changes) > 0 {
		t.Errorf("one step of 3 %%: %s, %+v", h.Verdict, h.series(t, "p99").Changes)
	}
	if h := collected(t, DefaultOptions(), steps(100, 20, 1.03)...); h.Verdict != Regressed {
		t.Errorf("four steps of 3 %%: %s, %+v", h.Verdict, h.series(t, "p99").Changes)
	}
}

// steps are n runs that become slower by a factor every so many revisions.
func steps(n, every int, factor float64) (runs []stored.Run) {
	for i := range n {
		runs = append(runs, runOf(i, 4000*math.Pow(factor, float64(i/every))*(1+float64(i*7%5)/1000), 0))
	}
	return runs
}

// One or two revisions beside the others are outliers, at the end as well.
func TestOutliers(t *testing.T) {
	runs := levels(40, nil, nil)
	for _, i := range []int{12, 38, 39} {
		runs[i].Figures.Values[1] *= 1.6
	}
	h := collected(t, DefaultOptions(), runs...)
	if s := h.series(t, "p99"); len(s.Changes) > 0 || s.Noise.Outliers != 3 {
		t.Errorf("%d outliers: %+v", s.Noise.Outliers, s.Changes)
	}
}

// A noisy series says how many revisions it lacks, and a short one too.
func TestMissing(t *testing.T) {
	runs := levels(20, nil, nil)
	for i := range runs {
		runs[i].Figures.Values[1] *= 1 + float64(i*13%7)/14 // ± 25 %
	}
	h := collected(t, DefaultOptions(), runs...)
	if s := h.series(t, "p99"); h.Verdict != Inconclusive || s.Verdict != Inconclusive || s.Noise.Missing < 20 || s.Noise.Missing != s.Noise.Needed-20 {
		t.Errorf("%s: %+v", s.Verdict, s.Noise)
	}
	few := collected(t, DefaultOptions(), levels(5, nil, nil)...)
	if s := few.series(t, "p99"); few.Verdict != Inconclusive || s.Noise.Missing < 3 || s.Noise.Missing > 15 {
		t.Errorf("5 revisions: %s, %+v", few.Verdict, s.Noise)
	}
	one := collected(t, DefaultOptions(), runOf(0, 4000, 0))
	if s := one.series(t, "p99"); one.Verdict != Inconclusive || len(s.Points) != 1 || s.Noise.Missing < 5 {
		t.Errorf("1 revision: %s, %+v", one.Verdict, s.Noise)
	}
}

// Runs with other settings, another host or another label have a series of their own, unless that may
// differ.
func TestGroups(t *testing.T) {
	runs := levels(24, []int{12}, []float64{1.3})
	for i := range runs {
		runs[i].Labels["build"] = []string{"a", "b"}[i%2]
		if i%4 < 2 {
			runs[i].Settings = stored.NewSettings(map[string]any{"rate_per_s": 900.0}, "host")
		}
	}
	h := collected(t, DefaultOptions(), runs...)
	if len(h.Groups) != 4 || len(h.Groups[0].Revisions) != 6 {
		t.Fatalf("%d groups", len(h.Groups))
	}
	if h.Groups[0].Revisions[5].Name != name(23) {
		t.Error("the group of the newest run is not the first")
	}
	o := DefaultOptions()
	o.Lift = []string{"build", "rate_per_s", "host"}
	if h := collected(t, o, runs...); len(h.Groups) != 1 || h.Verdict != Regressed {
		t.Errorf("%d groups, %s", len(h.Groups), h.Verdict)
	}
	for i := range runs {
		runs[i].Labels["build"] = runs[i].ID // another one in each run
	}
	h = collected(t, DefaultOptions(), runs...)
	if advice := strings.Join(h.Advice, "\n"); len(h.Groups) != 1 || h.Single != 23 || !strings.Contains(advice, "build") || !strings.Contains(advice, "--vary") {
		t.Errorf("%d groups and %d of one revision: %q", len(h.Groups), h.Single, h.Advice)
	}
}

func TestNothing(t *testing.T) {
	without, unfit := runOf(0, 4000, 0), runOf(0, 4000, 0)
	without.Labels, unfit.Unfit = nil, "the run is invalid: late"
	lift := DefaultOptions()
	lift.Lift = []string{"nobody"}
	for _, c := range []struct {
		want string
		o    Options
		runs []stored.Run
	}{
		{"no run matches", DefaultOptions(), nil},
		{"label revision", DefaultOptions(), []stored.Run{without}},
		{"invalid or cut short", DefaultOptions(), []stored.Run{unfit}},
		{"--vary nobody", lift, []stored.Run{runOf(0, 4000, 0)}},
	} {
		c1 := NewCollector(c.o)
		for i := range c.runs {
			c1.Add(&c.runs[i])
		}
		if _, err := c1.History(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		var none *UnfitError
		if _, err := c1.History(); errors.As(err, &none) != (c.want == "invalid or cut short") {
			t.Errorf("%v is an UnfitError or is not", err)
		}
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"tolerance":       func(o *Options) { o.Tolerance = 0 },
		"error tolerance": func(o *Options) { o.ErrorTolerance = math.NaN() },
		"confidence":      func(o *Options) { o.Confidence = 0.99999 },
		"detect":          func(o *Options) { o.Detect = 0.01 },
		"metric":          func(o *Options) { o.Metrics = []string{"p42"} },
	} {
		o := DefaultOptions()
		change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
}

// Only the newest 500 revisions are judged, and the same runs always have the same result.
func TestManyRevisions(t *testing.T) {
	runs := levels(700, []int{600}, []float64{1.2})
	h := collected(t, DefaultOptions(), runs...)
	if g := h.Groups[0]; len(g.Revisions) != 500 || g.Older != 200 || g.Revisions[499].Name != name(699) {
		t.Fatalf("%d revisions, %d older", len(g.Revisions), g.Older)
	}
	if c := h.series(t, "p99").Changes; len(c) != 1 || c[0].Revision != name(600) {
		t.Errorf("%+v", c)
	}
	first, _ := json.Marshal(h)
	second, _ := json.Marshal(collected(t, DefaultOptions(), runs...))
	if string(first) != string(second) {
		t.Error("the same runs have two results")
	}
}
