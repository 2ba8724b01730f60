// Package inprocess makes the run of a program that uses takt as a library.
package inprocess

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
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/judge/claims"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Plan is one run. The fields are those of load.Plan.
type Plan struct {
	Options    engine.Options
	Driver     *takt.Driver
	Name       string
	Command    []string // command line without secrets; nil: none
	Labels     map[string]string
	Variables  map[string]any
	Assertions []assert.Assertion
	Outputs    format.Outputs
	Store      func(*takt.Report) error
	OnSecond   func(takt.Interval)
	OnSamples  func(phases []string, list []takt.Sample)
	Abort      <-chan struct{}
	Tune       bool
	Words      takt.Words // of the warnings; zero: the program has takt's flags
}

// Run makes the run, and closes the driver. See load.Run for its errors.
func Run(ctx context.Context, p *Plan) (*takt.Report, error) {
	defer p.Outputs.Discard()
	if err := p.Outputs.Open(); err != nil {
		p.closeUnused()
		return nil, err
	}
	source, err := p.Options.Source()
	if err != nil {
		p.closeUnused()
		p.Outputs.Fail(p.Name, err)
		return nil, err
	}
	plan := engine.Plan{
		Options: p.Options, Kind: embedded.Kind, Source: source, Driver: p.Driver, NewWaiter: p.waiter(ctx),
		OnSamples: p.OnSamples, Abort: p.Abort, Keep: p.keep(), Words: p.Words,
	}
	if p.OnSecond != nil {
		plan.OnSecond = func(iv takt.Interval, _ []takt.ErrorClass) { p.OnSecond(iv) }
	}
	r, err := engine.Run(ctx, plan)
	if err != nil {
		p.Outputs.Fail(p.Name, err)
		return nil, err
	}
	p.complete(ctx, r)
	err = p.Outputs.Write(os.Stdout, r)
	if p.Store != nil {
		if failed := p.Store(r); failed != nil {
			err = errors.Join(err, fmt.Errorf("cannot store the report: %w", failed))
		}
	}
	return r, err
}

// closeUnused closes a driver that the engine did not get.
func (p *Plan) closeUnused() {
	if p.Driver.Close != nil {
		_ = p.Driver.Close() // the run has an error already
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
	if p.oneCore(ctx) {
		return pace.Timer
	}
	return nil
}

func (p *Plan) oneCore(ctx context.Context) bool {
	return pace.Of(ctx) == nil && !p.Tune && runtime.GOMAXPROCS(0) == 1
}

// complete adds to the engine's report what only the plan knows.
func (p *Plan) complete(ctx context.Context, r *takt.Report) {
	r.ID = engine.NewID(time.Now())
	r.Tool = takt.Tool{Name: "takt", Version: embedded.Version(), Go: runtime.Version()}
	r.Command = append([]string{}, p.Command...)
	r.Labels = maps.Clone(p.Labels)
	r.Variables = p.Options.Variables()
	maps.Copy(r.Variables, p.Variables)
	r.Variables["name"] = cmp.Or(p.Name, embedded.Program())
	r.Variables["engine"] = r.Generator.Engine
	r.ComparabilityKey = engine.ComparabilityKey(r.Variables, r.Generator.HostClass)
	if p.oneCore(ctx) {
		r.Warn(warn.OneCore, "GOMAXPROCS is 1, so time was kept with Go's timers, which are up to 1 ms late: %s", takt.Advice("set Tune, or GOMAXPROCS=2"))
	}
	r.Overload = overload.Find(r)
	claims.Judge(r, p.Assertions)
}
