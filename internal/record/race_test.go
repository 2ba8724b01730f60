//go:build race

package record

import "testing"

// withoutDetector is for runs of many seconds, which share nothing and take 20 times as long with
// the race detector: scripts/test runs them without it.
func withoutDetector(t *testing.T) {
	t.Helper()
	t.Skip("a run of 20 minutes; scripts/test runs it without the race detector")
}
