// Package sim runs the load engine in a simulated world: clocks, threads, sockets and the target
// behind them, with injected faults. The engine's code is the same as on real machines; only its
// system calls are answered by the simulator. An oracle knows what was injected and what the
// target saw, and checks every operation and the report against both.
//
// A seed decides everything, so a run that failed fails again with the same seed.
package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/pkg/takt"
)

// Available reports whether the simulator runs on this system. Like the loop mode it needs Linux.
const Available = runtime.GOOS == "linux"

// Outcome is the result of one scenario.
type Outcome struct {
	Seed       uint64
	Scenario   *Scenario
	Operations int
	Calls      uint64         // that the engine made to the world
	Injected   map[string]int // number of injected faults, by kind
	Virtual    time.Duration  // length of the run in virtual time
	Trace      uint64         // fingerprint of all calls; equal for equal seeds
	Log        []string       // the calls themselves, with Scenario.Verbose
	Faults     []Fault        // of the engine, found by the oracle
}

// mostShown limits the faults that String shows.
const mostShown = 3

// String shows the seed, its scenario and the first faults.
func (o *Outcome) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s", o.Seed, o.Scenario)
	for _, f := range o.Faults[:min(mostShown, len(o.Faults))] {
		fmt.Fprintf(&b, "\n  %s: %s", f.Kind, f.Text)
	}
	return b.String()
}

// Sum adds up the outcomes of many scenarios.
type Sum struct {
	Seeds, Failed, Operations int
	Calls                     uint64
	Virtual                   time.Duration
	Injected                  map[string]int
}

// Add adds one outcome.
func (s *Sum) Add(o *Outcome) {
	s.Seeds++
	if len(o.Faults) > 0 {
		s.Failed++
	}
	s.Operations += o.Operations
	s.Calls += o.Calls
	s.Virtual += o.Virtual
	if s.Injected == nil {
		s.Injected = map[string]int{}
	}
	for kind, n := range o.Injected {
		s.Injected[kind] += n
	}
}

// Faults is the number of injected faults.
func (s *Sum) Faults() (n int) {
	for _, k := range s.Injected {
		n += k
	}
	return n
}

// String shows the figures on one line.
func (s *Sum) String() string {
	return fmt.Sprintf("%d seeds, %d failed; %d operations, %d calls, %v of virtual time; %d faults injected: %v",
		s.Seeds, s.Failed, s.Operations, s.Calls, s.Virtual.Round(time.Millisecond), s.Faults(), s.Injected)
}

// Run runs the scenario that the seed generates.
func Run(seed uint64) *Outcome { return run(seed, generate(seed)) }

func run(seed uint64, sc *Scenario) *Outcome {
	w := newWorld(sc, seed)
	k := w.report
	var rep *takt.Report
	var err error
	w.run(func() { rep, err = w.load() })
	switch {
	case len(k.faults) > 0 && rep == nil: // a fault has ended the run
	case sc.Cancel > 0 && errors.Is(err, context.Canceled): // before the run began
	case err != nil:
		k.fault("error", "the run ended with an error: %v", err)
	case rep == nil:
		k.fault("deadlock", "the run is stuck at %v: no thread can continue and no event is left", w.now)
	default:
		if sc.spoil != nil && len(k.rows) > 0 {
			sc.spoil(k, rep)
		}
		w.origin = rep.StartedAt.Sub(w.base)
		k.check(w, rep)
		k.journal(w, rep)
	}
	return &Outcome{
		Seed: seed, Scenario: sc, Operations: len(k.rows), Calls: w.trace.calls, Injected: k.injected,
		Virtual: w.over, Trace: w.trace.sum, Log: w.trace.log, Faults: k.faults,
	}
}

// load runs the engine, in the world's first thread.
func (w *world) load() (*takt.Report, error) {
	o := w.sc.options()
	src, err := o.Source()
	var users *takt.Driver
	if w.sc.Mode == modeUsers {
		src, users, err = w.openUsers(&o)
	}
	if err != nil {
		return nil, fmt.Errorf("the scenario has no schedule: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	abort := make(chan struct{})
	p := engine.Plan{
		Options: o, Kind: "http", Source: src, Keep: engine.KeepAll, World: w, Abort: abort,
		OnSecond:  func(takt.Interval, []takt.ErrorClass) {},
		OnSamples: func(_ []string, list []takt.Sample) { w.report.rows = append(w.report.rows, list...) },
		Driver: &takt.Driver{Loop: &takt.Loop{
			Network: "tcp", Addr: address.String(), Timeout: w.sc.Timeout, ConnectTimeout: w.sc.ConnectTimeout,
			Codec: func(int) takt.Codec {
				return http1.NewCodec(requests{w}, http1.Options{Fail: failed})
			},
		}},
	}
	if w.sc.Parts > 0 {
		p.Driver.Timed = (&http.Answers{Stream: true}).Timed()
		p.Driver.Loop.Codec = func(int) takt.Codec { return w.streamed() }
	}
	switch {
	case w.sc.Model:
		err = w.listen(&o, &p)
	case w.sc.GRPC:
		err = w.opened(&o, &p)
	}
	if err != nil {
		return nil, err
	}
	if w.sc.overTLS() {
		p.Driver.Loop.TLS = clientTLS
	}
	switch w.sc.Mode {
	case modeH2, modeH2TLS:
		if w.sc.GRPC {
			break
		}
		p.Driver.Loop.Mux, p.Driver.Loop.MuxConns = w.newMux, w.sc.Conns
	case modeAsync:
		p.Driver = &takt.Driver{Async: w.newClient}
	case modeReceive:
		p.Driver = &takt.Driver{Receive: w.receive}
	case modeUsers:
		p.Driver = users
	}
	w.journal.wantsAll = func() bool { return w.rng.IntN(3) == 0 }
	p.Journal = &w.journal
	w.signals(cancel, abort)
	return engine.Run(ctx, p)
}

func failed(status int) string {
	if status >= 500 {
		return "5xx"
	}
	return ""
}

func (w *world) signals(cancel func(), abort chan struct{}) {
	if w.sc.Cancel > 0 {
		w.at(w.sc.Cancel, func() { w.report.injected["signal"]++; cancel() })
	}
	if w.sc.Abort > 0 {
		w.at(w.sc.Abort, func() { close(abort) })
	}
}

// requests renders requests whose path is the number of the operation.
type requests struct{ w *world }

func (r requests) Append(dst []byte, op *takt.Op) (out []byte, head, last bool) {
	r.w.cur.begins, r.w.cur.seq = true, op.Seq
	dst = append(dst, "GET /"...)
	dst = strconv.AppendUint(dst, op.Seq, 10)
	return append(dst, " HTTP/1.1\r\nHost: sim\r\n\r\n"...), false, isLast(r.w.sc, op.Seq)
}
