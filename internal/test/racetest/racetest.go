// Package racetest makes tests shorter: those that the race detector makes too slow, because with it code
// takes about ten times as long, and simulations, which CI repeats ten times as often as make test.
package racetest

import (
	"os"
	"testing"
)

// whole says that simulations repeat as often as their bounds are for. CI and scripts/mutants set it.
func whole() bool { return os.Getenv("TAKT_WHOLE") != "" }

// Simulations is n in CI, and otherwise a tenth of n: how often to repeat a simulation.
func Simulations(n int) int {
	if whole() {
		return n
	}
	return n / 10
}

// Whole skips a simulation whose figures only CI can compare, because it repeats the simulation often enough.
func Whole(t testing.TB) {
	t.Helper()
	if !whole() {
		t.Skip("a simulation that CI runs, with TAKT_WHOLE=1")
	}
}

// Some is n, or with the race detector a tenth of n, at least 1: how often to repeat what shares
// memory in the same way each time.
func Some(n int) int {
	if On {
		return max(1, n/10)
	}
	return n
}

// Skip skips a test in which the race detector would find nothing that is takt's, and says why.
// scripts/test runs these tests without the detector.
func Skip(t testing.TB, why string) {
	t.Helper()
	if On {
		t.Skip(why + "; scripts/test runs it without the race detector")
	}
}
