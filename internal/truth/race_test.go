//go:build race

package truth_test

const raceDetector = true
