package drivertest

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/pause"
)

// relay is a server before a good one, over TCP. It is good until the first operation, so that the
// handshakes of protocols succeed, and then behaves as its target.
type relay struct {
	target Target
	server string
	late   time.Duration // how long an answer waits in it, without operations
	l      net.Listener
	ctx    context.Context
	end    context.CancelFunc

	operations func() (starts, ends int64) // how many have begun and ended; nil: nobody knows

	once  sync.Once
	bad   atomic.Bool // the first operation has begun
	away  atomic.Bool // it resets new connections
	again atomic.Bool // it is back
	all   sync.WaitGroup
	mu    sync.Mutex
	conns map[net.Conn]bool
	ends  map[netip.AddrPort]bool // where the relay's own connections to the server lead
}

// When a server that restarts ends its connections, after the first operation, and how long it is away.
const (
	upTime   = 200 * time.Millisecond
	downTime = 300 * time.Millisecond
)

// relayTo starts a relay, or for Down none.
func relayTo(t *testing.T, server string, target Target, late time.Duration) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{target: target, server: server, late: late, l: l, conns: map[net.Conn]bool{}, ends: map[netip.AddrPort]bool{}}
	r.ctx, r.end = context.WithCancel(context.Background())
	t.Cleanup(r.close)
	if target == Down {
		l.Close()
		return r
	}
	r.all.Go(r.accept)
	return r
}

func (r *relay) addr() string { return r.l.Addr().String() }

func (r *relay) close() {
	r.end()
	r.l.Close()
	r.hangUp()
	r.all.Wait()
}

// begin is called at the first operation, and later.
func (r *relay) begin() {
	r.once.Do(func() {
		r.bad.Store(true)
		if r.target == Restarting {
			r.all.Go(r.restart)
		}
	})
}

func (r *relay) restart() {
	if !r.sleep(upTime) {
		return
	}
	r.away.Store(true)
	r.hangUp()
	if r.sleep(downTime) {
		r.away.Store(false)
		r.again.Store(true)
	}
}

// sleep waits, and reports whether the relay still runs.
func (r *relay) sleep(d time.Duration) bool { return pause.For(d, r.ctx.Done()) }

// hangUp ends all connections.
func (r *relay) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		c.Close()
	}
}

// add notes a connection, to hang up.
func (r *relay) add(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[c] = true
	if r.away.Load() || r.ctx.Err() != nil {
		c.Close()
	}
}

// reached notes where a connection of the relay leads.
func (r *relay) reached(server net.Conn) {
	to := server.RemoteAddr().(*net.TCPAddr).AddrPort()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends[netip.AddrPortFrom(to.Addr().Unmap().WithZone(""), to.Port())] = true
}

// leads reports whether a connection of the relay leads to an address.
func (r *relay) leads(to netip.AddrPort) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ends[to]
}

func (r *relay) remove(c net.Conn) {
	c.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
}

func (r *relay) accept() {
	for {
		c, err := r.l.Accept()
		if err != nil {
			return
		}
		if r.away.Load() {
			_ = c.(*net.TCPConn).SetLinger(0) // a reset; the port stays that of the relay
			c.Close()
			continue
		}
		r.all.Go(func() { r.serve(c) })
	}
}

func (r *relay) serve(client net.Conn) {
	defer r.remove(client)
	r.add(client)
	server, err := net.Dial("tcp", r.server)
	if err != nil {
		return
	}
	defer r.remove(server)
	r.reached(server)
	r.add(server)
	r.all.Go(func() {
		r.copy(server, client, func() func() bool { return r.now })
		server.Close() // the client has ended
	})
	r.copy(client, server, r.wait)
}

// wait returns what an answer that came now waits for.
func (r *relay) wait() func() bool {
	switch {
	case r.bad.Load() && r.target == Hanging:
		return func() bool { return false }
	case r.bad.Load() && r.target == Late && r.operations == nil:
		at := time.Now().Add(r.late)
		return func() bool { return r.sleep(time.Until(at)) }
	case r.bad.Load() && r.target == Late:
		return r.another()
	}
	return r.now
}

// now is the wait of an answer that does not wait.
func (r *relay) now() bool { return true }

// another waits until all operations that have begun are over, by their timeout, and then another has begun.
func (r *relay) another() func() bool {
	asked, _ := r.operations()
	return func() bool {
		for r.sleep(tick) {
			if starts, ends := r.operations(); ends >= asked && starts > asked {
				return true
			}
		}
		return false
	}
}

// piece is what came at once.
type piece struct {
	text []byte
	wait func() bool // reports whether to pass it on
}

// copy passes on what comes, in order, until one side ends. Reading goes on while pieces wait.
func (r *relay) copy(to, from net.Conn, wait func() func() bool) {
	pieces := make(chan piece, 1000)
	var writes sync.WaitGroup
	writes.Go(func() {
		for p := range pieces {
			if p.wait() {
				_, _ = to.Write(p.text) // a broken connection ends the other direction
			}
		}
	})
	defer writes.Wait()
	defer close(pieces)
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			select {
			case pieces <- piece{append([]byte(nil), buffer[:n]...), wait()}:
			case <-r.ctx.Done():
			}
		}
		if err != nil {
			return
		}
	}
}
