package verify

import (
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/test/racetest"
)

// gambled plays n series and counts their words: as they end, and as they would have ended
// without a look at what cannot suffice. In spikes, one run of ten has a p99 three times as
// high.
func (w world) gambled(t *testing.T, p Pairs, n int, spikes bool) (ended, patient map[Word]int, made, all int) {
	ended, patient = map[Word]int{}, map[Word]int{}
	for range n {
		var base, head []stored.Run
		stopped := false
		for _, look := range p.Looks {
			b, h := w.pairs(look - len(head))
			base, head = append(base, b...), append(head, h...)
			for _, r := range append(b, h...) {
				if spikes && w.r.IntN(10) == 0 {
					r.Figures.Values[1] *= 3
				}
			}
			s, err := p.Next(base, head)
			if err != nil {
				t.Fatal(err)
			}
			if s.Done && !stopped {
				stopped = true
				ended[s.Judgement.Verdict]++
				made += look
			}
			if s.Done && !s.Judgement.Futile {
				patient[s.Judgement.Verdict]++
				all += look
				break
			}
		}
	}
	return ended, patient, made, all
}

// To end a series that cannot suffice makes no false alarm, costs next to no power, and
// saves pairs where there is nothing to find.
func TestFutility(t *testing.T) {
	racetest.Skip(t, "a simulation of its own")
	series := simulated(100)
	for _, c := range []struct {
		name       string
		sd, change float64
		spikes     bool
		wrong      Word // of which at most 5 % may be
		saved      int  // pairs in 100, at least
	}{
		{"identical, quiet", 0.02, 0, false, Regressed, 0},
		{"identical, noisy", 0.07, 0, false, Regressed, 0},
		{"identical, hopeless", 0.2, 0, false, Regressed, 25},
		{"identical, spikes", 0.02, 0, true, Regressed, 0},
		{"just the tolerance", 0.05, 0.05, false, Regressed, 25},
		{"just the tolerance, called ok", 0.02, 0.05, false, OK, 25},
		{"10 % worse", 0.05, 0.1, false, OK, 0},
		{"10 % worse, noisy", 0.07, 0.1, false, OK, 0},
		{"20 % worse, spikes", 0.03, 0.2, true, OK, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := NewPairs(24, true, "http", DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			ended, patient, made, all := seeded(0.2, c.sd, c.change).gambled(t, p, series, c.spikes)
			t.Logf("%v after %d pairs; to the end %v after %d", ended, made/series, patient, all/series)
			if ended[c.wrong] > (series*5+99)/100 {
				t.Errorf("%d of %d are called %s", ended[c.wrong], series, c.wrong)
			}
			for _, word := range []Word{OK, Regressed} {
				if lost := patient[word] - ended[word]; lost < 0 || lost > (series*2+99)/100 {
					t.Errorf("%d of %d %s are lost", lost, patient[word], word)
				}
			}
			if saved := 100 * (all - made) / all; saved < c.saved {
				t.Errorf("%d %% of the pairs are saved, want %d", saved, c.saved)
			}
		})
	}
}

// What ended early is said, with what would be needed.
func TestFutilityIsTold(t *testing.T) {
	p, err := NewPairs(24, true, "http", DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Next(seeded(0.2, 0.6, 0.05).pairs(16))
	if err != nil || !s.Done || !s.Judgement.Futile || s.Judgement.Verdict != Inconclusive {
		t.Fatalf("%+v, %v", s, err)
	}
	advice := strings.Join(s.Judgement.Advice, "\n")
	for _, want := range []string{"ended after 16 pairs, because even the 24 of --max-pairs would most probably not conclude about p50, p99", "p50, p99: "} {
		if !strings.Contains(advice, want) {
			t.Errorf("%s\nwant in it: %s", advice, want)
		}
	}
	if quick, err := p.Next(seeded(0.2, 0.02, 0.1).pairs(10)); err != nil || quick.Judgement.Futile || quick.Judgement.Verdict != Regressed {
		t.Errorf("%+v, %v", quick, err)
	}
}
