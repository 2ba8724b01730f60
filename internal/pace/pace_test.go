package pace_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/test/clocktest"
)

func TestTimerIsExactUnderFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := pace.Timer(time.Now())
		defer w.Close()
		w.Until(5300*time.Microsecond, nil)
		if now := w.Now(); now != 5300*time.Microsecond {
			t.Errorf("woke at %v", now)
		}
	})
}

func TestUntilReturnsSoonAfterStop(t *testing.T) {
	for name, wait := range map[string]func(time.Time) pace.Waiter{"timer": pace.Timer, "precise": pace.Precise, "prompt": pace.Prompt} {
		t.Run(name, func(t *testing.T) {
			w := wait(time.Now())
			defer w.Close()
			stop := make(chan struct{})
			time.AfterFunc(30*time.Millisecond, func() { close(stop) })
			w.Until(time.Hour, stop)
			if w.Now() > time.Minute {
				t.Errorf("returned only after %v", w.Now())
			}
		})
	}
}

func TestNeverEarly(t *testing.T) {
	for name, wait := range map[string]func(time.Time) pace.Waiter{"precise": pace.Precise, "prompt": pace.Prompt} {
		w := wait(time.Now())
		for i := 1; i <= 100; i++ {
			due := w.Now() + time.Duration(i)*10*time.Microsecond
			w.Until(due, nil)
			if now := w.Now(); now < due {
				t.Fatalf("%s woke %v early", name, due-now)
			}
		}
		w.Close()
	}
}

// What ends a wait ends only this one: the next ends when it is due, however late the timer of the one before fires.
func TestPromptAfterStop(t *testing.T) {
	w := pace.Prompt(time.Now())
	defer w.Close()
	stop := make(chan struct{}, 1)
	for range 1000 {
		stop <- struct{}{}
		w.Until(w.Now()+20*time.Microsecond, stop)
		due := w.Now() + 50*time.Microsecond
		w.Until(due, nil)
		if now := w.Now(); now < due {
			t.Fatalf("woke %v early", due-now)
		}
		select {
		case <-stop: // the first wait was over before
		default:
		}
	}
}

// lateness waits for n instants, gap apart, and returns the median lateness.
func lateness(w pace.Waiter, n int, gap time.Duration) time.Duration {
	defer w.Close()
	late := make([]time.Duration, n)
	for i := range late {
		due := w.Now() + gap
		w.Until(due, nil)
		late[i] = w.Now() - due
	}
	slices.Sort(late)
	return late[n/2]
}

// The reason why Precise exists: the median of a Go timer is half a millisecond.
func TestPreciseBeatsGoTimers(t *testing.T) {
	clocktest.Asked(t)
	clocktest.Wants(t, func(*clocktest.Sleepers) (faults []string) {
		precise := lateness(pace.Precise(time.Now()), 300, 1300*time.Microsecond)
		timer := lateness(pace.Timer(time.Now()), 300, 1300*time.Microsecond)
		t.Logf("median lateness: precise %v, timer %v", precise, timer)
		if precise > timer/2 {
			faults = append(faults, fmt.Sprintf("precise is %v late at the median, a Go timer %v", precise, timer))
		}
		return faults
	})
}
