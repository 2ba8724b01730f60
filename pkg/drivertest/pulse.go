package drivertest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/pause"
)

// tick is how often a check looks at what it waits for.
const tick = 10 * time.Millisecond

// pulse is the clock of a check. It counts sleeps: on a busy machine each lasts longer, so the clock is
// as slow as a driver that waits for the same cores. No check measures with another clock.
type pulse struct {
	ticks atomic.Int64
	worst atomic.Int64 // longest delay of a sleep in ns
	over  chan struct{}
	ended sync.WaitGroup
}

func newPulse() *pulse {
	p := &pulse{over: make(chan struct{})}
	p.ended.Go(p.beat)
	return p
}

func (p *pulse) beat() {
	for {
		began := time.Now()
		if !pause.For(tick, p.over) {
			return
		}
		p.ticks.Add(1)
		p.worst.Store(max(p.worst.Load(), int64(time.Since(began)-tick)))
	}
}

func (p *pulse) now() time.Duration { return time.Duration(p.ticks.Load()) * tick }

// stop ends the clock, and returns how late its latest sleep ended.
func (p *pulse) stop() (worst time.Duration) {
	close(p.over)
	p.ended.Wait()
	return time.Duration(p.worst.Load())
}

// pass waits, and reports false if over was closed first.
func pass(d time.Duration, over <-chan struct{}) bool {
	for range d / tick {
		if !pause.For(tick, over) {
			return false
		}
	}
	return true
}

// until waits for a condition, and reports whether it came true within leakTime.
func until(done func() bool) bool {
	const look = 50 * time.Millisecond // done may look at all connections and goroutines
	for range leakTime / look {
		if done() {
			return true
		}
		time.Sleep(look)
	}
	return done()
}

// failer is what the checks need of testing.T.
type failer interface {
	Helper()
	// Errorf is for a fault of the driver, on any machine.
	Errorf(format string, args ...any)
	// Doubtf is for a fault if the machine had time for the driver. Otherwise the driver may be good.
	Doubtf(format string, args ...any)
}

// findings are the faults that a check found.
type findings struct{ sure, doubts []string }

func (*findings) Helper() {}

func (f *findings) Errorf(format string, args ...any) {
	f.sure = append(f.sure, fmt.Sprintf(format, args...))
}

func (f *findings) Doubtf(format string, args ...any) {
	f.doubts = append(f.doubts, fmt.Sprintf(format, args...))
}

// of returns the faults on a machine whose sleeps ended so late. busy: it had no time for the driver, so
// doubts may not be faults.
func (f *findings) of(late, most time.Duration) (faults []string, busy bool) {
	if len(f.doubts) > 0 && late > most {
		return f.sure, true
	}
	return append(f.sure, f.doubts...), false
}

// attempts is how often a check is made on a machine that is too busy to judge by it.
const attempts = 3

// judged makes a check, with the clock that it measures with. Doubts count only if no sleep of the pulse ended later than most: a good driver
// with a timeout fails operations on a busy machine.
func judged(t *testing.T, most time.Duration, check func(failer, *pulse)) {
	t.Helper()
	for n := 1; ; n++ {
		f, late := attempt(check)
		faults, busy := f.of(late, most)
		for _, fault := range faults {
			t.Error(fault)
		}
		switch {
		case !busy || len(faults) > 0: // what is a fault on any machine decides
			return
		case n == attempts:
			t.Skipf("the machine was too busy to judge the driver, in %d attempts: a sleep of %v ended %v late, and the check needs %v; run the test again when cores are free. The last attempt found: %s", n, tick, late.Round(time.Millisecond), most, strings.Join(f.doubts, "; "))
		}
	}
}

// attempt makes a check once, which may end the test. late is how late the latest sleep ended.
func attempt(check func(failer, *pulse)) (f findings, late time.Duration) {
	p := newPulse()
	defer func() { late = p.stop() }()
	check(&f, p)
	return f, late
}
