// Package racetest is for tests that the race detector makes too slow: with it, code takes about
// ten times as long.
package racetest

import "testing"

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
