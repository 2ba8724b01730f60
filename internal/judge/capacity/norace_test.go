//go:build !race

package capacity

import "testing"

func withoutDetector(*testing.T) {}
