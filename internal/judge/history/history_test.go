package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
)

var settings = stored.NewSettings(map[string]any{"rate_per_s": 500.0, "host": "127.0.0.1:8080"}, "host")

// dayZero is the date of the first revision.
var dayZero = time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)

// runOf is a run of the i-th revision with these figures.
func runOf(i int, p99, errors float64) stored.Run {
	day := dayZero.AddDate(0, 0, i)
	return stored.Run{
		ID: fmt.Sprintf("01RUN%05d", i), Kind: "http", StartedAt: day.Add(time.Hour), Settings: settings,
		Labels:  map[string]string{"branch": "main", "revision": name(i), "revision_date": day.Format(time.DateOnly)},
		Figures: stored.Figures{Names: []string{"p50", "p99", "errors", "rate"}, Values: []float64{1000, p99, errors, 500}},
	}
}

// name is the revision of that number.
func name(i int) string { return fmt.Sprintf("a%039x", i) }

// collected is the history of the runs.
func collected(t *testing.T, o Options, runs ...stored.Run) History {
	t.Helper()
	c := NewCollector(o)
	for i := range runs {
		c.Add(&runs[len(runs)-1-i]) // a store returns the newest first
	}
	h, err := c.History()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// series returns the series of a metric.
func (h *History) series(t *testing.T, metric string) *Series {
	t.Helper()
	for i := range h.Groups[0].Series {
		if s := &h.Groups[0].Series[i]; s.Metric == metric {
			return s
		}
	}
	t.Fatalf("no series %s", metric)
	return nil
}

// levels are n runs whose p99 has these levels from these revisions on, with noise of a standard
// deviation of 3 %.
func levels(n int, from []int, factor []float64) (runs []stored.Run) {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	level := 1.0
	for i := range n {
		for k, at := range from {
			if i == at {
				level = factor[k]
			}
		}
		runs = append(runs, runOf(i, 4000*level*math.Exp(0.03*r.NormFloat64()), 0))
	}
	return runs
}

func TestStep(t *testing.T) {
	h := collected(t, DefaultOptions(), levels(40, []int{25}, []float64{1.24})...)
	s := h.series(t, "p99")
	if h.Verdict != Regressed || s.Verdict != Regressed || len(s.Changes) != 1 {
		t.Fatalf("%s, %+v", h.Verdict, s.Changes)
	}
	c := s.Changes[0]
	if c.At != 25 || c.Revision != name(25) || !c.Worse || !c.Open || c.Accepted {
		t.Errorf("%+v", c)
	}
	if math.Abs(c.Difference-0.24) > 0.03 || *c.Low > 0.24 || *c.High < 0.24 || *c.Low < 0.18 || *c.High > 0.30 {
		t.Errorf("the change is %.3f (%.3f … %.3f), want 0.24", c.Difference, *c.Low, *c.High)
	}
	if c.From >= 25 || c.To < 25 || c.After != name(c.From) || c.Until != name(c.To) {
		t.Errorf("the change is after %d and until %d, want 25 between them", c.From, c.To)
	}
	for i, p := range s.Points {
		if want := map[bool]float64{false: c.Before, true: c.Now}[i >= 25]; p.Level != want {
			t.Errorf("the level of point %d is %v, want %v", i, p.Level, want)
		}
	}
	for _, metric := range []string{"p50", "errors", "rate"} {
		if s := h.series(t, metric); s.Verdict != OK || len(s.Changes) > 0 {
			t.Errorf("%s never changed: %s, %+v", metric, s.Verdict, s.Changes)
		}
	}
}

// A change for the worse is open until the level is back, or somebody accepts it.
func TestOpen(t *testing.T) {
	accept := DefaultOptions()
	accept.Accept = []string{name(25)[:12]}
	// a hash of zeros and few letters; 12 digits are a prefix of many, so the whole one is given below
	whole := DefaultOptions()
	whole.Accept = []string{name(25)}
	before := DefaultOptions()
	before.Accept = []string{name(24)}
	other := DefaultOptions()
	other.Accept = []string{name(3)}
	for _, c := range []struct {
		name    string
		o       Options
		from    []int
		factor  []float64
		verdict Word
		open    int
	}{
		{"worse", DefaultOptions(), []int{25}, []float64{1.3}, Regressed, 1},
		{"better", DefaultOptions(), []int{25}, []float64{0.7}, OK, 0},
		{"reverted", DefaultOptions(), []int{15, 27}, []float64{1.3, 1}, OK, 0},
		{"half reverted", DefaultOptions(), []int{15, 27}, []float64{1.4, 1.2}, Regressed, 1},
		{"better, then back", DefaultOptions(), []int{15, 27}, []float64{0.7, 1}, Regressed, 1},
		{"accepted", whole, []int{25}, []float64{1.3}, OK, 0},
		{"accepted by the start of its hash", accept, []int{25}, []float64{1.3}, OK, 0},
		{"the earlier one accepted", before, []int{25}, []float64{1.3}, Regressed, 1},
		{"another one accepted", other, []int{25}, []float64{1.3}, Regressed, 1},
	} {
		h := collected(t, c.o, levels(40, c.from, c.factor)...)
		s := h.series(t, "p99")
		open := 0
		for _, one := range s.Changes {
			if one.Open {
				open++
			}
		}
		if h.Verdict != c.verdict || open != c.open || len(s.Changes) != len(c.from) {
			t.Errorf("%s: %s with %d open changes, want %s with %d: %+v", c.name, h.Verdict, open, c.verdict, c.open, s.Changes)
		}
		if told := len(h.Advice) > 0; told != strings.HasSuffix(c.name, "one accepted") {
			t.Errorf("%s: advice %q", c.name, h.Advice)
		}
	}
}
