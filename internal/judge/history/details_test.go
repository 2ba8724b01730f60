package history

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
)

// Less of what should be high is worse.
func TestHigherIsBetter(t *testing.T) {
	for factor, want := range map[float64]Word{0.8: Regressed, 1.25: OK} {
		var runs []stored.Run
		for i := range 30 {
			r := runOf(i, 4000, 0)
			if r.Figures.Values[3] *= 1 + float64(i%4)/200; i >= 18 {
				r.Figures.Values[3] *= factor
			}
			runs = append(runs, r)
		}
		h := collected(t, DefaultOptions(), runs...)
		if s := h.series(t, "rate"); s.Better != "higher" || s.Verdict != want || len(s.Changes) != 1 || s.Changes[0].Worse != (factor < 1) {
			t.Errorf("a rate × %v: %s, better %s, %+v", factor, s.Verdict, s.Better, s.Changes)
		}
	}
}

// --metric replaces the metrics, and errors are beside them. A metric that no run has has no series.
func TestMetrics(t *testing.T) {
	o := DefaultOptions()
	for _, c := range []struct{ given, want []string }{
		{nil, []string{"p50", "p99", "errors", "rate"}},
		{[]string{"p50"}, []string{"p50", "errors"}},
		{[]string{"errors", "p99", "p99", "service.p99"}, []string{"errors", "p99"}},
	} {
		o.Metrics = c.given
		var got []string
		for _, s := range collected(t, o, levels(3, nil, nil)...).Groups[0].Series {
			got = append(got, s.Metric)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.given, got, c.want)
		}
	}
}

// Latencies of runs with more than 1 % of errors do not count; those with 1 % do, and a latency below 1 µs.
func TestValueOf(t *testing.T) {
	for _, c := range []struct {
		p99, errors float64
		want        bool
	}{{4000, 0, true}, {4000, 1, true}, {4000, 1.01, false}, {0.5, 0, true}, {0, 0, false}, {-1, 0, false}, {math.NaN(), 0, false}} {
		r := runOf(0, c.p99, c.errors)
		if _, ok := valueOf(&r, "p99"); ok != c.want {
			t.Errorf("p99 %v with %v %% errors counts: %v", c.p99, c.errors, ok)
		}
	}
	r := runOf(0, 4000, 0)
	r.Figures.Names[2] = "other"
	if _, ok := valueOf(&r, "p99"); !ok {
		t.Error("a run without errors in its figures does not count")
	}
}

// Flags of the server and the class of the host are settings, too.
func TestVary(t *testing.T) {
	run := func(i int, flag, host string) stored.Run {
		r := runOf(i, 4000, 0)
		r.Settings = stored.NewSettings(map[string]any{"rate_per_s": 5.0, "flags": map[string]any{"cache": flag, "log": true}}, host)
		return r
	}
	runs := []stored.Run{run(0, "on", "a"), run(1, "on", "a"), run(2, "off", "a"), run(3, "off", "a"), run(4, "off", "b"), run(5, "off", "b")}
	for lift, want := range map[string]int{"": 3, "cache": 2, "host_class": 2, "cache host_class": 1} {
		o := DefaultOptions()
		o.Lift = strings.Fields(lift)
		if h := collected(t, o, runs...); len(h.Groups) != want || h.Single != 0 {
			t.Errorf("--vary %q: %d groups, want %d", lift, len(h.Groups), want)
		}
	}
}

// Of many groups the newest 20 are judged; of groups of one revision none, and the names say why.
func TestManyGroups(t *testing.T) {
	var runs []stored.Run
	for i := range 50 {
		r := runOf(i, 4000, 0)
		r.Settings = stored.NewSettings(map[string]any{"n": float64(i / 2), "a": i / 2, "b": i / 2, "c": i / 2, "d": i / 2, "e": i / 2, "f": i / 2}, "h")
		runs = append(runs, r)
	}
	h := collected(t, DefaultOptions(), runs...)
	if len(h.Groups) != 20 || h.Hidden != 5 || h.Groups[0].Revisions[0].Name != name(48) || h.Groups[19].Revisions[0].Name != name(10) {
		t.Errorf("%d groups, %d hidden", len(h.Groups), h.Hidden)
	}
	one := collected(t, DefaultOptions(), runs[:3]...)
	if want := "left out: a group of one revision; runs of different groups differ in a, b, c, d, e, f …; --vary NAME lets one of them differ"; one.Single != 1 || len(one.Groups) != 1 || len(one.Advice) != 1 || one.Advice[0] != want {
		t.Errorf("%d: %q", one.Single, one.Advice)
	}
	two := collected(t, DefaultOptions(), runs[1:3]...)
	if two.Single != 1 || two.Groups[0].Revisions[0].Name != name(2) {
		t.Errorf("of two groups of one revision, the newer one is shown: %+v", two.Groups[0].Revisions)
	}
}

// The more series can have a false change, the smaller is the level of each, and the more revisions it needs.
// Series whose values are all equal do not count.
func TestShares(t *testing.T) {
	needed := func(noisy ...int) int {
		runs := levels(30, nil, nil)
		for i := range runs {
			for _, k := range noisy {
				runs[i].Figures.Values[k] *= math.Exp(0.02 * math.Sin(float64(i*i*(k+1))))
			}
		}
		h := collected(t, DefaultOptions(), runs...)
		return h.series(t, "p50").Noise.Needed
	}
	alone, three := needed(), needed(0, 3)
	if f := (forecast{size: math.Log1p(0.1), level: 0.05}); f.needed() != alone {
		t.Errorf("with one series that varies, a constant one needs %d revisions, want %d", alone, f.needed())
	}
	if three <= alone {
		t.Errorf("needs %d revisions beside two that vary, %d beside one", three, alone)
	}
}

func TestForecast(t *testing.T) {
	quiet := forecast{size: 0.1, spread: 0, level: 0.0125}
	// 2 of the C(12, 6) = 924 orders have a third of 0.0125, and 2 of C(11, 5) = 462 more
	if n := quiet.needed(); n != 12 {
		t.Errorf("a series without noise needs %d revisions, want 12", n)
	}
	if d := quiet.delay(40); d != 3 {
		t.Errorf("after 40 revisions without noise a change shows after %d, want 3", d)
	}
	if d := quiet.delay(5); d != 0 {
		t.Errorf("after 5 revisions a change shows after %d, want never", d)
	}
	if d := quiet.delay(6); d != 6 {
		t.Errorf("after 6 revisions a change shows after %d, want 6", d)
	}
	noisy := forecast{size: 0.1, spread: 0.1, level: 0.0125}
	n := noisy.needed()
	reached := func(n int) bool {
		return math.Sqrt(float64(n)/4) >= reach(float64(n), 0.0125)+found4of5
	}
	if !reached(n) || reached(n-3) {
		t.Errorf("noise as large as the change needs %d revisions", n)
	}
	if n := (forecast{size: 0.1, spread: 1e9, level: 0.0125}).needed(); n < mostForecast {
		t.Errorf("endless noise needs %d revisions", n)
	}
	if z := reach(10, 0.04); math.Abs(z-3.0902) > 1e-4 { // 1 − 0.04 ÷ 40 = 0.999
		t.Errorf("the reach of chance is %v", z)
	}
}

// The newest level decides how soon a change shows; the spread is that about the levels.
func TestNoise(t *testing.T) {
	runs := levels(40, []int{34}, []float64{1.5})
	s := collected(t, DefaultOptions(), runs...).series2(t, "p99")
	if s.Noise.Spread < 0.02 || s.Noise.Spread > 0.04 {
		t.Errorf("the spread is %v, want about 0.03", s.Noise.Spread)
	}
	f := forecast{size: math.Log1p(0.1), spread: math.Log1p(s.Noise.Spread) * math.Sqrt(stretch(s.Noise.Correlation)), level: 0.05}
	if d := f.delay(6); s.Noise.Delay != d {
		t.Errorf("shows after %d, want %d, as after 6 revisions", s.Noise.Delay, d)
	}
	if stretch(0) != 1 || stretch(0.5) != 3 {
		t.Errorf("stretch %v and %v, want 1 and 3", stretch(0), stretch(0.5))
	}
}

func (h History) series2(t *testing.T, metric string) *Series { return (&h).series(t, metric) }

// The interval of the position of a clear change is one revision; of one in noise, several on both sides, but
// within its levels.
func TestPlaced(t *testing.T) {
	clear := []float64{1, 2, 1, 2, 1, 2, 51, 52, 51, 52, 51, 52}
	if first, last := placed(clear, 6, 0); first != 6 || last != 6 {
		t.Errorf("a clear change is from %d to %d, want 6", first, last)
	}
	var noisy []float64
	for i := range 40 {
		v := 0.6 * math.Sin(float64(i*i*7))
		if i >= 20 {
			v += 0.9
		}
		noisy = append(noisy, v)
	}
	first, last := placed(noisy, 20, 0)
	if first >= 20 || last <= 20 || first < 1 || last > 39 {
		t.Errorf("a change in noise is from %d to %d", first, last)
	}
	if f, l := placed(noisy, 20, 0.6); f > first || l < last {
		t.Errorf("with correlation it is from %d to %d, which is less than %d to %d", f, l, first, last)
	}
}

// Draws with correlation contain the same values, whose neighbours resemble each other.
func TestShuffler(t *testing.T) {
	values := make([]float64, 200)
	for i := range values {
		values[i] = float64(i)
	}
	for _, rho := range []float64{0, 0.6} {
		s, sum := newShuffler(values, rho), 0.0
		for range 100 {
			draw := slices.Clone(s.draw())
			for i := 1; i < len(draw); i++ {
				sum += (draw[i] - 99.5) * (draw[i-1] - 99.5)
			}
			if slices.Sort(draw); !slices.Equal(draw, values) {
				t.Fatal("a draw has other values")
			}
		}
		if got := sum / 100 / 199 / (200 * 200 / 12.0); math.Abs(got-rho) > 0.05 {
			t.Errorf("the correlation of the ranks is %.3f, want %.1f", got, rho)
		}
	}
}

// A test at a level that the number of points cannot reach finds nothing.
func TestChangesNeedPoints(t *testing.T) {
	clear := []float64{-1, -1.1, -1, -0.9, 1, 1.1, 1, 0.9}
	if _, ok := changes(clear, 0, 1.9/70); ok { // 2 of C(8, 4) orders have the same halves
		t.Error("8 points show a change at less than 2 of 70")
	}
	if _, ok := changes(clear, 0, 0.2); !ok {
		t.Error("8 points show no change at 20 %")
	}
	if _, ok := changes(clear[:5], 0, 0.5); ok {
		t.Error("5 points show a change")
	}
	if c := correlationOf(make([]float64, 7)); c != 0 {
		t.Errorf("7 values have the correlation %v", c)
	}
}

// changes decides by the share of the draws that are at least as far, or by their tail, whether or not it draws
// all of them.
func TestChangesByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	yes := map[bool]int{}
	for i := range 400 {
		v := noiseOf(r, 14, 0, "normal")
		for k := 7; k < 14; k++ {
			v[k] += float64(i%5) * 0.8
		}
		points := scores(v)
		list, sums := seeded(14), make([]float64, 15)
		own := scan(points, list, sums)
		for _, level := range []float64{0.3, 0.05, 0.02, 0.003, 0.001} {
			draws := min(int(math.Ceil(5/level)), 500)
			s, as, far := newShuffler(points, 0), 0.0, make([]float64, draws)
			for k := range far {
				if far[k] = scan(s.draw(), list, sums).distance; far[k] >= own.distance*(1-1e-12) {
					as++
				}
			}
			want := (as+1)/float64(draws+1) <= level
			if level < 1.0/501 {
				want = as == 0 && tail(far, own.distance) <= level
			}
			want = want && 2/stats.Choose(14, own.at) <= level
			if _, ok := changes(points, 0, level); ok != want {
				t.Errorf("series %d at %v: %v, but %.0f of %d draws are as far", i, level, ok, as, draws)
			}
			yes[want]++
		}
	}
	if yes[true] < 200 || yes[false] < 200 {
		t.Errorf("too few of one kind: %v", yes)
	}
}

// A plain step is found however many series share the error probability, and whatever correlation so few
// points suggest.
func TestPlainStep(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		var values []float64
		for i := range 13 {
			level := 9.7
			if i >= 7 {
				level = 27
			}
			values = append(values, math.Log(level+0.2*r.Float64()))
		}
		for _, level := range []float64{0.05, 0.01, 1e-4} {
			if found := segment(values, level, mostCorrelated); !slices.Equal(found, []int{7}) {
				t.Errorf("series %d at %v: changes at %v", seed, level, found)
			}
		}
	}
	if at, ok := plain([]float64{1, 1, 1, 1, 1, 1, 2, 2, 2}); ok {
		t.Errorf("9 points show a plain step at %d", at)
	}
	if at, ok := plain([]float64{1, 1.2, 1, 1, 1, 1, 1, 1.7, 1.7, 1.7}); ok {
		t.Errorf("2.5 ranges are a plain step at %d", at)
	}
}

// Half of the points are no outliers, and equal values are not correlated.
func TestScattered(t *testing.T) {
	if spread, n := scattered([]float64{0, 0.01, -0.01, 0, 0.01, -0.01, 0, 1, 1, 1, 1, 1, 1}); n != 0 || spread < 0.6 {
		t.Errorf("a spread of %v, and %d outliers", spread, n)
	}
	if spread, n := scattered([]float64{0, 0.01, -0.01, 0, 0.01, -0.01, 0, 1, 1}); n != 2 || spread > 0.02 {
		t.Errorf("a spread of %v, and %d outliers", spread, n)
	}
	if rho := correlated(make([]float64, 20), 0.05); rho != 0 {
		t.Errorf("equal values have the correlation %v", rho)
	}
}

// Runs with a server that takt started have its metrics, too.
func TestServerMetrics(t *testing.T) {
	var runs []stored.Run
	for i := range 3 {
		r := runOf(i, 4000, 0)
		r.Settings = stored.NewSettings(map[string]any{"server_run": "./server"}, "")
		r.Figures.Names = append(slices.Clone(r.Figures.Names), "max_rss", "server_cpu")
		r.Figures.Values = append(r.Figures.Values, 1e7, 0.2)
		runs = append(runs, r)
	}
	h := collected(t, DefaultOptions(), runs...)
	h.series(t, "max_rss")
	h.series(t, "server_cpu")
}

// Two runs of uncommitted changes may be of different code, so they are no revision.
func TestDirtyRunsAreLeftOut(t *testing.T) {
	runs := levels(12, nil, nil)
	dirty := runOf(12, 8000, 0)
	dirty.Labels["revision"] += "-dirty"
	h := collected(t, DefaultOptions(), append(runs, dirty)...)
	if n := len(h.Groups[0].Revisions); n != 12 || !slices.ContainsFunc(h.Advice, func(s string) bool { return strings.Contains(s, "left out: 1 of uncommitted changes") }) {
		t.Errorf("%d revisions, %q", n, h.Advice)
	}
	c := NewCollector(DefaultOptions())
	c.Add(&dirty)
	if _, err := c.History(); err == nil || !strings.Contains(err.Error(), "uncommitted changes") {
		t.Errorf("only a dirty run: %v", err)
	}
}

// A name that no revision has is told as such.
func TestAcceptedUnknown(t *testing.T) {
	o := DefaultOptions()
	o.Accept = []string{"zzz", name(3)}
	h := collected(t, o, levels(12, nil, nil)...)
	if len(h.Advice) != 2 || !strings.HasPrefix(h.Advice[0], "--accept zzz: no revision zzz ") || !strings.Contains(h.Advice[1], "no change for the worse is there") {
		t.Errorf("%q", h.Advice)
	}
}
