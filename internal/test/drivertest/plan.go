package drivertest

import (
	"context"
	"testing"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// Flags are a driver's options as far as a run needs them.
type Flags interface {
	Shape(o *engine.Options)
	Validate(args []string) []error
	Open(ctx context.Context, conns int) (*takt.Driver, error)
}

// Plan prepares a run as the command of that kind does; change sets what is not the
// default.
func Plan(t *testing.T, kind string, o Flags, change func(*engine.Options), args ...string) engine.Plan {
	t.Helper()
	e := engine.Defaults()
	if change != nil {
		change(&e)
	}
	o.Shape(&e)
	for _, err := range append(o.Validate(args), e.Validate()...) {
		t.Fatal(err)
	}
	src, err := e.Source()
	if err != nil {
		t.Fatal(err)
	}
	d, err := o.Open(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Plan{Options: e, Kind: kind, Source: src, Driver: d}
}

// Make makes the run of a plan, whose counts must add up.
func Make(t *testing.T, p engine.Plan) *takt.Report {
	t.Helper()
	r, err := engine.Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Counts; c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished {
		t.Errorf("counts do not add up: %+v", c)
	}
	return r
}
