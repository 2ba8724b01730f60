package verifycmd

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
)

// busy is a machine that disturbs each run of a side with that chance.
func busy(seed uint64, base, head float64) func(side, url string) (stored.Run, error) {
	r := rand.New(rand.NewPCG(seed, 8))
	chance := map[string]float64{"base": base, "head": head}
	return func(side, _ string) (stored.Run, error) {
		run := stored.Run{Kind: "http", Settings: stored.NewSettings(nil, ""), Figures: stored.Figures{
			Names: []string{"p50", "p99", "errors", "rate"}, Values: []float64{1000, 5000, 0, 500},
		}}
		if r.Float64() < chance[side] {
			run.Unfit = "the run is invalid: the generator shaped its figures"
		}
		return run, nil
	}
}

// played plays a series of 8 pairs on that machine.
func played(t *testing.T, run func(side, url string) (stored.Run, error), most string) (verify.Judgement, string, error) {
	t.Helper()
	var said strings.Builder
	v := &verifyCommand{env: core.Env{Stderr: &said, Stdout: io.Discard}, options: verify.DefaultOptions(), base: []string{"a"}, head: []string{"b"}}
	s := &series{pairs: "8", most: 24, spare: most}
	if faults := s.validate(v, []string{"http"}); faults != nil {
		t.Fatal(faults)
	}
	b := s.block(context.Background(), v, []string{"http"})
	b.run = run
	j, err := s.judge(b)
	return j, said.String(), err
}

// On a machine that disturbs half of all pairs, nearly every series ends well, and chance
// is not taken for a side that disturbs.
func TestDisturbedPairsAreReplaced(t *testing.T) {
	const series = 300
	ended, oneSided := 0, 0
	for seed := range uint64(series) {
		j, _, err := played(t, busy(seed, 0.29, 0.29), "") // 1 − 0.71² = 0.5 of the pairs
		if err != nil {
			continue
		}
		ended++
		if j.Verdict != verify.OK || len(j.Head.Runs) != 8 {
			t.Fatalf("%+v", j)
		}
		if strings.Contains(strings.Join(j.Advice, "\n"), "chance does not explain") {
			oneSided++
		}
	}
	t.Logf("%d of %d series ended well; chance looked like a side in %d", ended, series, oneSided)
	if ended < series*95/100 || oneSided > series*5/100 {
		t.Errorf("%d of %d series ended well; chance looked like a side in %d", ended, series, oneSided)
	}
}

// What is replaced, and how often at most, is said at the start, at each pair and in the
// judgement; that only the head's runs are invalid is said too.
func TestDisturbedPairsAreTold(t *testing.T) {
	n := 0
	run := func(side, url string) (stored.Run, error) {
		chance := 0.0
		if side == "head" {
			n++
			chance = float64(n % 2) // every second run of it
		}
		return busy(1, 0, chance)(side, url)
	}
	j, said, err := played(t, run, "9")
	if err != nil || j.Disturbed == nil || j.Disturbed.Base != 0 || j.Disturbed.Head < 6 || j.Disturbed.Most != 9 {
		t.Fatalf("%+v, %v", j.Disturbed, err)
	}
	for _, want := range []string{"at most 9 with an invalid run are replaced\n", "verify: head: the run is invalid: the generator shaped its figures; takt repeats this pair (1 of at most 9)\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s\nwant in it %s", said, want)
		}
	}
	for _, want := range []string{"pairs were disturbed, since a run was invalid: base 0, head ", "nearly all invalid runs are of head"} {
		if !strings.Contains(strings.Join(j.Advice, "\n"), want) {
			t.Errorf("%q, want in it %s", j.Advice, want)
		}
	}
}

// The bound ends a series with exit code 6, and says whose runs were invalid.
func TestDisturbedPairsHaveABound(t *testing.T) {
	for _, c := range []struct {
		name, most string
		base, head float64
		want       string
	}{
		{"all of them", "", 1, 0, "all of the first 6 pairs were disturbed (base 6, head 0)"},
		{"none may be", "0", 0, 1, "1 pair was disturbed (base 0, head 1) beside 0 good ones, and at most 0 are replaced"},
		{"nearly all", "3", 0.4, 0.4, "4 pairs were disturbed"},
	} {
		_, _, err := played(t, busy(2, c.base, c.head), c.most)
		var unfit *verify.UnfitError
		if !errors.As(err, &unfit) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if code := (core.Env{Stderr: io.Discard}).Exit(verdictOf(err)); code != core.ExitInvalid {
			t.Errorf("%s: exit code %d", c.name, code)
		}
	}
}

// playedWithin plays a series of 8 pairs of 10 s within a budget, in virtual time.
func playedWithin(t *testing.T, budget time.Duration, pairs string, run func(side, url string) (stored.Run, error)) (verify.Judgement, string, time.Duration, error) {
	t.Helper()
	var said strings.Builder
	v := &verifyCommand{env: core.Env{Stderr: &said, Stdout: io.Discard}, options: verify.DefaultOptions(), base: []string{"a"}, head: []string{"b"}, budget: budget}
	s := &series{pairs: pairs, most: 24}
	if faults := s.validate(v, []string{"http"}); faults != nil {
		t.Fatal(faults)
	}
	b := s.block(context.Background(), v, []string{"http"})
	var now time.Duration
	b.used = func() time.Duration { return now }
	b.run = func(side, url string) (stored.Run, error) { now += 5 * time.Second; return run(side, url) }
	j, err := s.judge(b)
	return j, said.String(), now, err
}

// With a budget, time bounds how many disturbed pairs are replaced, and not their number: a
// machine that disturbs four of five pairs still gets its word. What is used is told.
func TestDisturbedPairsWithinBudget(t *testing.T) {
	const series = 100
	ended := 0
	for seed := range uint64(series) {
		j, said, used, err := playedWithin(t, 20*time.Minute, "8", busy(seed, 0.55, 0.55))
		if used > 20*time.Minute {
			t.Fatalf("%v used", used)
		}
		if err == nil && j.Verdict == verify.OK && len(j.Head.Runs) == 8 {
			ended++
		}
		if seed == 1 {
			for _, want := range []string{"replaced within the budget of 20m0s\n", "repeats this pair within the budget (1 so far); ", "of 20m0s used"} {
				if !strings.Contains(said, want) {
					t.Errorf("%s\nwant in it %s", said, want)
				}
			}
		}
	}
	if ended < series*95/100 {
		t.Errorf("%d of %d series ended well", ended, series)
	}
}

// A budget that is used up ends the series with a judgement of the pairs that there are, or with
// exit code 6 when there are none.
func TestBudgetOfPairsEnds(t *testing.T) {
	j, _, used, err := playedWithin(t, 100*time.Second, "auto", busy(1, 0, 0))
	if err != nil || used > 100*time.Second || len(j.Head.Runs) != 9 || j.Verdict != verify.Inconclusive && j.Verdict != verify.OK {
		t.Errorf("%d pairs, %s, %v, %v", len(j.Head.Runs), j.Verdict, used, err)
	}
	if want := "ended after 9 pairs of 24: the budget of 1m40s was used up"; !strings.Contains(strings.Join(j.Advice, "\n"), want) {
		t.Errorf("%q, want in it %s", j.Advice, want)
	}
	j, _, _, err = playedWithin(t, 45*time.Second, "8", busy(1, 0, 0))
	if err != nil || j.Verdict != verify.Inconclusive || len(j.Head.Runs) != 3 {
		t.Errorf("%s of %d pairs, %v", j.Verdict, len(j.Head.Runs), err)
	}
	var unfit *verify.UnfitError
	if _, _, used, err = playedWithin(t, 10*time.Minute, "8", busy(1, 1, 0)); !errors.As(err, &unfit) || !strings.Contains(err.Error(), "all of the first 30 pairs were disturbed") || used != 150*time.Second {
		t.Errorf("%v after %v", err, used)
	}
	if _, _, _, err = playedWithin(t, 25*time.Second, "8", busy(1, 1, 0)); !errors.As(err, &unfit) || !strings.Contains(err.Error(), "was used up before a pair counted, and 5 pairs were disturbed (base 5, head 0)") {
		t.Errorf("%v", err)
	}
}

// A run that no repetition can mend ends the series at once.
func TestOnlyInvalidRunsAreReplaced(t *testing.T) {
	made := 0
	_, _, err := played(t, func(side, url string) (stored.Run, error) {
		made++
		run, err := busy(1, 0, 0)(side, url)
		run.Unfit = "not one operation succeeded"
		return run, err
	}, "")
	var unfit *verify.UnfitError
	if !errors.As(err, &unfit) || made != 2 {
		t.Errorf("%v after %d runs", err, made)
	}
}
