//go:build race

package capacity

import "testing"

// withoutDetector is for simulations, which share nothing and take 15 times as long with
// the race detector: scripts/test runs them without it.
func withoutDetector(t *testing.T) {
	t.Helper()
	t.Skip("a simulation; scripts/test runs it without the race detector")
}
