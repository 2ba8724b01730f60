//go:build race

package sim

// few is how many seeds run under the race detector, which makes one 15 times as long.
const few = 20
