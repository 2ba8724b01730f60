package verifycmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/service"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// visit is one run against the server of a side. It implements core.Side for a whole run.
type visit struct {
	*commitSide
	ctx     context.Context // ends when the server ends
	cancel  context.CancelCauseFunc
	watched *process.Watched
	seconds *timeline.Sampler // begins and ends with watched
	out     io.Writer         // for the user
	length  time.Duration     // of the schedule, with its warm-up; 0: not known
	warmup  time.Duration
	taking  *profiling   // nil: the run takes no profile
	heap    service.Heap // at the beginning, with what one reading of it adds; nil: not known
}

// visit starts the server for a run. The caller calls leave.
func (s *commitSide) visit(ctx context.Context, out io.Writer) (*visit, error) {
	if err := s.start(ctx, out); err != nil {
		return nil, err
	}
	r := &visit{commitSide: s, out: out}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	go func(done <-chan struct{}, failure func() error) {
		select {
		case <-done:
			r.cancel(failure())
		case <-r.ctx.Done():
		}
	}(s.server.Done(), s.server.Failure)
	return r, nil
}

// within returns a context that ends with ctx and with the server.
func (r *visit) within(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })
	return inner, cancel
}

// leave ends the run, and the server unless it runs on. It returns the error of a server that ended
// during the run.
func (r *visit) leave(out io.Writer) error {
	died := context.Cause(r.ctx)
	r.cancel(nil)
	if r.watched != nil {
		r.watched.Usage() // the run ended without a report
		r.seconds.End()
	}
	if r.taking != nil { // as above; the context of its requests has ended
		r.taking.finish()
		r.profileFault = cmp.Or(r.taking.err, errors.New("the run made no report"))
	}
	if !r.keep {
		r.stop(out)
	}
	var failed *service.Failed
	if errors.As(died, &failed) {
		return r.failed(died, out)
	}
	return nil
}

// Source implements core.Side: the run has the whole schedule.
func (r *visit) Source(all takt.Source, warmup time.Duration) (takt.Source, error) {
	r.length, r.warmup = max(0, all.End()), warmup
	return all, nil
}

// Join implements core.Side.
func (r *visit) Join(*engine.Plan, core.Known) {
	r.readHeap()
	r.watched, r.seconds = r.server.Watch(), r.server.Sample()
	if r.profile != (profileSource{}) {
		r.taking = r.profiler()
	}
}

// Over adds the server's figures to the report, and how it was started to the settings. The port is
// another one in each run, and runs with different settings cannot be compared.
func (r *visit) Over(report *takt.Report) {
	r.profiledRun(report, r.figures(report))
	for name, v := range report.Variables {
		if text, ok := v.(string); ok {
			report.Variables[name] = r.server.PlaceOf(text)
		}
	}
	start := "for each run"
	if r.keep {
		start = "once"
	}
	report.Variables["server_start"], report.Variables["server_run"] = start, r.run
	if r.build != "" {
		report.Variables["server_build"] = r.build
	}
	if r.cores.servers != nil {
		report.Variables["server_cpus"] = proc.CPUList(r.cores.servers)
	}
	if r.cores.rest != nil {
		report.Variables["generator_cpus"] = proc.CPUList(r.cores.rest)
	}
	report.ComparabilityKey = engine.ComparabilityKey(report.Variables, report.Generator.HostClass)
}

// figures adds what the server's processes used, and what its runtime counted. It returns their CPU time; 0: not known.
func (r *visit) figures(report *takt.Report) (cpu time.Duration) {
	if r.watched == nil {
		return 0
	}
	used := r.watched.Usage()
	counted := r.counted()
	r.seconds.End()
	r.seconds.Fill(report)
	r.watched = nil
	if used.MaxRSS == 0 {
		return 0
	}
	if report.Extra == nil {
		report.Extra = map[string]any{}
	}
	report.Extra[stored.MetricMemory] = float64(used.MaxRSS)
	counted[stored.MetricServerCPU] = used.CPU.Seconds() * 1e6
	counted[stored.MetricSwitches] = float64(used.Switches)
	n := endedOf(report)
	for metric, v := range counted {
		if metric == stored.MetricCollections {
			v *= 1000
		}
		if n > 0 && v > 0 {
			report.Extra[metric] = v / n
		}
	}
	return used.CPU
}

// readHeap reads the counters of the server's runtime, if it has a page with them. It reads twice, because a reading
// allocates, too.
func (r *visit) readHeap() {
	if r.heap = nil; !r.asked {
		r.findHeap()
	}
	if r.commitSide.heap == "" {
		return
	}
	before, err := r.server.Heap(r.ctx, r.commitSide.heap)
	after, err2 := r.server.Heap(r.ctx, r.commitSide.heap)
	if err != nil || err2 != nil {
		return // its run has no such figures
	}
	r.heap = after
	for metric, v := range before {
		r.heap[metric] += max(0, after[metric]-v)
	}
}

// findHeap looks once for the page with the counters of the server's runtime. A page that the user named and that
// does not exist is said.
func (r *visit) findHeap() {
	r.asked = true
	for _, page := range r.pages {
		_, err := r.server.Heap(r.ctx, page)
		if err == nil {
			r.commitSide.heap = page
			return
		}
		if page == r.stats {
			fmt.Fprintf(r.out, "verify: %s: --server-stats: %v; the runs have no allocations and garbage collections\n", r.name, err)
		}
	}
}

// counted is what the server's runtime counted since readHeap.
func (r *visit) counted() service.Heap {
	counted := service.Heap{}
	if r.heap == nil {
		return counted
	}
	now, err := r.server.Heap(r.ctx, r.commitSide.heap)
	if err != nil {
		return counted
	}
	for metric, v := range now {
		counted[metric] = v - r.heap[metric]
	}
	return counted
}

// endedOf is how many operations of a run ended, those of its warm-up included: as many cost the server something.
func endedOf(report *takt.Report) float64 {
	c, w := report.Counts, report.WarmupCounts
	return float64(c.OK + c.Failed + w.OK + w.Failed)
}
