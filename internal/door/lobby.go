package door

import (
	"slices"
	"sync"
)

// Lobby lists the connections that have not said yet who they are. A new one always gets in: beyond a
// limit it evicts the oldest of its own address, or of the address with the most. A silent crowd keeps
// nobody out.
type Lobby struct {
	Most          int // in all
	MostOfAddress int

	mu      sync.Mutex
	waiting []*Guest // the oldest first
}

// Guest is a connection in the lobby.
type Guest struct {
	address string
	end     func() // ends the connection; must not block
	evicted bool   // protected by the lobby's lock
}

// Enter adds a connection, and evicts one if a limit is exceeded.
func (l *Lobby) Enter(address string, end func()) *Guest {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := &Guest{address: address, end: end}
	l.waiting = append(l.waiting, g)
	switch {
	case l.of(address) > l.MostOfAddress:
		l.evict(address)
	case len(l.waiting) > l.Most:
		l.evict(l.fullest())
	}
	return g
}

// Waiting is the number of connections in the lobby.
func (l *Lobby) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// of counts the waiting connections of an address.
func (l *Lobby) of(address string) (n int) {
	for _, g := range l.waiting {
		if g.address == address {
			n++
		}
	}
	return n
}

// fullest is the address with the most connections; among equals, the one with the oldest.
func (l *Lobby) fullest() (address string) {
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

// evict ends the oldest connection of an address that has at least one.
func (l *Lobby) evict(address string) {
	i := slices.IndexFunc(l.waiting, func(g *Guest) bool { return g.address == address })
	g := l.waiting[i]
	l.waiting = slices.Delete(l.waiting, i, i+1)
	g.evicted = true
	g.end()
}

// Leave removes a connection, and reports whether it was evicted before.
func (l *Lobby) Leave(g *Guest) (evicted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, g); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	return g.evicted
}
