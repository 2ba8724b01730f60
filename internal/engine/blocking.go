package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

// NetPhases are the phases that Blocking reports, as Driver.Phases lists them. A phase that
// did not happen (such as connect on a reused connection) is in no histogram. dns, connect
// and tls are separate durations; first_byte counts from sent. client is takt's own part of
// the service time: from sent until the request is written, without dns, connect and tls.
// client_dial is takt's own part of connect and tls, see Turns.
var NetPhases = []string{"dns", "connect", "tls", "first_byte", "client", "client_dial"}

const (
	phaseDNS = iota
	phaseConnect
	phaseTLS
	phaseFirstByte
	phaseClient
	phaseDial
)

const (
	readBuffer = 16 << 10
	maxBuffer  = 1 << 20 // largest unparsed input that a codec may ask for
)

var errTooLarge = errors.New("the codec wants to see more than 1 MiB at once")

// Blocking makes workers that perform l's operations one at a time, each over its own
// blocking connection. The first operation reuses the probe's connection. No operation is
// sent twice: a broken connection fails its operation.
func Blocking(l *takt.Loop) (probe func(context.Context) error, worker func(int) (takt.Worker, error)) {
	b := newBlocking(machine{}, l)
	return b.probe, b.worker
}

// Connection is a worker whose connection can be closed without closing the worker.
type Connection interface {
	takt.Worker
	Hangup() // closes the connection; the next operation opens another one
}

// Connections is Blocking for a caller that decides which operation uses which connection.
func Connections(l *takt.Loop) (probe func(context.Context) error, connection func(i int) Connection) {
	b := newBlocking(machine{}, l)
	return b.probe, b.connection
}

func newBlocking(w World, l *takt.Loop) *blocking {
	return &blocking{world: w, loop: l, addresses: newAddresses(w, l)}
}

type blocking struct {
	world     World
	loop      *takt.Loop
	addresses *addresses
	mu        sync.Mutex
	first     net.Conn

	caution caution
}

func (b *blocking) probe(ctx context.Context) error {
	addr, err := b.addresses.find(ctx)
	if err != nil {
		return err
	}
	var r takt.Result
	c, err := NewTurns(b.world.Now).dial(ctx, b.world, literal(b.loop, addr), &r)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.first = c
	return nil
}

func (b *blocking) worker(i int) (takt.Worker, error) { return b.connection(i), nil }

func (b *blocking) connection(i int) Connection {
	return &conn{all: b, index: i, world: b.world, loop: b.loop, codec: b.loop.Codec(i), in: make([]byte, readBuffer)}
}

// takeFirst returns the probe's connection once, then nil. A target that serves one
// connection at a time would keep any other connection waiting for the probe's.
func (b *blocking) takeFirst() (first net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first, b.first = b.first, nil
	return first
}

// conn is one connection and its codec. It allocates only when it dials.
type conn struct {
	all    *blocking
	index  int
	world  World
	loop   *takt.Loop
	codec  takt.Codec
	mu     sync.Mutex // guards net, which an interrupt reads
	net    net.Conn   // nil: to be dialled
	below  *below     // the connection below TLS; nil: no TLS
	looker looker     // looks into the socket
	used   time.Time  // start of the last operation
	wrote  time.Time  // instant before the request was written
	out    []byte
	in     []byte
	lo, hi int // in[lo:hi] is read and not parsed
	ctx    context.Context
	undo   func() bool // removes the hook on ctx

	observed *Observed
	path     syscall.Conn // socket of net; nil: unknown

	sent, received atomic.Int64          // bytes of the operation in flight, for a cut
	turns          atomic.Pointer[Turns] // of the connection that is being made, for a cut
}

// Do implements takt.Worker.
func (c *conn) Do(ctx context.Context, op *takt.Op, r *takt.Result) {
	start := c.world.Now()
	c.watch(ctx)
	if err := c.ready(ctx, start, op.Seq, r); err != nil {
		Fail(r, err, true)
		return
	}
	if err := c.exchange(op, start, r); err != nil {
		c.drop()
		Fail(r, err, false)
	}
	c.used = start
}

// soFar is takt's part of the connection that is being made, for another goroutine. It may ask the kernel.
func (c *conn) soFar() (r takt.Result) {
	if turns := c.turns.Load(); turns != nil {
		r.Phases[phaseDial] = turns.Of(time.Time{}).Own
	}
	return r
}

func (c *conn) count(r *takt.Result) {
	c.sent.Store(r.BytesSent)
	c.received.Store(r.BytesReceived)
}

// watch wakes a blocked read or write when ctx ends. It sets its hook once a run, not once an
// operation.
func (c *conn) watch(ctx context.Context) {
	if c.ctx == ctx {
		return
	}
	c.ctx, c.observed = ctx, ObservedOf(ctx)
	c.undo = c.world.OnEnd(ctx, c.interrupt)
}

func (c *conn) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.net != nil {
		_ = c.net.SetDeadline(time.Unix(1, 0)) // fails on a closed connection only
	}
}

// ready ensures a connection without unread bytes and sets its deadline.
func (c *conn) ready(ctx context.Context, start time.Time, seq uint64, r *takt.Result) error {
	if c.net == nil {
		if first := c.all.takeFirst(); first != nil {
			c.attach(first)
		}
	}
	if c.net != nil && !c.reusable(start, seq) {
		c.drop()
	}
	if c.net == nil {
		within, cancel := c.world.Within(ctx, start.Add(connectTimeout(c.loop)))
		n, err := c.dial(within, r)
		cancel()
		if err != nil {
			return err
		}
		c.attach(n)
		if err := c.net.SetDeadline(start.Add(c.loop.Timeout)); err != nil {
			return err
		}
		if in, err := c.look(); err != nil {
			c.drop()
			r.Body = append(r.Body, in...)
			return err
		}
	}
	return ctx.Err() // the new deadline may have cleared the interrupt's
}

// reusable reports whether the connection can be used again, and sets its deadline.
func (c *conn) reusable(start time.Time, seq uint64) bool {
	if c.net.SetDeadline(start.Add(c.loop.Timeout)) != nil {
		return false
	}
	if !c.all.caution.wants(start.Sub(c.used), seq) {
		return true
	}
	in, err := c.look()
	if c.all.caution.looked(err == nil); len(in) > 0 {
		c.observed.Add(in)
	}
	return err == nil
}

// look is looker.look. TLS may have received more than the last answer, such as a record behind
// it, so the look asks TLS. It also reads what is TLS's own, such as session tickets.
func (c *conn) look() ([]byte, error) {
	if c.below == nil {
		return c.looker.look()
	}
	c.below.hurried = true
	n, err := c.net.Read(c.in)
	c.below.hurried = false
	switch {
	case n > 0:
		return firstBytes(c.in[:n]), ErrUnsolicited
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, nil
	case err == io.EOF:
		return nil, errEnded
	}
	return nil, err
}

// below is the connection below TLS.
type below struct {
	net.Conn
	looker  looker
	hurried bool // a read fails instead of waiting
}

// Read implements net.Conn.
func (b *below) Read(p []byte) (int, error) {
	if b.hurried {
		if _, err := b.looker.look(); err == nil {
			return 0, os.ErrDeadlineExceeded
		}
	}
	return b.Conn.Read(p)
}

// NetConn is the socket's connection, for sock.Arrived.
func (b *below) NetConn() net.Conn { return b.Conn }

func (c *conn) attach(n net.Conn) {
	now := c.world.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.net, c.used = sock.Stamped(n), now
	c.below = nil
	if t, ok := n.(*tls.Conn); ok {
		c.below = t.NetConn().(*below) // dial made it so
		n = c.below.Conn
	}
	c.looker.attach(n)
	c.path, _ = n.(syscall.Conn)
	if c.index < pathsMeasured {
		c.observed.Path(sock.PathRTT(n))
	}
	c.lo, c.hi = 0, 0
	c.codec.Reset()
}

func (c *conn) drop() {
	c.mu.Lock()
	n, path := c.net, c.path
	c.net = nil
	c.mu.Unlock()
	if n != nil { // without the lock: closing TLS may have to wait
		c.observed.resent.closes(path)
		_ = n.Close() // why it closes is reported elsewhere
	}
}

// Hangup implements Connection.
func (c *conn) Hangup() { c.drop() }

// exchange writes the request and reads until the codec has its answer.
func (c *conn) exchange(op *takt.Op, start time.Time, r *takt.Result) error {
	request := rendered(c.codec, op)
	if request == nil {
		c.out = c.codec.Append(c.out[:0], op)
		request = c.out
	}
	c.wrote = c.world.Now()
	r.Phases[phaseClient] = max(1, c.wrote.Sub(start)-r.Phases[phaseDNS]-r.Phases[phaseConnect]-r.Phases[phaseTLS])
	n, failure := c.net.Write(request)
	r.BytesSent += int64(n)
	c.count(r)
	err := c.receive(start, r)
	if r.Phases[phaseFirstByte] == 0 {
		c.all.caution.alarm()
	}
	switch {
	case failure == nil, err == ErrUnsolicited:
		return err
	case err != nil || r.Phases[phaseFirstByte] == 0:
		return failure
	}
	c.drop() // the target answered and closed before it read the whole request
	return nil
}

// receive reads until the codec has its answer.
func (c *conn) receive(start time.Time, r *takt.Result) error {
	for {
		n, err := c.read()
		if n > 0 && r.Phases[phaseFirstByte] == 0 {
			at, off := c.arrived()
			if at.Before(c.wrote.Add(-off)) {
				r.BytesReceived += int64(n)
				r.Body = append(r.Body, firstBytes(c.in[c.lo:c.hi])...)
				return ErrUnsolicited
			}
			r.Phases[phaseFirstByte] = max(1, at.Sub(start))
		}
		if err != nil && err != io.EOF {
			return err
		}
		at := sock.Arrived(c.net)
		if done, err := c.parse(err == io.EOF, r); done || err != nil {
			r.Arrived = at
			return err
		}
	}
}

// arrived is the instant at which the last bytes came, and its largest error.
func (c *conn) arrived() (at time.Time, off time.Duration) {
	if at, off := sock.ArrivedOff(c.net); !at.IsZero() {
		return at, off
	}
	return c.world.Now(), 0
}

// connectTimeout is the time limit for a connection. Timeout counts from sent, so it limits
// the connection, too.
func connectTimeout(l *takt.Loop) time.Duration { return min(l.ConnectTimeout, l.Timeout) }

// rendered is op's request if the codec has it ready, else nil.
func rendered(c takt.Codec, op *takt.Op) []byte {
	if r, ok := c.(takt.Rendered); ok {
		return r.Request(op)
	}
	return nil
}

// read appends to the unparsed bytes, in a larger buffer if necessary.
func (c *conn) read() (int, error) {
	if c.lo == c.hi {
		c.lo, c.hi = 0, 0
	}
	if c.hi == len(c.in) {
		if c.lo == 0 && len(c.in) >= maxBuffer {
			return 0, errTooLarge
		}
		if c.lo == 0 {
			c.in = append(c.in, make([]byte, len(c.in))...)
		}
		c.hi = copy(c.in, c.in[c.lo:c.hi])
		c.lo = 0
	}
	n, err := c.net.Read(c.in[c.hi:])
	c.hi += n
	return n, err
}

// parse reports whether the answer is complete. Bytes after a complete answer belong to no
// request, so the connection is not reused.
func (c *conn) parse(eof bool, r *takt.Result) (done bool, err error) {
	n, progress := c.codec.Parse(c.in[c.lo:c.hi], eof, r)
	r.BytesReceived += int64(n)
	c.count(r)
	c.lo += n
	switch {
	case progress == takt.Last, progress == takt.Done && (c.lo < c.hi || eof):
		if progress == takt.Done && c.lo < c.hi {
			c.all.caution.alarm()
			c.observed.Add(c.in[c.lo:c.hi])
		}
		c.drop()
		return true, nil
	case progress == takt.Done:
		return true, nil
	case eof:
		return false, io.ErrUnexpectedEOF // the codec wants more bytes, but there are none
	}
	return false, nil
}

// Close implements takt.Worker.
func (c *conn) Close() error {
	if c.undo != nil {
		c.undo()
	}
	c.drop()
	if first := c.all.takeFirst(); first != nil {
		_ = first.Close() // the run is over
	}
	return nil
}

// dial connects to the address whose turn it is.
func (c *conn) dial(ctx context.Context, r *takt.Result) (net.Conn, error) {
	addr, err := c.all.addresses.resolve(ctx, r)
	if err != nil {
		return nil, err
	}
	turns := NewTurns(c.world.Now)
	c.turns.Store(turns)
	n, err := turns.dial(ctx, c.world, literal(c.loop, addr), r)
	c.turns.Store(nil)
	if err != nil {
		c.observed.resent.unseen.Store(true)
	}
	return n, err
}

// dial connects as l says, with its handshake, and notes how long each step took.
func (t *Turns) dial(ctx context.Context, w World, l *takt.Loop, r *takt.Result) (net.Conn, error) {
	ctx, cancel := w.Within(ctx, t.begun.Add(l.ConnectTimeout))
	defer cancel()
	c, err := connect(ctx, w, l, t, r)
	if err == nil && l.TLS != nil {
		c, err = handshake(ctx, w, t, l.TLS, r)
	}
	r.Phases[phaseDial] = max(0, w.Since(t.begun)-t.GivenUp())
	return c, err
}

// connect is dial without TLS and without a time limit of its own.
func connect(ctx context.Context, w World, l *takt.Loop, turns *Turns, r *takt.Result) (net.Conn, error) {
	began := w.Now()
	turns.Waits()
	c, err := w.Connect(ctx, l.Network, l.Addr)
	if err == nil {
		turns.Connected(c)
		err = tunnel(ctx, w, l, c, turns)
	}
	if err != nil && l.Explain != nil {
		err = l.Explain(err)
	}
	if err != nil {
		return nil, err
	}
	r.Phases[phaseConnect] = w.Since(began)
	return c, nil
}

// tunnel lets l ask for its target on c, if that is a proxy. On failure it closes c.
func tunnel(ctx context.Context, w World, l *takt.Loop, c net.Conn, turns *Turns) error {
	if l.Tunnel == nil {
		return nil
	}
	undo := w.OnEnd(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) }) // fails on a closed connection only
	defer undo()
	err := l.Tunnel(turns)
	if err != nil {
		_ = c.Close() // err is the cause
	}
	return err
}

func handshake(ctx context.Context, w World, turns *Turns, conf *tls.Config, r *takt.Result) (net.Conn, error) {
	began := w.Now()
	turns.Stamp()
	b := &below{Conn: turns}
	b.looker.attach(turns.Conn)
	t := tls.Client(b, conf)
	if err := t.HandshakeContext(ctx); err != nil {
		_ = turns.Close() // the handshake's error is the cause
		return nil, &tlsError{err}
	}
	turns.Made()
	r.Phases[phaseTLS] = w.Since(began)
	b.Conn = turns.Conn
	return t, nil
}
