package engine

import (
	"errors"
	"slices"

	"github.com/taktload/takt/internal/proc"
)

// The names of Options.Engine, and of Generator.Engine.
const (
	engineAuto   = "auto"
	engineLoop   = "loop"
	engineWorker = "worker"
)

// ErrNoLoop says that the requested loop mode is not possible.
var ErrNoLoop = errors.New("--engine loop is for TCP on Linux (without --client net, --redirects and --unix-socket); leave --engine out")

// chooseEngine gives the driver of a loop workers instead if the loop mode is not wanted or
// not possible.
func (p *Plan) chooseEngine() error {
	l := p.Driver.Loop
	if p.Engine == engineLoop && !canLoop(l) {
		return ErrNoLoop
	}
	if l == nil || p.Driver.Async != nil || p.Driver.Worker != nil {
		return nil
	}
	with := *p.Driver
	with.Phases = append(slices.Clone(NetPhases), with.Phases...)
	if p.Engine == engineWorker || !canLoop(l) || p.NewWaiter != nil || p.Tap != nil {
		probe := with.Probe
		b := newBlocking(p.world(), l)
		with.Probe, with.Worker, p.addresses = b.probe, b.worker, b.addresses
		if probe != nil {
			with.Probe = probe
		}
	}
	p.Driver = &with
	return nil
}

// loops reports whether the loop mode runs p.
func (p *Plan) loops() bool {
	d := p.Driver
	return d.Loop != nil && d.Async == nil && d.Worker == nil
}

// unlocked reports whether the pacer is not locked to a thread, which costs a switch of threads with every wake-up. Without a
// schedule it hardly waits for the clock, and that of users often waits for what an answer makes due.
func (p *Plan) unlocked() bool { return p.Driver.Async != nil && (p.Closed() || p.Driver.Queues) }

// needs is what p needs from the process.
func (p *Plan) needs() needs {
	n := needs{keep: p.Keep, cpus: p.CPUs, waiters: 1, garbage: allGarbage}
	switch {
	case p.loops():
		n.waiters, n.garbage = loopCount(p.Options, p.Driver.Loop), noGarbage
		if d := p.Driver.Loop; d.TLS != nil && d.Mux != nil {
			n.garbage = someGarbage // one read has the answers to many operations
		} else if d.TLS != nil {
			n.garbage = allGarbage // crypto/tls leaves some 100 bytes for each read
		}
	case p.Driver.Loop != nil:
		n.garbage = someGarbage
	case p.unlocked():
		// A client limited to one operation in flight may spin for its end on a core of its own.
		n.waiters, n.few = 0, p.Closed() && p.InFlight() > 1 && proc.CPU() > 0
		if p.Driver.Queues {
			n.garbage = usersGarbage
		}
	}
	return n
}
