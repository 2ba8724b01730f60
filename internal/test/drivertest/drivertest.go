package drivertest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Target is what a driver's server should do.
type Target int

// The behaviours that the suite asks for.
const (
	Good    Target = iota
	Failing        // every operation fails by the protocol's own code
	Hanging        // no operation is ever answered
	Down           // nobody is there
)

// short is a drain that cuts operations off.
const short = 500 * time.Millisecond

// Longest is for what ends by itself, however busy the machine is: a drain ends with the last operation.
const Longest = time.Minute

// Slowly makes a run with a timeout, and again with twice the timeout while run says that it was too short for
// this machine, for which handshakes and answers are slow when it is busy. A fault comes with any timeout. The
// last run has Longest or more.
func Slowly(timeout time.Duration, run func(timeout time.Duration) (again bool)) {
	for run(timeout) && timeout < Longest {
		timeout *= 2
	}
}

// Open makes a driver for a server that behaves like that. It belongs to the
// test, which ends both.
type Open func(t *testing.T, target Target) *takt.Driver

// Doubts are the warnings of r but for those of the machine that the test runs on: its time is
// real, and its other processes lose segments of TCP.
func Doubts(r *takt.Report) []takt.Warning {
	return slices.DeleteFunc(slices.Clone(r.Warnings), func(w takt.Warning) bool {
		return slices.Contains([]takt.WarningCode{warn.GC, warn.Steal, warn.Throttled, warn.Retransmits}, w.Code)
	})
}

// Run holds a driver against what the engine expects of all, in the engine's mode
// of that name; "": the driver's own.
func Run(t *testing.T, mode string, open Open) { RunList(t, mode, open, nil) }

// RunList is Run for a driver whose operations come from a list: with makes their
// source of that of the schedule.
func RunList(t *testing.T, mode string, open Open, with func(takt.Source) takt.Source) {
	run := func(t *testing.T, mode string, d *takt.Driver, n uint64, drain time.Duration) *takt.Report {
		return run(t, plan(t, mode, d, n, drain, with), mode, n)
	}
	t.Run("good", func(t *testing.T) {
		r := run(t, mode, open(t, Good), 100, Longest)
		if r.Counts.OK != 100 || r.Bytes.Sent == 0 || r.Bytes.Received == 0 {
			t.Errorf("counts %+v, bytes %+v, errors %+v", r.Counts, r.Bytes, r.Errors)
		}
	})
	t.Run("failing", func(t *testing.T) {
		r := run(t, mode, open(t, Failing), 10, Longest)
		if r.Counts.Failed != 10 || len(r.Errors) == 0 || r.Errors[0].Class == "" {
			t.Errorf("counts %+v, errors %+v", r.Counts, r.Errors)
		}
	})
	t.Run("hanging", func(t *testing.T) {
		began := time.Now()
		r := run(t, mode, open(t, Hanging), 10, short)
		if r.Counts.OK > 0 || r.Counts.Failed+r.Counts.Unfinished != 10 {
			t.Errorf("counts %+v, errors %+v", r.Counts, r.Errors)
		}
		if took := time.Since(began); took > Longest { // 120 times the drain, for a busy machine
			t.Errorf("the end of the drain did not end it: %v", took)
		}
	})
	t.Run("down", func(t *testing.T) {
		if _, err := engine.Run(context.Background(), plan(t, mode, open(t, Down), 1, short, with)); err == nil {
			t.Error("a run without a server was made")
		}
	})
}

func plan(t *testing.T, mode string, d *takt.Driver, n uint64, drain time.Duration, with func(takt.Source) takt.Source) engine.Plan {
	t.Helper()
	o := engine.Defaults()
	o.Rate, o.Requests, o.Drain, o.Engine = engine.MustRate("200/s"), n, engine.DrainOf(drain), mode
	src, err := o.Source()
	if err != nil {
		t.Fatal(err)
	}
	if with != nil {
		src = with(src)
	}
	return engine.Plan{Options: o, Kind: "test", Source: src, Driver: d}
}

func run(t *testing.T, p engine.Plan, mode string, n uint64) *takt.Report {
	t.Helper()
	r := Make(t, p)
	if mode != "" && r.Generator.Engine != mode {
		t.Errorf("the engine was %s, want %s", r.Generator.Engine, mode)
	}
	if r.Counts.Scheduled != n {
		t.Errorf("counts %+v, want %d scheduled", r.Counts, n)
	}
	return r
}
