// Package load runs any takt.Driver, or a Go function, on a schedule and returns takt's report.
//
// The three parts of a run are a driver, a schedule and a plan:
//
//	d := load.Handler(func(ctx context.Context, op *takt.Op, r *takt.Result) error {
//		return call(ctx)
//	})
//	report, err := load.Run(ctx, load.Plan{Driver: d, Schedule: schedule.Constant(500, 10*time.Second)})
//
// A driver performs operations. [Handler] makes one of a function, [Workers] makes one whose workers
// have a connection or other state each, and [takt.Driver] has the rest: asynchronous clients,
// consumers, protocols over TCP.
//
// A schedule says when operations are due. Package schedule makes constant rates, ramps, stages,
// Poisson arrivals and closed loops. The schedule does not wait for slow answers: response time
// counts from the instant at which an operation was due, so an operation that had to wait is as slow
// as its user would find it.
//
// The report has latencies in microseconds (fields named P50, P99 and so on), rates per second and
// sizes in bytes. Look at Report.Verdict first: takt.Invalid means that the generator, not the
// target, shaped the figures, and Report.Warnings say why.
//
// Failures have classes, such as "timeout". [Failed] gives an error its class.
//
// Package bench has a main function for such programs, and testing helpers.
package load
