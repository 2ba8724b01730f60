package sock

import (
	"testing"
	"time"
)

// A stamp becomes the instant that it is of; after a step of the wall clock the stamps of
// before say nothing, and those of after are right again.
func TestWall(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, -time.Millisecond, time.Millisecond, time.Hour} {
		start := time.Now()
		w := NewWall(HostClock{}, start)
		before := time.Now()
		stamp := before.UnixNano()
		near := func(name string, got, want time.Duration) {
			t.Helper()
			if d := got - want; d < -time.Millisecond/2 || d > time.Millisecond/2 {
				t.Errorf("step of %v, %s: %v, want %v", step, name, got, want)
			}
		}
		near("before", w.At(stamp, time.Since(start)), before.Sub(start))
		if looked(&w) || w.Check() || w.Steps != 0 {
			t.Errorf("%d steps before the step", w.Steps)
		}
		at := time.Now().UnixNano()
		undo := Pretend(func(ns int64) int64 {
			if ns >= at {
				ns += int64(step)
			}
			return ns
		})
		time.Sleep(2 * time.Millisecond)
		if !looked(&w) || w.Steps != 1 || w.Moved.Round(100*time.Microsecond) != step.Abs() {
			t.Errorf("step of %v: %d were seen, of %v", step, w.Steps, w.Moved)
		}
		now := time.Since(start)
		if got := w.At(stamp, now); got > now || got < before.Sub(start) {
			t.Errorf("step of %v: a stamp of before it gave %v, at %v", step, got, now)
		}
		after := time.Now()
		time.Sleep(2 * time.Millisecond)
		near("after", w.At(pretend(after.UnixNano()), time.Since(start)), after.Sub(start))
		if looked(&w) || w.Check() || w.Steps != 1 {
			t.Errorf("step of %v: it was seen %d times", step, w.Steps)
		}
		undo()
	}
}

// The clocks keep their distance while nobody sets the wall clock, and to see that costs
// as much as to read them.
func TestWallStands(t *testing.T) {
	w := NewWall(HostClock{}, time.Now())
	for range 100_000 {
		if looked(&w) {
			t.Fatalf("the wall clock was set by %v", w.Moved)
		}
	}
}

func looked(w *Wall) (stepped bool) {
	_, stepped = w.Look()
	return stepped
}

func BenchmarkWallLook(b *testing.B) {
	w := NewWall(HostClock{}, time.Now())
	for b.Loop() {
		w.Look()
	}
}

func BenchmarkNow(b *testing.B) {
	start := time.Now()
	for b.Loop() {
		_ = time.Since(start)
	}
}

// An instant is as exact as the two clocks were read together, and never less than Doubt.
func TestWallError(t *testing.T) {
	w := NewWall(HostClock{}, time.Now())
	if e := w.Error(); e < time.Duration(apart) || e > Doubt {
		t.Errorf("off by %v", e)
	}
	if w.gap = int64(time.Second); w.Error() != Doubt {
		t.Errorf("off by %v, want %v at most", w.Error(), Doubt)
	}
}
