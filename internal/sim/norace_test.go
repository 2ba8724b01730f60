//go:build !race

package sim

// few is how many seeds run without TAKT_SEEDS.
const few = 300
