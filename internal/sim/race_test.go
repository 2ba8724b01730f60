//go:build race

package sim

// few is how many seeds run without TAKT_SEEDS. With the race detector a seed takes 15 times as long.
const few = 20
