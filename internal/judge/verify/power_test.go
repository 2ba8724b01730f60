package verify

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/test/racetest"
)

var updateDoc = flag.Bool("update-doc", false, "write the table of power in docs/verify-statistics.md again")

// world makes pairs of runs: what both runs of a pair have in common drifts, and their
// difference varies, both normally on the scale of logarithms. The change is one of p99.
type world struct {
	drift, sd, change float64
	r                 *rand.Rand
	tails             bool    // the latencies of a run scatter by Student's t with 3 degrees of freedom
	pauses            float64 // share of runs whose p99 is that of pauses
}

func (w world) noise() float64 {
	v := w.r.NormFloat64()
	if w.tails {
		var chi float64
		for range 3 {
			x := w.r.NormFloat64()
			chi += x * x
		}
		v /= math.Sqrt(chi) // of the standard deviation 1
	}
	return v
}

func (w world) pairs(n int) (base, head []stored.Run) {
	for range n {
		level := w.drift * w.r.NormFloat64()
		base, head = append(base, w.run(level, 0)), append(head, w.run(level, math.Log1p(w.change)))
	}
	return base, head
}

// run has two latencies that vary by themselves, no errors, and a rate that is held to a
// thousandth, as an open loop does.
func (w world) run(level, change float64) stored.Run {
	latency := func(us, change float64) float64 {
		return us * math.Exp(level+change+w.sd/math.Sqrt2*w.noise())
	}
	if w.pauses > 0 && w.r.Float64() < w.pauses {
		change += 3 // 20 times as long
	}
	return stored.Run{Kind: "http", Settings: nothing, Figures: stored.Figures{
		Names:  []string{"p50", "p99", "errors", "rate"},
		Values: []float64{latency(1000, 0), latency(5000, change), 0, 500 * math.Exp(0.0005*w.r.NormFloat64())},
	}}
}

var nothing = stored.NewSettings(nil, "")

// found is the share of n series of so many pairs in which p99 is called regressed, by
// what Verify decides with but without its checks, intervals and advice, which take three
// quarters of its time.
func (w world) found(n, pairs int, metrics []string) float64 {
	o, found := DefaultOptions(), 0
	for range n {
		base, head := w.pairs(pairs)
		var gates []gate
		for _, name := range metrics {
			gates = append(gates, newGate(name, match{base: base, head: head, inPairs: true}, o, false))
		}
		decide(gates, 1-o.Confidence)
		for _, g := range gates {
			if g.Metric == "p99" && g.Verdict == Regressed {
				found++
			}
		}
	}
	return float64(found) / float64(n)
}

// share of n verifications of so many pairs that end with that word.
func (w world) share(t *testing.T, n, pairs int, word Word) float64 {
	found := 0
	for range n {
		base, head := w.pairs(pairs)
		j, err := Verify(base, head, true, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if j.Verdict == word {
			found++
		}
	}
	return float64(found) / float64(n)
}

func seeded(drift, sd, change float64) world {
	return world{drift: drift, sd: sd, change: change, r: rand.New(rand.NewPCG(7, math.Float64bits(sd+change)))}
}

// The promise of verify, on a machine that drifts by 20 % between pairs: see docs/verify-statistics.md.
func TestFalseAlarmsAndPower(t *testing.T) {
	for _, c := range []struct {
		name       string
		change     float64
		word       Word
		least, max float64 // of its share
	}{
		{"identical", 0, Regressed, 0, 0.01},
		{"3 % worse under a tolerance of 5 %", 0.03, Regressed, 0, 0.01},
		{"10 % worse", 0.1, Regressed, 0.9, 1},
		{"just the tolerance, the worst case", 0.05, Regressed, 0, 0.05},
		{"just the tolerance, called ok", 0.05, OK, 0, 0.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := seeded(0.2, 0.02, c.change).share(t, 1000, 8, c.word)
			if got < c.least || got > c.max {
				t.Errorf("%v were %s, want %v to %v", got, c.word, c.least, c.max)
			}
			t.Logf("%.1f %% %s", 100*got, c.word)
		})
	}
}

var (
	tableSDs   = []float64{1, 2, 3, 5, 7, 10}
	tablePairs = []int{8, 12, 16, 20, 24}
)

const tableTrials = 300

// powerTable is the table of docs/verify-statistics.md, with the percentages in places.
func powerTable() string {
	var b strings.Builder
	b.WriteString("| spread of the pairs | gated |")
	for _, n := range tablePairs {
		fmt.Fprintf(&b, " %d pairs |", n)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(tablePairs)) + "\n")
	for _, sd := range tableSDs {
		for _, chosen := range [][]string{nil, {"p99"}} {
			gated := Options{Metrics: chosen}.gated("http")
			fmt.Fprintf(&b, "| %v %% | %s |", sd, strings.Join(gated, ", "))
			for _, n := range tablePairs {
				fmt.Fprintf(&b, " %.0f |", 100*seeded(0.2, sd/100, 0.1).found(tableTrials, n, gated))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// The table of the docs is what the simulation gives, to 2 points.
func TestPowerTableOfDocs(t *testing.T) {
	racetest.Whole(t)
	t.Parallel()
	const path = "../../../docs/verify-statistics.md"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old := regexp.MustCompile(`(?m)^\| spread of the pairs(.*\n\|)*.*\n`).FindString(string(doc))
	table := powerTable()
	if *updateDoc {
		if err := os.WriteFile(path, []byte(strings.Replace(string(doc), old, table, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	sameNumbers(t, old, table)
}

// sameNumbers holds the whole numbers of a text to those wanted, to 2.
func sameNumbers(t *testing.T, text, wanted string) {
	t.Helper()
	number := regexp.MustCompile(`\d+`)
	got, want := number.FindAllString(text, -1), number.FindAllString(wanted, -1)
	if len(got) != len(want) {
		t.Fatalf("the docs say\n%s\nwant\n%s", text, wanted)
	}
	for i := range want {
		g, _ := strconv.Atoi(got[i])
		if w, _ := strconv.Atoi(want[i]); g < w-2 || g > w+2 {
			t.Errorf("number %d of the docs is %d, want %d:\n%s", i, g, w, wanted)
		}
	}
}

// So do two groups of 5 runs, which do not drift.
func TestPowerOfGroupsInDocs(t *testing.T) {
	racetest.Skip(t, "a simulation of its own")
	t.Parallel()
	doc, err := os.ReadFile("../../../docs/verify-statistics.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "a standard deviation of 1 / 2 / 3 / 5 %, in"
	for _, sd := range []float64{0.01, 0.02, 0.03, 0.05} {
		w, found := seeded(0, sd*math.Sqrt2, 0.1), 0
		for range 300 {
			base, _ := w.pairs(5)
			_, head := w.pairs(5)
			j, err := Verify(base, head, false, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			if finding(t, j.Comparisons[0], "p99").Verdict == Regressed {
				found++
			}
		}
		want += fmt.Sprintf(" %.0f /", float64(found)/3)
	}
	want += " % of 300"
	sameNumbers(t, regexp.MustCompile(`a standard deviation of 1 / [^.]*`).FindString(string(doc)), want)
}
