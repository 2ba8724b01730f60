package engine

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

// secured is a connection that was made beside the loops; without tls it is plain. A loop cannot
// wait in a handshake, and crypto/tls cannot pause in one, so goroutines beside the loops connect,
// and hand over what is ready.
type secured struct {
	fd   int
	tls  *sock.TLS
	addr netip.AddrPort
	took takt.Result // its phases
	err  error
	wait time.Duration // for the other side, see Turns

	conn    *lconn
	attempt uint32 // of conn: an older one was given up
}

// handover has the connections that wait for their loop.
type handover struct {
	ready atomic.Bool // list is not empty
	mu    sync.Mutex
	list  []*secured
	over  bool // the loop has ended
}

// put adds s, and reports false if nobody will take it.
func (h *handover) put(s *secured) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	h.list = append(h.list, s)
	h.ready.Store(true)
	return true
}

func (h *handover) take(over bool) (list []*secured) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list, h.list, h.over = h.list, nil, over
	h.ready.Store(false)
	return list
}

// secure connects to l and makes the handshake. It waits, but not longer than ctx.
func (m *loops) secure(ctx context.Context, l *takt.Loop, turns *Turns) *secured {
	s := &secured{fd: -1}
	defer func() { s.wait = turns.GivenUp() }()
	made, err := turns.make(ctx, m.world, l, &s.took)
	if s.tls, s.err = made.tls, err; err == nil {
		s.addr, s.fd, s.err = m.world.Release(made.net)
	}
	return s
}

// firstSecured makes the first connection: a failure ends the run before its start.
func (m *loops) firstSecured(ctx context.Context, addr string) error {
	s := m.secure(ctx, firstTo(m.net, addr), NewTurns(m.world.Now))
	if s.err != nil {
		return fmt.Errorf("cannot reach the target: %w", s.err)
	}
	m.addrs = m.names.all(s.addr)
	m.firstTLS.Store(s)
	m.dialling, m.giveUp = context.WithCancel(context.WithoutCancel(ctx))
	return nil
}

// dialSecured starts the connection c over TLS.
func (l *loop) dialSecured(c *lconn) {
	c.attempt++
	attempt, m, to := c.attempt, l.m, literal(l.m.net, c.addr.String())
	turns := NewTurns(m.world.Now)
	c.turns = turns
	m.world.Go(func() {
		s := m.secure(m.dialling, to, turns)
		s.conn, s.attempt = c, attempt
		if l.made.put(s) {
			l.sys.Wake()
		} else if s.fd >= 0 {
			m.world.Close(s.fd)
		}
	})
}

// takeSecured continues the operations whose connections are ready.
func (l *loop) takeSecured() {
	for _, s := range l.made.take(false) {
		switch c := s.conn; {
		case !c.dialling || c.attempt != s.attempt:
			l.discard(s)
		case s.err != nil:
			l.dialled(c, l.attempt(c, s.wait), nil)
			l.fail(c, s.err, true)
		default:
			l.attach(c, s)
			l.dialled(c, l.attempt(c, s.wait), nil)
			if p := c.dialler; p.sent <= c.began { // else it waited for a part of these phases only
				p.res.Phases[phaseConnect] = s.took.Phases[phaseConnect]
				p.res.Phases[phaseTLS] = l.now() - c.began - p.res.Phases[phaseConnect] // until the loop has it
			}
			if err := l.sys.Add(c.fd, c.token, false); err != nil {
				l.fail(c, err, true)
				continue
			}
			l.begun(c)
		}
	}
}

// farewell tells the target that nothing follows, as HTTP/2 and TLS want it, if the socket has
// room.
func (l *loop) farewell(c *lconn) {
	if c.waits || c.dialling || c.mux == nil && c.tls == nil {
		return
	}
	if c.mux != nil {
		c.mux.Close()
		if out, err := c.pending(); err == nil {
			if n, _ := l.sys.Send(c.fd, out); n < len(out) {
				return
			}
			c.took(len(out))
		}
	}
	if c.tls != nil && c.tls.Close() == nil {
		_, _ = l.sys.Send(c.fd, c.tls.Out()) // the socket is closed next
	}
}

// discard closes a connection that nobody waits for any more.
func (l *loop) discard(s *secured) {
	if s.fd >= 0 {
		l.close(s.fd)
	}
}

// takeFirst is the probe's connection, once; then nil.
func (m *loops) takeFirst() *secured {
	if m.net.TLS != nil {
		return m.firstTLS.Swap(nil)
	}
	if m.first.Load() < 0 {
		return nil
	}
	if fd := m.first.Swap(-1); fd >= 0 {
		return &secured{fd: int(fd), addr: m.addrs[0]}
	}
	return nil // another loop has it
}

// attach makes s, which may be plain, the connection of c.
func (l *loop) attach(c *lconn, s *secured) {
	l.watch()
	c.fd, c.tls, c.addr = s.fd, s.tls, s.addr
	if l.stamps {
		l.stamps = l.sys.Stamp(c.fd) == nil
	}
	l.measurePath(c)
	c.reset()
}

// open decrypts bytes that came for c; end as ending has it.
func (l *loop) open(c *lconn, in []byte, eof bool) (plain []byte, end error) {
	l.plain, end = c.tls.Open(l.plain[:0], in, eof)
	if out := c.tls.Out(); len(out) > 0 && !c.waits {
		if n, errno := l.sys.Send(c.fd, out); errno == 0 { // such as the answer to a new key
			c.tls.Sent(n)
		} // else the next request sends it, or the next read shows the failure
	}
	return l.plain, ending(end)
}

// peekSecured is sock.System.Peek over TLS: it reads what is TLS's own, such as session tickets.
func (l *loop) peekSecured(c *lconn) (in []byte, errno syscall.Errno, err error) {
	for eof := false; ; {
		plain, end := l.open(c, in, eof)
		switch {
		case len(plain) > 0, end == io.EOF, end == errCut:
			return plain, 0, nil
		case end != nil:
			return nil, 0, end
		}
		n, errno := l.sys.Receive(c.fd, l.in)
		if errno != 0 {
			return nil, errno, nil
		}
		in, eof = l.in[:n], n == 0
	}
}
