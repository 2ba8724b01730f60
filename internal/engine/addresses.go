package engine

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// mostAddresses is the number of addresses of a name over which connections are spread. Each
// is tried before the run.
const mostAddresses = 64

// addresses are the addresses of a target. Connections and operations are spread over them: with the first one
// only, one of several servers would get all load.
type addresses struct {
	world World
	loop  *takt.Loop
	names []name // empty where the address of loop is all there is
	host  string // what the target is called in texts

	mu    sync.Mutex
	known []string         // in the order of the first look-up, then new ones
	left  []string         // known, but not reachable before the run
	cause error            // of the first of left
	taken []string         // by at least one connection
	loads map[string]*load // by address; operations of workers
	many  atomic.Bool      // known has several: only then loads matters
}

// name is a host and a port that the user gave.
type name struct{ host, port string }

// load is what an address has got of operations.
type load struct {
	flight int    // operations in flight, with those that wait for a connection
	begun  uint64 // operations so far
}

// enter notes that an operation begins.
func (a *load) enter() {
	a.flight++
	a.begun++
}

// idler reports whether an operation that finds idle connections to both is for a rather than for b: the address
// with the fewest operations in flight, then with the fewest so far.
func (a *load) idler(b *load) bool {
	return a.flight < b.flight || a.flight == b.flight && a.begun < b.begun
}

// newer reports whether a new connection is to a rather than to b: in the other order, so a server that closes each
// connection gets as many as the others, however slow it is.
func (a *load) newer(b *load) bool {
	return a.begun < b.begun || a.begun == b.begun && a.flight < b.flight
}

func newAddresses(w World, l *takt.Loop) *addresses {
	a := &addresses{world: w, loop: l}
	for _, addr := range append([]string{l.Addr}, l.Others...) {
		host, port, err := net.SplitHostPort(addr)
		if err != nil || l.Network == "unix" {
			return a // a path
		}
		a.names = append(a.names, name{host, numeric(port)})
	}
	a.host = a.names[0].host
	if _, err := netip.ParseAddr(a.host); err == nil && len(a.names) == 1 {
		a.names = nil
	}
	return a
}

// numeric is a port as a number; --connect-to may name a service.
func numeric(port string) string {
	n, err := net.LookupPort("tcp", port)
	if err != nil {
		return port // connecting says what is wrong
	}
	return strconv.Itoa(n)
}

// check refuses a target that this process must not reach.
func (a *addresses) check() error {
	for _, addr := range append([]string{a.loop.Addr}, a.loop.Others...) {
		if err := reach.Check(a.loop.Network, addr); err != nil {
			return err
		}
	}
	return nil
}

// find looks the name up before the run and leaves out the addresses that cannot be reached.
func (a *addresses) find(ctx context.Context) (first string, err error) {
	if err := a.check(); err != nil || len(a.names) == 0 {
		return a.loop.Addr, err
	}
	ctx, cancel := a.world.Within(ctx, a.world.Now().Add(a.loop.ConnectTimeout))
	defer cancel()
	list, err := a.look(ctx)
	if err == nil && len(list) > 1 {
		err = a.try(ctx, list)
	}
	if err != nil {
		return "", err
	}
	return a.next(list, false), nil
}

// resolve returns the address for the next connection, whose operation has begun on it, see leave. Looking a name up is a phase of its own.
func (a *addresses) resolve(ctx context.Context, r *takt.Result) (string, error) {
	if err := a.check(); err != nil || len(a.names) == 0 {
		return a.loop.Addr, err
	}
	began := a.world.Now()
	list, err := a.look(ctx)
	if err != nil {
		return "", err
	}
	r.Phases[phaseDNS] = max(1, a.world.Since(began))
	return a.next(list, true), nil
}

func (a *addresses) look(ctx context.Context) (list []string, err error) {
	for _, n := range a.names {
		hosts := []string{n.host}
		if _, no := netip.ParseAddr(n.host); no != nil {
			if hosts, err = a.world.LookupHost(ctx, n.host); err != nil {
				return nil, err
			}
		}
		for _, h := range hosts {
			if addr := net.JoinHostPort(h, n.port); len(list) < mostAddresses && !slices.Contains(list, addr) {
				list = append(list, addr)
			}
		}
	}
	if len(list) == 0 {
		err = &net.DNSError{Err: "no address", Name: a.host, IsNotFound: true}
	}
	return list, err
}

// try connects to each address of list once. The error is that of the first one, if all fail.
func (a *addresses) try(ctx context.Context, list []string) error {
	faults := make([]error, len(list))
	tried := make([]chan struct{}, len(list))
	for i, addr := range list {
		tried[i] = make(chan struct{})
		a.world.Go(func() {
			defer close(tried[i])
			c, err := a.world.Connect(ctx, a.loop.Network, addr)
			if faults[i] = err; err == nil {
				_ = c.Close() // the address accepts connections
			}
		})
	}
	for _, c := range tried {
		a.world.First(c)
	}
	return a.leaveOut(list, faults)
}

// leaveOut leaves out the addresses of list whose faults are not nil.
func (a *addresses) leaveOut(list []string, faults []error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known = list
	for i, err := range faults {
		if err == nil {
			continue
		}
		if a.cause == nil {
			a.cause = err
		}
		a.left = append(a.left, list[i])
	}
	if len(a.left) == len(list) {
		return fmt.Errorf("none of the %d addresses of %s accepts a connection: %w", len(list), a.host, a.cause)
	}
	return nil
}

// next is the address of list for a new connection. Many resolvers rotate their answers, so the order of the
// first answer decides between equal ones. enters: an operation begins on it.
func (a *addresses) next(list []string, enters bool) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, addr := range list {
		if len(a.known) < mostAddresses && !slices.Contains(a.known, addr) {
			a.known = append(a.known, addr)
		}
	}
	a.many.Store(len(a.known) > 1)
	best := a.least((*load).newer, func(addr string) bool { return slices.Contains(list, addr) && !slices.Contains(a.left, addr) })
	best = cmp.Or(best, list[0])
	if a.take(best); enters && a.many.Load() {
		a.load(best).enter()
	}
	return best
}

// least is the first known address in an order of loads, of those that are good; "": none is. The caller holds the lock.
func (a *addresses) least(before func(a, b *load) bool, good func(addr string) bool) (best string) {
	for _, addr := range a.known {
		if good(addr) && (best == "" || before(a.load(addr), a.load(best))) {
			best = addr
		}
	}
	return best
}

// load is that of an address. The caller holds the lock.
func (a *addresses) load(addr string) *load {
	l := a.loads[addr]
	if l == nil {
		if a.loads == nil {
			a.loads = map[string]*load{}
		}
		l = new(load)
		a.loads[addr] = l
	}
	return l
}

// enter notes that an operation begins on addr.
func (a *addresses) enter(addr string) {
	if !a.many.Load() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.load(addr).enter()
}

// leave notes that an operation has ended that began on addr.
func (a *addresses) leave(addr string) {
	if !a.many.Load() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.load(addr)
	l.flight = max(0, l.flight-1) // it began before the name had several addresses
}

// choose is which of the idle connections, by their addresses, is to send the next operation: the last one of the
// address with the least load, else the last one that is not connected (""). -1: a new connection is better, if
// there may be one.
func (a *addresses) choose(idle func(i int) string, n int, grows bool) int {
	if a == nil || !a.many.Load() {
		return n - 1
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	last := map[string]int{}
	for i := range n {
		last[idle(i)] = i
	}
	best := a.least((*load).idler, func(addr string) bool { return !slices.Contains(a.left, addr) })
	if i, is := last[best]; is {
		return i
	}
	if i, is := last[""]; is {
		return i
	}
	if grows {
		return -1
	}
	if i, is := last[a.least((*load).idler, func(addr string) bool { _, is := last[addr]; return is })]; is {
		return i
	}
	return n - 1
}

// take notes that a connection goes to addr.
func (a *addresses) take(addr string) {
	if !slices.Contains(a.taken, addr) {
		a.taken = append(a.taken, addr)
	}
}

// took says that connections go to addr.
func (a *addresses) took(addr netip.AddrPort) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.take(addr.String())
}

// tookFirst says that the first n addresses of list have connections.
func (a *addresses) tookFirst(n int, list []netip.AddrPort) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, addr := range list[:min(n, len(list))] {
		a.take(addr.String())
	}
}

// all are the usable addresses, that which was reached first.
func (a *addresses) all(reached netip.AddrPort) []netip.AddrPort {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := []netip.AddrPort{reached}
	for _, addr := range a.usable() {
		if p, err := netip.ParseAddrPort(addr); err == nil && p != reached {
			list = append(list, p)
		}
	}
	return list
}

// usable are the known addresses without those that were left out.
func (a *addresses) usable() []string {
	return slices.DeleteFunc(slices.Clone(a.known), func(addr string) bool { return slices.Contains(a.left, addr) })
}

// report names the addresses of a target that has several.
func (a *addresses) report(rep *takt.Report) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) < 2 {
		return
	}
	list := []any{}
	for _, addr := range a.usable() {
		if slices.Contains(a.taken, addr) {
			list = append(list, addr)
		}
	}
	rep.Extra["addresses"] = list
	if a.host == "localhost" {
		return // 127.0.0.1 and ::1 are the same machine, and most servers listen on one of them
	}
	if n := len(a.usable()) - len(list); n > 0 {
		rep.Warn(warn.Addresses, "%d of the %d addresses of %s had no load, because the run made too few connections; %s",
			takt.Number("idle", n), takt.Number("addresses", len(a.known)), a.host, takt.Advice("give more with -c, or with --h2-connections"))
	}
	if n := len(a.left); n > 0 {
		rep.Warn(warn.Addresses, "%d of the %d addresses of %s did not accept a connection before the run, so they had no load: %v", takt.Number("idle", n), takt.Number("addresses", len(a.known)), a.host, a.cause)
	}
}

// literal is l with an address that needs no look-up.
func literal(l *takt.Loop, addr string) *takt.Loop {
	with := *l
	with.Addr = addr
	return &with
}

// firstTo is literal for the connection before the run. No operation waits for it, so the limit of operations does not
// bound it: a slow host or a slow first handshake is no target that cannot be reached.
func firstTo(l *takt.Loop, addr string) *takt.Loop {
	with := literal(l, addr)
	with.Timeout = with.ConnectTimeout
	return with
}
