//go:build race

package http_test

const raceDetector = true
