package sim

import (
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/sock"
)

type connState int

const (
	connecting connState = iota
	up
	refused
)

// conn is one connection, as the client's kernel sees it.
type conn struct {
	fd          int
	state       connState
	err         error
	in          []chunk         // bytes that arrived and are not read
	ended       time.Duration   // when the FIN arrived; -1: never
	reset       time.Duration   // when the RST arrived; -1: never
	room        int             // bytes that the socket accepts now
	gone        bool            // closed by the client
	strange     []time.Duration // when unasked bytes arrived
	faults      int             // number of injected faults
	out         []byte          // the sent part of the current request
	begins      bool            // its next bytes begin the request of operation seq
	seq         uint64
	begun       time.Duration // when the first byte of the last request was sent
	rtt         time.Duration // of connecting, as the kernel says it; 0: unknown
	there, back time.Duration // when the last bytes sent so far arrive at the target, and at the client
	requests    []*request    // whose sending began on this connection, in order
	peer        *session
	waiter      *thread // the thread that waits in a blocking call
	writes      bool    // waiter waits to write, not to read

	// Over HTTP/2:
	away     time.Duration // when the client read a GOAWAY; -1: never
	bad      time.Duration // when the client read a violation; -1: never
	released time.Duration // when its handshake was over; -1: not over TLS
	probe    bool          // the first connection
	mux      *watchedMux   // nil: nothing was sent
	allows   int           // operations at once, by the last SETTINGS that the client read
	canceled bool          // the client gave up a stream
}

// chunk is bytes that arrived together.
type chunk struct {
	at      time.Duration
	stamp   int64
	bytes   []byte
	unasked bool
	read    func(at time.Duration) // called when all of it is read, with the arrival of the last bytes read with it
}

// network has the sockets of the process.
type network struct {
	w     *world
	conns map[int]*conn // open ones, by descriptor
	free  []int         // free descriptors below next, lowest first
	next  int
	most  int // the most connections, or operations of asynchronous clients, open at once
	dials int
	srv   *server
}

func newNetwork(w *world) *network {
	n := &network{w: w, conns: map[int]*conn{}, next: 3}
	n.srv = newServer(w)
	return n
}

// descriptor returns the lowest free descriptor, as a kernel does. So an engine that uses a
// descriptor after closing it reaches another connection.
func (n *network) descriptor() int {
	if len(n.free) > 0 {
		fd := n.free[0]
		n.free = n.free[1:]
		return fd
	}
	n.next++
	return n.next - 1
}

func (n *network) connect() (*conn, error) {
	sc, w := n.w.sc, n.w
	if n.dials++; n.dials > 1 && (sc.Files > 0 && len(n.conns) >= sc.Files || w.chance("too many files", sc.NoFiles)) {
		w.report.injected["EMFILE"]++
		w.dialFault()
		return nil, os.NewSyscallError("socket", syscall.EMFILE)
	}
	c := &conn{fd: n.descriptor(), probe: n.dials == 1, ended: -1, reset: -1, room: sc.Room, away: -1, bad: -1, released: -1, allows: h2AtFirst}
	n.conns[c.fd] = c
	n.most = max(n.most, len(n.conns))
	w.idles()
	n.left()
	if sc.shared() && n.healthy() > sc.Conns {
		w.report.fault("bound", "%d connections take operations, at most %d may", n.healthy(), sc.Conns)
	}
	first := n.dials == 1
	delay := w.oneWay() + w.oneWay()
	switch {
	case !first && w.chance("lost SYN", sc.LostSYN):
		w.dialFault()
		delay += time.Second
	case !first && w.chance("refused", sc.Refused):
		w.dialFault()
		w.at(w.cur.at+delay, func() {
			c.state, c.err = refused, os.NewSyscallError("connect", syscall.ECONNREFUSED)
			n.changed(c)
		})
		return c, nil
	}
	if delay < time.Second {
		c.rtt = delay
	}
	w.at(w.cur.at+delay, func() {
		c.state = up
		if !c.gone {
			n.srv.accept(c)
		}
		n.changed(c)
	})
	return c, nil
}

func (n *network) close(fd int) {
	c := n.conns[fd]
	if c == nil {
		n.w.report.fault("descriptor", "closed %d, which is not open", fd)
		return
	}
	delete(n.conns, fd)
	n.w.idles()
	c.gone = true
	if _, known := seqOf(c.out); (len(c.out) > 0 && !known || c.begins) && c.faults > 0 {
		n.w.dialFault() // the number of its request was not sent, so the target does not know it
	}
	i, _ := slices.BinarySearch(n.free, fd)
	n.free = slices.Insert(n.free, i, fd)
	if c.peer != nil {
		c.peer.gone = true
		if c.peer.tls != nil {
			c.peer.tls.arrive(nil)
		}
	}
}

// deliver lets b arrive at the client of c at the instant at, or behind bytes that arrive later.
func (n *network) deliver(c *conn, at time.Duration, b []byte, unasked bool) {
	n.bring(c, at, chunk{bytes: b, unasked: unasked})
}

// bring is deliver with more about the bytes.
func (n *network) bring(c *conn, at time.Duration, k chunk) {
	c.back = max(c.back, at)
	n.w.at(c.back, func() {
		if c.gone || c.reset >= 0 || c.ended >= 0 {
			return
		}
		if k.unasked {
			c.strange = append(c.strange, n.w.now)
		}
		k.at, k.stamp = n.w.now, n.w.wallAt(n.w.now)
		c.in = append(c.in, k)
		n.changed(c)
	})
}

func (n *network) end(c *conn, at time.Duration) {
	c.back = max(c.back, at)
	n.w.at(c.back, func() {
		if c.reset < 0 && c.ended < 0 {
			c.ended = n.w.now
			n.changed(c)
		}
	})
}

func (n *network) breakOff(c *conn, at time.Duration) {
	c.back = max(c.back, at)
	n.w.at(c.back, func() {
		if c.reset < 0 {
			c.reset = n.w.now
			n.changed(c)
		}
	})
}

// changed wakes the thread that waits in a blocking call, if the call can now continue.
func (n *network) changed(c *conn) {
	if t := c.waiter; t != nil && (c.writes && c.writable() || !c.writes && c.readable()) {
		n.w.wake(t)
	}
}

// send sends as many bytes as the socket has room for.
func (n *network) send(c *conn, b []byte) (sent int, errno syscall.Errno) {
	w := n.w
	if m := w.cur.mux; m != nil {
		m.sends(c)
		w.cur.mux = nil
	}
	if w.sc.H2 {
		w.users.uses(c)
	} else if w.cur.begins { // the socket may have no room, and the thread other operations meanwhile
		c.begins, c.seq, w.cur.begins = true, w.cur.seq, false
	}
	switch {
	case c.reset >= 0:
		if c.peer.tls == nil && w.users == nil && len(c.out) == 0 || c.begins {
			w.dialFault() // the reset came after the client's last look at the connection
			c.begins = false
		}
		return 0, syscall.ECONNRESET
	case c.room == 0:
		return 0, sock.Again
	}
	sent = min(len(b), c.room)
	if sent < len(b) {
		w.report.injected["partial write"]++
	}
	if c.room != unbounded {
		c.room -= sent
		w.at(w.cur.at+time.Duration(20+w.rng.IntN(300))*time.Microsecond, func() {
			c.room += sent
			n.changed(c)
		})
	}
	n.srv.sent(c, b[:sent], w.cur)
	return sent, 0
}

// read reads what has arrived; stamp belongs to the last bytes read. Bytes that came before a RST
// can still be read. Without take the bytes stay in the socket, as with MSG_PEEK.
func (c *conn) read(b []byte, take bool) (n int, stamp int64, errno syscall.Errno) {
	last := time.Duration(0)
	var done []func(at time.Duration)
	defer func() {
		for _, f := range done {
			f(last)
		}
	}()
	for i := range c.in {
		k := &c.in[i]
		got := copy(b[n:], k.bytes)
		n += got
		if got > 0 {
			stamp, last = k.stamp, k.at
		}
		if !take {
			continue
		}
		if k.bytes = k.bytes[got:]; len(k.bytes) > 0 {
			c.in = c.in[i:]
			return n, stamp, 0
		}
		if k.read != nil {
			done = append(done, k.read)
		}
	}
	switch {
	case n > 0:
		if take {
			c.in = nil
		}
		return n, stamp, 0
	case c.reset >= 0:
		return 0, 0, syscall.ECONNRESET
	case c.ended >= 0:
		return 0, 0, 0
	}
	return 0, 0, sock.Again
}

// readable reports whether a read returns at once.
func (c *conn) readable() bool {
	return c.state == up && (len(c.in) > 0 || c.ended >= 0 || c.reset >= 0) || c.state == refused
}

// writable reports whether a write returns at once, or whether the attempt to connect is over.
func (c *conn) writable() bool {
	return c.state == refused || c.state == up && (c.room > 0 || c.reset >= 0)
}

// oneWay is how long bytes travel to the other side: 2 to 9 µs.
func (w *world) oneWay() time.Duration {
	return time.Duration(2+w.rng.IntN(8)) * time.Microsecond
}

// chance injects a fault of that name with probability p, and counts it.
func (w *world) chance(name string, p float64) bool {
	if p == 0 || w.rng.Float64() >= p {
		return false
	}
	w.report.injected[name]++
	return true
}
