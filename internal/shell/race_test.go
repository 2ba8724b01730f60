//go:build race

package shell_test

const raceDetector = true
