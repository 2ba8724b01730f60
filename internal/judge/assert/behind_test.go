package assert_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/pkg/takt"
)

// Few targets below their capacity look as if they do not keep up, and a run that is too short to show an overload never
// says that the target keeps up.
func TestBehind(t *testing.T) {
	const seeds = 20
	for _, n := range []int{3, 5, 20} {
		for _, kind := range targets() {
			if strings.Contains(kind.name, "killed") || strings.Contains(kind.name, "freeze") { // these are behind
				continue
			}
			found, behind := 0, 0
			for seed := range seeds {
				const rate = 1000.0
				list := kind.run(rand.New(rand.NewPCG(uint64(seed), 7)), n, rate)
				due := 0.0
				for _, iv := range list {
					due += float64(iv.Scheduled)
				}
				due /= float64(n)
				r := &takt.Report{Verdict: takt.Valid, DurationS: float64(n), Rate: takt.Rate{Intended: &due}, Intervals: list, Latency: map[string]takt.Latency{takt.LatencyResponse: {Count: 1}}}
				if overload.Of(r) != nil {
					found++
				} else if overload.AtEnd(r) == overload.Growth {
					behind++
				}
			}
			t.Logf("%2d s, %-33s overloaded %2d, behind %2d of %d", n, kind.name, found, behind, seeds)
			if surely := kind.name != "1.02" && (kind.name != "1.1" || n == 20); kind.over && surely && found+behind < seeds {
				t.Errorf("%d s, %s: %d of %d keep up", n, kind.name, seeds-found-behind, seeds)
			}
			keepsUp := []string{"0.9 from empty", "0.98, stationary", "a ramp to 0.95", "shared at 0.9", "slow: 5 to 15 s"}
			if n == 20 {
				keepsUp = append(keepsUp, "0.98 from empty", "1 % slow at 0.9", "capacity that swings by 15 %")
			}
			if slices.Contains(keepsUp, kind.name) && behind > 1 {
				t.Errorf("%d s, %s: behind in %d of %d runs", n, kind.name, behind, seeds)
			}
		}
	}
}

// What the assertions of such a run say: the rate with what it completed while the schedule lasted.
func TestAssertionsOfBehind(t *testing.T) {
	r := overloaded()
	r.DurationS, r.Counts = 2, takt.Counts{Scheduled: 1400, Sent: 1400, OK: 1400}
	r.Intervals = r.Intervals[:3]
	r.Intervals[0].ResponseP50 = 1e5
	for text, want := range map[string]string{
		"rate>=99%":     "PASS rate>=99% (rate was 100 %; 71.4 % while the schedule lasted, the rest in the drain)",
		"rate>=500.5/s": "PASS rate>=500.5/s (rate was 700/s; 500/s while the schedule lasted, the rest in the drain)",
		"p99<10s":       "PASS p99<10s (p99 was 3.9s; not proven: the target was behind the schedule at its end, so the figure may grow with the length of the run)",
		"p99<1s":        "FAIL p99<1s (p99 was 3.9s)",
	} {
		list, faults := assert.ParseAssertions(text)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		if assert.Judge(r, list); r.Assertions[0].String() != want {
			t.Errorf("%s, want %s", r.Assertions[0], want)
		}
	}
}

// A target that does in the drain what one pause or one burst left is not behind. An overload is, also one that
// answers everything in the drain, and so is a target that died.
func TestOnePauseIsNotBehind(t *testing.T) {
	const seeds, rate = 100, 1000.0
	for _, n := range []int{3, 5, 20} {
		for _, kind := range targets() {
			killed := strings.HasPrefix(kind.name, "killed, silent")
			var growth, pause int
			for seed := range seeds {
				r := &takt.Report{
					Verdict: takt.Valid, DurationS: float64(n), Intervals: kind.run(rand.New(rand.NewPCG(uint64(seed), 9)), n, rate),
					Latency: map[string]takt.Latency{takt.LatencyResponse: {Count: 1}},
				}
				due, before := 0.0, uint64(0)
				for _, iv := range r.Intervals {
					due += float64(iv.Scheduled)
					before += iv.OK
				}
				perS := due / float64(n)
				r.Rate.Intended, r.Counts.OK = &perS, uint64(due)
				if killed {
					r.Counts.OK = before
				}
				switch overload.AtEnd(r) {
				case overload.Growth:
					growth++
				case overload.Pause:
					pause++
				}
			}
			t.Logf("%2d s, %-33s behind %3d, one pause %3d of %d", n, kind.name, growth, pause, seeds)
			switch once := strings.HasPrefix(kind.name, "a freeze") || strings.HasPrefix(kind.name, "3 times"); {
			case kind.over && kind.name != "1.02" && pause > 0, killed && pause > 0:
				t.Errorf("%d s, %s: %d of %d are one pause", n, kind.name, pause, seeds)
			case once && growth > seeds/12:
				t.Errorf("%d s, %s: %d of %d are behind", n, kind.name, growth, seeds)
			}
		}
	}
}
