package engine

import (
	"net/netip"
	"slices"
	"time"
)

// host is one of several addresses of a target, as a loop uses it.
type host struct {
	addr netip.AddrPort
	load
	idle places
}

// spread makes the addresses of the target those of the loop, if there are several and each connection carries one
// operation at a time. Loops begin with different ones.
func (l *loop) spread(addrs []netip.AddrPort) {
	if len(addrs) < 2 || l.most > 0 {
		return
	}
	for i := range addrs {
		l.hosts = append(l.hosts, &host{addr: addrs[(i+l.index)%len(addrs)]})
	}
}

// hostOf is the host with this address; nil: there is one address only.
func (l *loop) hostOf(addr netip.AddrPort) *host {
	if i := slices.IndexFunc(l.hosts, func(h *host) bool { return h.addr == addr }); i >= 0 {
		return l.hosts[i]
	}
	return nil
}

// leastHost is the first host in an order of loads, of those with an idle connection or of all; nil: there is none.
func (l *loop) leastHost(before func(a, b *load) bool, idle bool) (least *host) {
	for _, h := range l.hosts {
		if (!idle || h.idle.len() > 0) && (least == nil || before(&h.load, &least.load)) {
			least = h
		}
	}
	return least
}

// enter notes that an operation begins on the address of c.
func (c *lconn) enter() {
	if c.host != nil {
		c.host.load.enter()
	}
}

// leave notes that an operation on the address of c has ended.
func (c *lconn) leave() {
	if c.host != nil {
		c.host.flight--
	}
}

// addIdle notes that p is free and has a connection.
func (l *loop) addIdle(p *place) {
	if h := p.conn.host; h != nil {
		h.idle.add(p)
		return
	}
	l.idle.add(p)
}

// idles is the number of free places with a connection.
func (l *loop) idles() int {
	n := l.idle.len()
	for _, h := range l.hosts {
		n += h.idle.len()
	}
	return n
}

// idleSince is the instant from which one of the free places with a connection is free; forever: there is none.
func (l *loop) idleSince() time.Duration {
	since := l.idle.since()
	for _, h := range l.hosts {
		since = min(since, h.idle.since())
	}
	return since
}

// warm returns the place that was used last, of those on the host, if its connection is still open.
func (l *loop) warm(idle *places, now time.Duration) *place {
	for idle.len() > 0 {
		p := idle.last()
		if c := p.conn; c.fd >= 0 && (!l.caution.wants(now-p.idle, l.claim.Seq) || l.look(c)) {
			return p
		}
		l.spare.add(p)
	}
	return nil
}

// pickSpread returns a free place on the host for the next operation; nil: this host has none. any: it may be on
// another host.
func (l *loop) pickSpread(now time.Duration, any bool) *place {
	for h := l.leastHost((*load).idler, any); h != nil; h = l.leastHost((*load).idler, any) {
		if p := l.warm(&h.idle, now); p != nil || !any {
			return p
		}
	}
	return nil
}
