package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/taktload/takt/internal/test/racetest"
)

// shapes turn normal noise into noise as benchmarks have it, with about the same spread.
var shapes = map[string]func(r *rand.Rand, v float64) float64{
	"normal": func(_ *rand.Rand, v float64) float64 { return v },
	"skewed": func(_ *rand.Rand, v float64) float64 { return math.Exp(0.8 * v) },
	"spikes": func(r *rand.Rand, v float64) float64 {
		if r.Float64() < 0.05 {
			return v + 8
		}
		return v
	},
}

// noiseOf is noise whose neighbours have the correlation rho.
func noiseOf(r *rand.Rand, n int, rho float64, shape string) []float64 {
	list, last := make([]float64, n), r.NormFloat64()
	for i := range list {
		list[i] = shapes[shape](r, last)
		last = rho*last + math.Sqrt(1-rho*rho)*r.NormFloat64()
	}
	return list
}

// found are the changes of a series as judge finds them, before the tolerance.
func found(values []float64, level float64) []int {
	return segment(values, level, correlated(values, level))
}

// A series without a change has a false one in at most 5 % of cases, also if its noise is skewed, has spikes,
// or if neighbours are correlated by 0.3. With 0.5 it is up to 7 %, and 15 % if the noise is skewed as well:
// the correlation is estimated from the series itself. The bounds leave room for the chance of 250 series.
func TestFalseAlarms(t *testing.T) {
	racetest.Skip(t, "simulates 6750 series")
	const series = 250
	for _, rho := range []float64{0, 0.3, 0.5} {
		most := map[float64]int{0: 5, 0.3: 9, 0.5: 20}[rho]
		for _, shape := range []string{"normal", "skewed", "spikes"} {
			line := ""
			for _, n := range []int{12, 20, 60} {
				r := rand.New(rand.NewPCG(uint64(n), 5))
				bad := 0
				for range series {
					if len(found(noiseOf(r, n, rho, shape), 0.05)) > 0 {
						bad++
					}
				}
				line += fmt.Sprintf(" %d: %.1f %%", n, 100*float64(bad)/series)
				if bad > series*most/100 {
					t.Errorf("correlation %.1f, %s, %d revisions: %d of %d series have a false change", rho, shape, n, bad, series)
				}
			}
			t.Logf("correlation %.1f, %s:%s", rho, shape, line)
		}
	}
}

// With many series, the level of each is below what the draws can show, and their tail decides: false changes are
// no more frequent, and clear ones are found.
func TestSmallLevels(t *testing.T) {
	racetest.Skip(t, "simulates 6000 series")
	const level, series = 0.002, 3000
	for _, shape := range []string{"normal", "skewed"} {
		r := rand.New(rand.NewPCG(6, 5))
		bad, hit := 0, 0
		for i := range series {
			v := noiseOf(r, 30, 0, shape)
			if len(segment(v, level, 0)) > 0 {
				bad++
			}
			if i >= 50 {
				continue
			}
			for k := 18; k < 30; k++ {
				v[k] += 6
			}
			if len(segment(v, level/20, 0)) > 0 {
				hit++
			}
		}
		t.Logf("%s: %d of %d series without a change, %d of 50 with one", shape, bad, series, hit)
		if bad > 15 || hit < 48 { // 6 are expected, and 2.4 the standard error
			t.Errorf("%s: %d of %d series have a false change, and %d of 50 the true one", shape, bad, series, hit)
		}
	}
}

// Beside a true change there are hardly more false ones than in a series without. A change that is found
// at a neighbour of its revision is not a false one.
func TestFalseBesideTrue(t *testing.T) {
	const series = 300
	r := rand.New(rand.NewPCG(2, 5))
	bad := 0
	for range series {
		v := noiseOf(r, 60, 0, "normal")
		for i := 35; i < 60; i++ {
			v[i] += 4
		}
		if wrong := slices.DeleteFunc(found(v, 0.05), func(at int) bool { return at >= 33 && at <= 37 }); len(wrong) > 0 {
			bad++
		}
	}
	t.Logf("%d of %d series", bad, series)
	if bad > series*6/100 {
		t.Errorf("%d of %d series have a false change beside the true one", bad, series)
	}
}

// Changes of 5 to 30 % in noise of 3 %, with skew and correlation: how often a test of four metrics finds
// them, and how often within one revision. The least shares are about 12 points below those measured with 300 series, three standard errors of 150.
func TestPower(t *testing.T) {
	racetest.Skip(t, "simulates 1800 series")
	series := racetest.Simulations(150)
	for _, c := range []struct {
		rho    float64
		shape  string
		size   float64
		after  int
		found  float64
		nearby float64
	}{
		{0, "normal", 0.05, 20, 0.15, 0.10},
		{0, "normal", 0.10, 5, 0.33, 0.33},
		{0, "normal", 0.10, 20, 0.80, 0.78},
		{0, "normal", 0.20, 3, 0.58, 0.57},
		{0, "normal", 0.20, 5, 0.92, 0.92},
		{0, "normal", 0.30, 10, 0.97, 0.97},
		{0.3, "normal", 0.10, 20, 0.62, 0.60},
		{0.3, "normal", 0.20, 5, 0.75, 0.72},
		{0.3, "normal", 0.20, 20, 0.95, 0.95},
		{0, "skewed", 0.10, 20, 0.80, 0.72},
		{0, "spikes", 0.10, 20, 0.30, 0.25},
		{0.3, "skewed", 0.20, 20, 0.94, 0.92},
	} {
		r := rand.New(rand.NewPCG(3, 5))
		n, hit, near := 40, 0, 0
		for range series {
			v := noiseOf(r, n, c.rho, c.shape)
			for i := range v {
				if v[i] *= 0.03; i >= n-c.after {
					v[i] += math.Log1p(c.size)
				}
			}
			at := found(v, 0.0125)
			if len(at) > 0 {
				hit++
			}
			if slices.ContainsFunc(at, func(at int) bool { return at >= n-c.after-1 && at <= n-c.after+1 }) {
				near++
			}
		}
		what := fmt.Sprintf("correlation %.1f, %s, %2.0f %% in the last %2d of %d", c.rho, c.shape, 100*c.size, c.after, n)
		t.Logf("%s: found %.0f %%, within a revision %.0f %%", what, 100*float64(hit)/float64(series), 100*float64(near)/float64(series))
		if float64(hit) < c.found*float64(series) || float64(near) < c.nearby*float64(series) {
			t.Errorf("%s: found in %d of %d, within a revision in %d", what, hit, series, near)
		}
	}
}

// The intervals of position and size contain the truth in about 95 % of cases in which a change is found.
func TestIntervals(t *testing.T) {
	racetest.Skip(t, "simulates 300 series")
	for _, c := range []struct {
		rho      float64
		size     float64
		position float64
		within   float64
	}{{0, 0.12, 0.93, 0.92}, {0, 0.25, 0.95, 0.92}, {0.3, 0.2, 0.93, 0.90}} {
		r := rand.New(rand.NewPCG(4, 5))
		var all, position, within int
		const n, at = 50, 30
		for range racetest.Simulations(100) {
			v := noiseOf(r, n, c.rho, "normal")
			for i := range v {
				if v[i] *= 0.04; i >= at {
					v[i] += math.Log1p(c.size)
				}
			}
			rho := correlated(v, 0.0125)
			list := segment(v, 0.0125, rho)
			if len(list) != 1 {
				continue
			}
			all++
			if first, last := placed(v, list[0], rho); first <= at && at <= last {
				position++
			}
			if low, high := sized(beside(v, list, 0, list[0]), rho); low <= math.Log1p(c.size) && math.Log1p(c.size) <= high {
				within++
			}
		}
		t.Logf("correlation %.1f, %.0f %%: %d found; the position is in %.1f %%, the size in %.1f %%", c.rho, 100*c.size, all, 100*float64(position)/float64(all), 100*float64(within)/float64(all))
		if float64(position) < c.position*float64(all) || float64(within) < c.within*float64(all) {
			t.Errorf("correlation %.1f, %.0f %%: of %d found, the position is in %d intervals and the size in %d", c.rho, 100*c.size, all, position, within)
		}
	}
}

// A series with as many revisions as it needs shows the change in about 4 of 5 cases, and with half of
// them in fewer.
func TestNeeded(t *testing.T) {
	racetest.Skip(t, "simulates 1000 series")
	for _, spread := range []float64{0.03, 0.06} {
		f := forecast{size: math.Log1p(0.1), spread: spread, level: 0.0125}
		shares := [2]float64{}
		for k, n := range []int{f.needed(), f.needed() / 2} {
			r := rand.New(rand.NewPCG(5, 5))
			hit := 0
			for range 250 {
				v := noiseOf(r, n, 0, "normal")
				for i := range v {
					if v[i] *= spread; i >= n/2 {
						v[i] += f.size
					}
				}
				if len(segment(v, f.level, 0)) > 0 {
					hit++
				}
			}
			shares[k] = float64(hit) / 250
		}
		t.Logf("spread %.0f %%: %d revisions, found in %.2f; with half of them in %.2f", 100*spread, f.needed(), shares[0], shares[1])
		if shares[0] < 0.65 || shares[0] > 0.97 || shares[1] > shares[0]-0.2 {
			t.Errorf("spread %.0f %%: with the %d revisions needed a change is found in %.2f of cases, with half of them in %.2f", 100*spread, f.needed(), shares[0], shares[1])
		}
	}
}
