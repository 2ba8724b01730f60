package engine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// mostAddresses is the number of addresses of a name over which connections are spread. Each
// is tried before the run.
const mostAddresses = 64

// addresses are the addresses of a target. Connections use them in turn: with the first one
// only, one of several servers would get all load.
type addresses struct {
	world      World
	loop       *takt.Loop
	host, port string // host is "" where nothing is to be looked up

	mu    sync.Mutex
	known []string // in the order of the first look-up, then new ones
	left  []string // known, but not reachable before the run
	cause error    // of the first of left
	turn  int      // in known, of the next connection
	taken []string // by at least one connection
}

func newAddresses(w World, l *takt.Loop) *addresses {
	a := &addresses{world: w, loop: l}
	host, port, err := net.SplitHostPort(l.Addr)
	if err != nil || l.Network == "unix" {
		return a // a path
	}
	if _, err := netip.ParseAddr(host); err != nil {
		a.host, a.port = host, numeric(port)
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

// find looks the name up before the run and leaves out the addresses that cannot be reached.
func (a *addresses) find(ctx context.Context) (first string, err error) {
	if err := reach.Check(a.loop.Network, a.loop.Addr); err != nil || a.host == "" {
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
	return a.next(list), nil
}

// resolve returns the address for the next connection. Looking a name up is a phase of its own.
func (a *addresses) resolve(ctx context.Context, r *takt.Result) (string, error) {
	if err := reach.Check(a.loop.Network, a.loop.Addr); err != nil || a.host == "" {
		return a.loop.Addr, err
	}
	began := a.world.Now()
	list, err := a.look(ctx)
	if err != nil {
		return "", err
	}
	r.Phases[phaseDNS] = max(1, a.world.Since(began))
	return a.next(list), nil
}

func (a *addresses) look(ctx context.Context) (list []string, err error) {
	hosts, err := a.world.LookupHost(ctx, a.host)
	for _, h := range hosts {
		if addr := net.JoinHostPort(h, a.port); len(list) < mostAddresses && !slices.Contains(list, addr) {
			list = append(list, addr)
		}
	}
	if err == nil && len(list) == 0 {
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
	return a.leave(list, faults)
}

// leave leaves out the addresses of list whose faults are not nil.
func (a *addresses) leave(list []string, faults []error) error {
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

// next is the address of list whose turn it is. Many resolvers rotate their answers, and turns
// in a list that rotates, too, may meet the same address every time. So the order of the first
// answer counts.
func (a *addresses) next(list []string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, addr := range list {
		if len(a.known) < mostAddresses && !slices.Contains(a.known, addr) {
			a.known = append(a.known, addr)
		}
	}
	for range a.known {
		addr := a.known[a.turn%len(a.known)]
		a.turn++
		if slices.Contains(list, addr) && !slices.Contains(a.left, addr) {
			a.take(addr)
			return addr
		}
	}
	a.take(list[0])
	return list[0]
}

// take notes that a connection goes to addr.
func (a *addresses) take(addr string) {
	if !slices.Contains(a.taken, addr) {
		a.taken = append(a.taken, addr)
	}
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
