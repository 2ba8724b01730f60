//go:build !race

package verify

import "testing"

func withoutDetector(*testing.T) {}
