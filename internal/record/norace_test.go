//go:build !race

package record

import "testing"

func withoutDetector(*testing.T) {}
