package verify

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
)

func TestLooks(t *testing.T) {
	for _, c := range []struct {
		most, metrics int
		auto          bool
		want          string
	}{
		{8, 4, false, "[8]"},
		{8, 4, true, "[8]"}, // two looks need 9 pairs
		{24, 4, true, "[10 16 24]"},
		{24, 1, true, "[10 16 24]"},
		{60, 4, true, "[17 26 40 60]"},
	} {
		o := DefaultOptions()
		o.Metrics = gatedMetrics("http")[:c.metrics]
		p, err := NewPairs(c.most, c.auto, "http", o)
		if got := fmt.Sprint(p.Looks); err != nil || got != c.want {
			t.Errorf("%d pairs, %d metrics: looks %s (%v), want %s", c.most, c.metrics, got, err, c.want)
		}
	}
	_, err := NewPairs(8, false, "apm", DefaultOptions())
	if want := "8 pairs can prove nothing about 8 metrics (p50, p99, errors, rate, accepted, index, efficiency, max_rss) at a confidence of 95 %; make 9 pairs or more"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// Before anything is measured the kind may not be known, but the metrics are.
func TestCheckPairs(t *testing.T) {
	for _, c := range []struct {
		kind    string
		metrics []string
		least   int
	}{{"", nil, 8}, {"http", nil, 8}, {"apm", nil, 9}, {"", []string{"p50"}, 7}, {"", []string{"errors"}, 6}} {
		o := DefaultOptions()
		o.Metrics = c.metrics
		if few, enough := o.CheckPairs(c.least-1, c.kind), o.CheckPairs(c.least, c.kind); few == nil || enough != nil {
			t.Errorf("%q %v: with %d pairs %v, with one less %v", c.kind, c.metrics, c.least, enough, few)
		}
	}
	if err := (Options{Confidence: 2}).CheckPairs(1, ""); err != nil { // Validate says what is wrong
		t.Error(err)
	}
}

// series plays pairs of w until they end, and tells the word and their number.
func (w world) series(t *testing.T, p Pairs) (Word, int) {
	var base, head []stored.Run
	for _, look := range p.Looks {
		b, h := w.pairs(look - len(head))
		base, head = append(base, b...), append(head, h...)
		s, err := p.Next(base, head)
		if err != nil {
			t.Fatal(err)
		}
		if s.Done {
			return s.Judgement.Verdict, len(head)
		}
	}
	t.Fatal("the last look does not end the series")
	return "", 0
}

// A series that ends as soon as it can conclude is wrong no more often for that, and
// ends early where the case is clear.
func TestLooksDoNotInflateFalseAlarms(t *testing.T) {
	for _, c := range []struct {
		change, sd float64
		least, max float64 // share of Regressed
		early      float64 // share that ends at the first look, at least
	}{
		{0, 0.02, 0, 0.01, 0.9},
		{0.05, 0.02, 0, 0.05, 0},
		{0.1, 0.02, 0.95, 1, 0.9},
	} {
		t.Run(fmt.Sprint(c.change), func(t *testing.T) {
			t.Parallel()
			p, err := NewPairs(24, true, "http", DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			w, flagged, early := seeded(0.2, c.sd, c.change), 0.0, 0.0
			n := float64(simulated(200))
			for range int(n) {
				word, pairs := w.series(t, p)
				if word == Regressed {
					flagged++
				}
				if pairs == p.Looks[0] {
					early++
				}
			}
			if flagged /= n; flagged < c.least || flagged > c.max || early/n < c.early {
				t.Errorf("%v were flagged, want %v to %v; %v ended early", flagged, c.least, c.max, early/n)
			}
		})
	}
}

// The forecast: the least number as long as fewer pairs can prove nothing, then one that
// agrees with the difference and the spread.
func TestForecast(t *testing.T) {
	for _, c := range []struct {
		name  string
		most  int
		auto  bool
		sd    float64
		p99   float64 // how much worse
		pairs int
		want  string
	}{
		{"few pairs say nothing", 60, false, 0.05, 0, 3, "at least 8 pairs are needed to prove anything"},
		{"nor do noisy ones", 60, false, 0.4, 0, 6, "at least 8 pairs are needed to prove anything"},
		{"the first look of several", 24, true, 0.05, 0, 3, "at least 10 pairs are needed to prove anything"},
		{"11 times slower", 24, false, 0.3, 10, 4, "8 pairs are the least that can prove anything, and enough for a difference like this"},
		{"11 times slower, in looks", 24, true, 0.3, 10, 4, "10 pairs are the least that can prove anything, and enough for a difference like this"},
		{"quiet pairs", 60, false, 0.001, 0, 8, "about 9 pairs are needed"},
		{"noisy pairs", 60, false, 0.05, 0, 12, `likely (1[3-9]|[2-5]\d) pairs are needed, perhaps \d{2,3}`},
		{"the tolerance itself", 60, false, 0.02, 0.05, 20, `likely ([6-9]\d|\d{3}) pairs are needed, perhaps \d{3}`},
	} {
		p, err := NewPairs(c.most, c.auto, "http", DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Next(seeded(0.2, c.sd, c.p99).pairs(c.pairs))
		if err != nil || s.Done || s.Judgement != nil || !regexp.MustCompile("^"+c.want+"$").MatchString(s.Forecast) {
			t.Errorf("%s: %q, want %s (%v)", c.name, s.Forecast, c.want, err)
		}
	}
}

// An invalid run ends a series at once, not at the next look.
func TestInvalidRunEndsTheSeries(t *testing.T) {
	p, err := NewPairs(8, false, "http", DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	bad := ran("b", nil)
	bad.Unfit = "it broke"
	_, err = p.Next([]stored.Run{ran("a", nil)}, []stored.Run{bad})
	var unfit *UnfitError
	if !errors.As(err, &unfit) {
		t.Errorf("error %v", err)
	}
}

// The last look ends a series without conclusion, and says what it takes.
func TestSeriesEndsInconclusive(t *testing.T) {
	p, err := NewPairs(8, false, "http", DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Next(seeded(0, 0.1, 0.05).pairs(8))
	if err != nil || !s.Done || s.Judgement.Verdict != Inconclusive || neededOf(&s.Judgement.Comparisons[0]) <= 8 || s.Forecast != "" || s.Judgement.Looks != 1 {
		t.Errorf("%+v %v", s, err)
	}
}

// Each look has its share of the error probability; what is told is that of the series.
func TestLooksShareTheError(t *testing.T) {
	p, err := NewPairs(24, true, "http", DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Next(seeded(0, 0.02, 0).pairs(10))
	if err != nil || s.Judgement == nil {
		t.Fatalf("%+v %v", s, err)
	}
	clearest := 0.0
	for _, f := range s.Judgement.Comparisons[0].Findings {
		clearest = max(clearest, f.Confidence)
	}
	near(t, "confidence of the clearest", clearest, 1-0.05/3/4) // 3 looks, 4 metrics
	near(t, "confidence", s.Judgement.Confidence, 0.95)
	if s.Judgement.Looks != 3 || s.Judgement.Look != 1 {
		t.Errorf("look %d of %d", s.Judgement.Look, s.Judgement.Looks)
	}
}
