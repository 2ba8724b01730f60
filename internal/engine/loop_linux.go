package engine

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// loops is the loop mode: K locked threads, each with its own sockets, poller and shard of
// the recorder. A thread claims an operation, waits until it is due, sends it without a
// thread switch, and reads the answers. Nothing is handed over, so nothing waits for the Go
// scheduler. With one goroutine per connection the service p50 at 100k/s was 135–1000 µs,
// with a loop 50 µs.
type loops struct {
	*flow
	world    World
	net      *takt.Loop
	opt      Options
	names    *addresses
	addrs    []netip.AddrPort        // of connections, in turn; later ones look up no names
	turn     atomic.Uint32           // in addrs, of the last connection
	first    atomic.Int64            // socket of the probe for the first operation; -1: none
	firstTLS atomic.Pointer[secured] // the same over TLS; nil: none
	dialling context.Context         // of connections over TLS; giveUp ends it
	giveUp   context.CancelFunc
	all      []*loop
	crowded  atomic.Int32 // loops without a free connection
	again    atomic.Int64 // operations that were begun again
	cutAt    atomic.Int64 // instant of the cut; negative: not yet
	begun    time.Time
	started  chan struct{} // closed at the start
}

// canLoop reports whether the loop mode supports l.
func canLoop(l *takt.Loop) bool {
	return sock.Available && l != nil && l.Network == "tcp"
}

// loopCount is the number of loop threads. One core is left to the rest of the program, and
// to a target on this machine.
func loopCount(o Options, l *takt.Loop) int {
	connections := o.InFlight()
	if l.Mux != nil {
		connections = min(connections, l.MuxConns)
	}
	cpus := proc.Usable()
	if o.CPUs > 0 {
		cpus = min(cpus, o.CPUs)
	}
	return max(1, min(cmp.Or(o.Loops, cpus-1), connections))
}

func newLoops(f *flow, w World, l *takt.Loop, o Options) *loops {
	m := &loops{flow: f, world: w, net: l, opt: o, names: newAddresses(w, l), started: make(chan struct{})}
	m.first.Store(-1)
	m.cutAt.Store(-1)
	return m
}

func (m *loops) name() string { return engineLoop }

// prepare connects once: a failure ends the run before its start.
func (m *loops) prepare(ctx context.Context) error {
	addr, err := m.names.find(ctx)
	if err != nil {
		return fmt.Errorf("cannot reach the target: %w", err)
	}
	if m.net.TLS != nil {
		err = m.firstSecured(ctx, addr)
	} else {
		err = m.firstPlain(ctx, addr)
	}
	if err != nil {
		return err
	}
	return m.makeLoops()
}

// firstPlain makes the first connection.
func (m *loops) firstPlain(ctx context.Context, addr string) error {
	reached, first, err := m.world.Dial(ctx, firstTo(m.net, addr))
	if err != nil {
		return err
	}
	m.addrs = m.names.all(reached)
	m.first.Store(int64(first))
	return nil
}

// nextAddr is the address of the next connection.
func (m *loops) nextAddr() netip.AddrPort {
	return m.addrs[int(m.turn.Add(1))%len(m.addrs)]
}

func (m *loops) makeLoops() error {
	count, limit := loopCount(m.opt, m.net), m.opt.InFlight()
	for i := range count {
		sys, err := m.world.System()
		if err != nil {
			return fmt.Errorf("cannot make the poller: %w; --engine worker does without", err)
		}
		l := newLoop(m, i, share(limit, count, i), sys)
		if m.net.Mux != nil {
			l.most = min(l.max, share(m.net.MuxConns, count, i))
		}
		l.spread(m.addrs)
		m.all = append(m.all, l)
	}
	for _, l := range m.all {
		m.world.Thread(l.live)
	}
	for _, l := range m.all {
		m.world.First(l.readied)
	}
	return nil
}

// share is part i, from 0, of n things that are dealt out to count.
func share(n, count, i int) int {
	if i < n%count {
		return n/count + 1
	}
	return n / count
}

func (m *loops) start(begun time.Time, _ func() time.Duration, _ func() pace.Waiter) {
	m.begun = begun
	m.flow.begin()
	close(m.started)
}

// stop ends the schedule. It wakes the loops, whose claimed operation may now be too late.
func (m *loops) stop(at time.Duration) {
	m.flow.end(at)
	m.wake()
}

func (m *loops) wake() {
	for _, l := range m.all {
		l.sys.Wake()
	}
}

// cut ends every loop; each counts its operations in flight as unfinished.
func (m *loops) cut(at time.Duration) {
	m.cutAt.Store(int64(at))
	if m.giveUp != nil {
		m.giveUp()
	}
	m.wake()
	rest := unsent(at, at)
	for _, l := range m.all {
		m.world.First(l.ended) // a loop waits only for its sockets
		rest.Free = min(rest.Free, l.freeFrom)
		rest.Dialling, rest.Before = rest.Dialling || l.stuck, rest.Before.Plus(l.unmade)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.abandon(rest)
}

func (m *loops) close() {
	for _, l := range m.all {
		l.sys.End()
	}
	if first := m.first.Swap(-1); first >= 0 {
		m.world.Close(int(first))
	}
	if s := m.firstTLS.Swap(nil); s != nil {
		m.world.Close(s.fd)
	}
	if m.giveUp != nil {
		m.giveUp()
	}
}

// describe implements describer. A loop that hardly ever rests cannot send on time.
func (m *loops) describe(rep *takt.Report, ran time.Duration) (loops int, worked float64) {
	rep.Generator.Loops = len(m.all)
	m.names.tookFirst(1+int(m.turn.Load()), m.addrs)
	for _, l := range m.all {
		for _, h := range l.hosts {
			if h.begun > 0 {
				m.names.took(h.addr)
			}
		}
	}
	m.names.report(rep)
	if n := m.again.Load(); n > 0 {
		rep.Extra["repeated"] = n
	}
	for _, l := range m.all {
		worked = max(worked, 1-l.rested.Seconds()/max(1e-9, ran.Seconds()))
	}
	return len(m.all), worked
}

// advise adds a hint for an invalid run.
func (m *loops) advise(rep *takt.Report) {
	if n := m.connections(); rep.Verdict == takt.Invalid && m.opt.Connections == 0 && n > blindMost {
		rep.Warn(warn.ManyConnections, "the pool grew to %d connections, which take generator and target time to make and to serve; %s",
			takt.Number("connections", n), takt.Advice("bound it with --connections: operations wait for one then, and the wait counts as response time"))
	}
}

// connections is the largest number of connections at once.
func (m *loops) connections() (n int) {
	for _, l := range m.all {
		n += len(l.conns)
	}
	return n
}

// opError is the error that package net would return.
func (c *lconn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: net.TCPAddrFromAddrPort(c.addr), Err: err}
}
