package shell

import (
	"fmt"
	"slices"
	"sync"
)

// Limits of sessions that have not sent their token yet. A script sends its token within
// a round trip, so only a flood comes near the limits.
const (
	maxGuests          = 128
	maxGuestsOfAddress = 32
)

// lobby lists the sessions that have not sent their token yet. A new session always gets
// in: beyond a limit it evicts the oldest session of its own address, or of the address
// with the most sessions.
type lobby struct {
	mu      sync.Mutex
	waiting []*guest // the oldest first
}

// guest is a session in the lobby.
type guest struct {
	address string
	end     func() // ends the session; must not block
	evicted bool   // protected by the lobby's lock
}

// enter adds a session, and evicts one if a limit is exceeded.
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

// of counts the waiting sessions of an address.
func (l *lobby) of(address string) (n int) {
	for _, g := range l.waiting {
		if g.address == address {
			n++
		}
	}
	return n
}

// fullest is the address with the most sessions; among equals, the one with the oldest
// session.
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

// evict ends the oldest session of an address that has at least one.
func (l *lobby) evict(address string) {
	i := slices.IndexFunc(l.waiting, func(g *guest) bool { return g.address == address })
	g := l.waiting[i]
	l.waiting = slices.Delete(l.waiting, i, i+1)
	g.evicted = true
	g.end()
}

// leave removes a session, and reports whether it was evicted before.
func (l *lobby) leave(g *guest) (evicted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, g); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	return g.evicted
}

// Limits of sessions that may run commands.
const (
	maxSessions          = 256
	maxSessionsOfAddress = 64 // only with tokens
)

// seats counts the sessions that may run commands.
type seats struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by address
}

// take occupies a seat, which give frees. Without an address only maxSessions applies.
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
