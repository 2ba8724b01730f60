//go:build !race

package analysis

import "testing"

func withoutDetector(*testing.T) {}
