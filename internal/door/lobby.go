package door

import (
	"slices"
	"sync"
)

// Lobby lists connections. A guest is one that has not yet shown who sends it. A guest cannot keep others
// out: a new guest always gets in. Beyond a limit it evicts the oldest guest of its own address, or of the
// address with the most guests; if there is no other, the new guest itself goes.
type Lobby struct {
	Most   int // connections in all
	MostOf int // from one address
	mu     sync.Mutex
	all    []*Guest // the oldest first
}

// Guest is a connection in a lobby.
type Guest struct {
	address string
	end     func() // ends the connection; must not block
	welcome bool   // is no longer evicted
	evicted bool
}

// Enter adds a guest.
func (l *Lobby) Enter(address string, end func()) *Guest {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := &Guest{address: address, end: end}
	l.all = append(l.all, g)
	switch {
	case len(l.all) > l.Most && l.of(refused) > 0:
		l.evict(refused)
	case l.of(address) > l.MostOf:
		l.evict(address)
	case len(l.all) > l.Most:
		l.evict(l.fullest())
	}
	return g
}

// Len is the number of connections.
func (l *Lobby) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// of counts the connections of an address.
func (l *Lobby) of(address string) (n int) {
	for _, g := range l.all {
		if g.address == address {
			n++
		}
	}
	return n
}

// fullest is the address with the most guests; among equals, the one with the oldest guest.
func (l *Lobby) fullest() (address string) {
	count := map[string]int{}
	for _, g := range l.all {
		if !g.welcome {
			count[g.address]++
		}
	}
	for _, g := range l.all {
		if count[g.address] > count[address] {
			address = g.address
		}
	}
	return address
}

// evict ends the oldest guest of an address that has at least one.
func (l *Lobby) evict(address string) {
	i := slices.IndexFunc(l.all, func(g *Guest) bool { return g.address == address && !g.welcome })
	g := l.all[i]
	l.all = slices.Delete(l.all, i, i+1)
	g.evicted = true
	g.end()
}

// Welcome keeps a connection that has shown who it is from being evicted.
func (l *Lobby) Welcome(g *Guest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g.welcome = true
}

// refused is the address of all guests that are refused.
const refused = "refused"

// Refuse notes that a guest only waits for the reason why it is refused. It is evicted before others.
func (l *Lobby) Refuse(g *Guest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g.address = refused
}

// Evicted reports whether a connection was evicted.
func (l *Lobby) Evicted(g *Guest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return g.evicted
}

// Leave removes a connection, and reports whether it was evicted before.
func (l *Lobby) Leave(g *Guest) (evicted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.all, g); i >= 0 {
		l.all = slices.Delete(l.all, i, i+1)
	}
	return g.evicted
}
