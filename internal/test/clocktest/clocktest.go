// Package clocktest decides tests of real time. Such a test makes several runs, and a run
// counts only if the machine was quiet during the run.
package clocktest

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Asked skips t unless TAKT_TIMING is set: tests of real time run one after the other, while
// nothing else runs. scripts/test and scripts/test-real set it.
func Asked(t testing.TB) {
	t.Helper()
	if os.Getenv("TAKT_TIMING") == "" {
		t.Skip("measures real time: run by make test-real on its own (TAKT_TIMING=1)")
	}
}

// The limits of one test.
const (
	mostBad  = 4 // bad runs, before a good one is there
	mostRuns = 10
	patience = 40 * time.Second // for discarded runs, and for the wait until the machine is quiet
)

// common is the remaining patience of all tests of a process together, in ns. Without it, each test
// would wait for a minute on a machine that is never quiet.
var common atomic.Int64

func init() { common.Store(int64(2 * time.Minute)) }

// Wants calls run until the outcome is certain: a run must be good, that is, return no fault,
// before the fourth bad one. A fault of takt comes in every run; noise that hits one core, which
// plain sleeps may not see, comes in several, but not in all. With half of the runs hit, 1 of 16
// tests fails. Plain sleeps run beside each run. A run on a noisy machine
// is discarded and repeated, whatever it found. If too few runs can be judged, t is skipped.
func Wants(t testing.TB, run func(*Sleepers) (faults []string)) {
	t.Helper()
	s := score{patience: min(patience, time.Duration(common.Load()))}
	s.decide(func() (good bool, noise string, lost time.Duration) {
		begun, sleepers := time.Now(), sleep(t)
		what := strings.Join(run(sleepers), "; ")
		noise = sleepers.stop().String()
		switch {
		case noise != "":
			t.Logf("a run is discarded, %s (the run found: %s)", noise, cmp.Or(what, "no fault"))
			lost = time.Since(begun)
			waited, atOnce := settle(t, s.patience-s.lost-lost)
			lost += waited
			common.Add(-int64(lost))
			if atOnce {
				s.alone++
			}
		case what != "":
			t.Logf("a bad run: %s", what)
		}
		return what == "", noise, lost
	})
	switch s.outcome() {
	case passed:
		t.Log(s)
	case failed:
		t.Fatal(s)
	default:
		t.Skip(s)
	}
}

// settle waits until plain sleeps alone are punctual for a second, but not longer than
// most. It returns how long it waited, and whether the first second was quiet.
func settle(t testing.TB, most time.Duration) (waited time.Duration, atOnce bool) {
	t.Helper()
	begun := time.Now()
	for first := true; time.Since(begun) < most; first = false {
		s := sleep(t)
		time.Sleep(time.Second)
		noise := s.stop().String()
		if noise == "" {
			return time.Since(begun), first
		}
		if first {
			t.Logf("waiting for a quiet machine: %s", noise)
		}
		time.Sleep(3 * time.Second)
	}
	return time.Since(begun), false
}

// score counts the runs of one test by their result.
type score struct {
	good, bad, discarded int
	alone                int           // discarded runs after which the machine was quiet immediately
	noise                string        // of the last discarded run
	lost                 time.Duration // by discarded runs, and by the wait after each
	patience             time.Duration // limit of lost
}

// decide calls run until the outcome is certain, or no more runs are allowed. noise says why a run
// cannot be judged; "": it can.
func (s *score) decide(run func() (good bool, noise string, lost time.Duration)) {
	for s.outcome() == open {
		good, noise, lost := run()
		switch {
		case noise != "":
			s.discarded, s.noise, s.lost = s.discarded+1, noise, s.lost+lost
		case good:
			s.good++
		default:
			s.bad++
		}
	}
}

// outcome is the result of a test.
type outcome int

const (
	open outcome = iota // another run is needed
	passed
	failed
	skipped
)

func (s *score) outcome() outcome {
	switch {
	case s.good == 1:
		return passed
	case s.bad == mostBad:
		return failed
	case s.good+s.bad+s.discarded >= mostRuns, s.discarded > 0 && s.lost >= s.patience:
		return skipped
	}
	return open
}

// String is the score in words: "1 of 3 judged runs good, 3 more discarded: sleeps ended
// 1.2 ms late at p99".
func (s score) String() string {
	text := fmt.Sprintf("%d of %d judged runs good", s.good, s.good+s.bad)
	if s.discarded > 0 {
		text += fmt.Sprintf(", %d more discarded: %s", s.discarded, s.noise)
	}
	if s.outcome() == skipped {
		text = "the machine is too noisy to tell: " + text
		if s.alone == s.discarded {
			text += "; the machine was quiet after each discarded run, so the load of the test is the noise"
		}
	}
	return text
}
