package verify

import "os"

// simulated is how many of n series a test simulates: all of them in CI, otherwise a third, which
// finds what is badly wrong in a third of the time.
func simulated(n int) int {
	if os.Getenv("CI") == "true" {
		return n
	}
	return n / 3
}
