package door

import (
	"net"
	"sync"
)

// crowd limits the connections of a listener, in all and from one address. It closes a
// connection beyond a limit at once.
type crowd struct {
	net.Listener
	most int
	mu   sync.Mutex
	all  int
	of   map[string]int
}

// NewCrowd returns the listener with at most so many connections at once, half of them from one
// address.
func NewCrowd(l net.Listener, most int) net.Listener {
	return &crowd{Listener: l, most: most, of: map[string]int{}}
}

// Accept implements net.Listener.
func (l *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address := AddressOf(conn.RemoteAddr())
		if l.enter(address) {
			return &counted{Conn: conn, leave: sync.OnceFunc(func() { l.leave(address) })}, nil
		}
		_ = conn.Close() // an error loses nothing
	}
}

func (l *crowd) enter(address string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= l.most || l.of[address] >= l.most/2 {
		return false
	}
	l.all++
	l.of[address]++
	return true
}

func (l *crowd) leave(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.of[address]--; l.of[address] == 0 {
		delete(l.of, address)
	}
}

// counted is a connection that leaves the crowd when it closes.
type counted struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.leave()
	return c.Conn.Close()
}
