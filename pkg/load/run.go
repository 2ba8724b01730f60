package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"time"

	"github.com/taktload/takt/internal/embedded"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/pkg/takt"
)

// Kind is the Report.Kind of runs of this package.
const Kind = "bench"

// Run makes the run of p and returns its report.
//
// When ctx ends, the run stops sending, drains operations in flight and still returns its report.
// An error without a report means that the run could not start. An error with a report means that
// the report could not be written to one of Plan.Outputs or to Plan.Store.
//
// A failed assertion or an invalid run is not an error: look at Report.Assertions and
// Report.Verdict.
//
// Run uses neither signals nor flags. A worker that never returns costs a goroutine, not the report.
func Run(ctx context.Context, p Plan) (*takt.Report, error) {
	k, err := p.prepare()
	if err != nil {
		return nil, err
	}
	defer k.outputs.Discard()
	if err := k.outputs.Open(); err != nil {
		closeUnused(p.Driver)
		return nil, err
	}
	source, err := k.options.Source()
	if err != nil {
		closeUnused(p.Driver)
		return nil, err
	}
	r, err := engine.Run(ctx, engine.Plan{
		Options: k.options, Kind: Kind, Source: source, Driver: p.Driver, NewWaiter: p.waiter(ctx),
		OnInterval: p.OnSecond, OnSamples: p.OnSamples, Abort: p.Abort, Keep: p.keep(),
	})
	if err != nil {
		return nil, err
	}
	p.complete(ctx, r, &k)
	err = k.outputs.Write(os.Stdout, r)
	if p.Store != nil {
		if failed := p.Store(r); failed != nil {
			err = errors.Join(err, fmt.Errorf("cannot store the report: %w", failed))
		}
	}
	return r, err
}

// closeUnused closes a driver that the engine did not get.
func closeUnused(d *takt.Driver) {
	if d.Close != nil {
		_ = d.Close() // the run has an error already
	}
}

func (p *Plan) keep() engine.Keep {
	if p.Tune {
		return engine.KeepCollector
	}
	return engine.KeepAll
}

// waiter waits for the due instants. The precise waiter sleeps while holding a P: with
// GOMAXPROCS=1 operations were up to 2 s late.
func (p *Plan) waiter(ctx context.Context) func(time.Time) pace.Waiter {
	if w := pace.Of(ctx); w != nil {
		return w
	}
	if p.oneCore(ctx) {
		return pace.Timer
	}
	return nil
}

func (p *Plan) oneCore(ctx context.Context) bool {
	return pace.Of(ctx) == nil && !p.Tune && runtime.GOMAXPROCS(0) == 1
}

// complete adds to the engine's report what only the plan knows.
func (p *Plan) complete(ctx context.Context, r *takt.Report, k *prepared) {
	r.ID = engine.NewID(time.Now())
	r.Tool = takt.Tool{Name: "takt", Version: embedded.Version(), Go: runtime.Version()}
	r.Command = []string{}
	r.Labels = maps.Clone(p.Labels)
	r.Variables = k.options.Variables()
	maps.Copy(r.Variables, p.Variables)
	r.Variables["name"] = cmp.Or(p.Name, embedded.Program())
	r.Variables["engine"] = r.Generator.Engine
	r.ComparabilityKey = engine.ComparabilityKey(r.Variables, r.Generator.HostClass)
	embedded.Reword(r.Warnings)
	if p.oneCore(ctx) {
		r.Warn("one_core", "GOMAXPROCS is 1, so time was kept with Go's timers, which are up to 1 ms late: set Tune, or GOMAXPROCS=2")
	}
	assert.Judge(r, k.assertions)
}
