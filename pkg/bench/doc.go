// Package bench makes a load generator of a Go function, whatever it speaks. Its
// face is that of wrk3: a program written for wrk3 changes its import line,
//
//	import wrk3 "github.com/taktload/takt/pkg/bench"
//
// and has takt's engine beneath. What it prints is then true in the following sense.
//
//   - Requests are due on a schedule, evenly spaced from the first to the last, and
//     the schedule does not wait for slow answers. There is no burst at the start and
//     none after a pause, and no rate that a low concurrency makes impossible by
//     itself: only calls that take their time do.
//   - The latency of a request is its response time, from the instant at which it was
//     due to its end. That is what a user would have felt; no request that had to
//     wait is left out (no coordinated omission). Service times and the generator's
//     own lateness are in [Result.Report].
//   - Every request that was due is reported once, always, also after a signal and
//     with a handler that never returns: total requests + omitted requests = due.
//   - When the generator, not the target, shaped the figures, the result says so
//     before anything else.
//
// [BenchmarkCmd] is a main function with flags, signals and exit codes.
// [Benchmark.Run] is the same for programs that have those of their own: it touches
// neither signals nor flags nor standard output, and returns a [Result].
package bench
