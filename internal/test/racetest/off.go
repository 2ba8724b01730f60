//go:build !race

package racetest

// On says that the race detector is in this binary.
const On = false
