package shell

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// Bounds of sessions that have not given their token yet. A script gives it within a
// round trip, so only a flood comes near them.
const (
	maxGuests          = 128
	maxGuestsOfAddress = 32
)

// lobby holds the sessions that have not given their token yet. A new one is let in at
// all times: the one that has been silent longest has to go for it.
type lobby struct {
	mu      sync.Mutex
	waiting []*guest // the oldest first
}

// guest is a session in the lobby.
type guest struct {
	address string
	end     func() // has it leave; it must not wait
	evicted bool   // of the lobby's lock
}

// enter lets a session in.
func (l *lobby) enter(address string, end func()) *guest {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := &guest{address: address, end: end}
	l.waiting = append(l.waiting, g)
	switch {
	case l.of(address) > maxGuestsOfAddress:
		l.evict(address)
	case len(l.waiting) > maxGuests:
		l.evict(l.fullest())
	}
	return g
}

// of is how many an address has.
func (l *lobby) of(address string) (n int) {
	for _, g := range l.waiting {
		if g.address == address {
			n++
		}
	}
	return n
}

// fullest is the address that has most, of several the one that has waited longest.
func (l *lobby) fullest() (address string) {
	count := map[string]int{}
	for _, g := range l.waiting {
		count[g.address]++
	}
	for _, g := range l.waiting {
		if count[g.address] > count[address] {
			address = g.address
		}
	}
	return address
}

// evict ends the oldest of an address, which has one.
func (l *lobby) evict(address string) {
	i := slices.IndexFunc(l.waiting, func(g *guest) bool { return g.address == address })
	g := l.waiting[i]
	l.waiting = slices.Delete(l.waiting, i, i+1)
	g.evicted = true
	g.end()
}

// leave takes a session out, and reports whether it was evicted before.
func (l *lobby) leave(g *guest) (evicted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, g); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	return g.evicted
}

// Bounds of sessions that may run commands.
const (
	maxSessions          = 256
	maxSessionsOfAddress = 64 // of those that came with a token
)

// seats are the places of sessions that may run commands.
type seats struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by address
}

// take takes a place, for which give is to be called. Without an address only the bound
// of all counts.
func (s *seats) take(address string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.all >= maxSessions:
		return fmt.Errorf("there are %d sessions already; try again later", maxSessions)
	case address != "" && s.of[address] >= maxSessionsOfAddress:
		return fmt.Errorf("there are %d sessions from %s already; end some", maxSessionsOfAddress, address)
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.all++
	s.of[address]++
	return nil
}

func (s *seats) give(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[address]--; s.of[address] == 0 {
		delete(s.of, address)
	}
}

// addressOf is what bounds of an address go by: an IPv4 address, or the network of 64
// bits that one host has of IPv6 and can choose its addresses from. All of a unix socket
// are one.
func addressOf(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.Network()
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, _ := ip.Prefix(64) // never too long
	return network.String()
}
