// Package bench turns a Go function into a load generator for any protocol. It has the
// API of wrk3: a program written for wrk3 changes its import line,
//
//	import wrk3 "github.com/taktload/takt/pkg/bench"
//
// and uses takt's engine. The printed figures have these properties:
//
//   - Requests are due on a schedule, evenly spaced from the first to the last. The
//     schedule does not wait for slow answers, and has no burst at the start or after
//     a pause. A low concurrency limits the rate only if calls take long.
//   - The latency of a request is its response time, from the instant at which it was
//     due to its end: what a user would experience. Requests that had to wait are
//     included (no coordinated omission). Service times and the generator's own
//     lateness are in [Result.Report].
//   - Every request that was due is reported exactly once, even after a signal or with
//     a handler that never returns: total requests + omitted requests = due.
//   - If the generator, not the target, shaped the figures, the result says so first.
//
// [BenchmarkCmd] is a main function with flags, signals and exit codes.
// [Benchmark.Run] is for programs with their own: it uses neither signals nor flags
// nor standard output, and returns a [Result].
package bench
