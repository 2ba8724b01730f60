package engine

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

// sealAtOnce is how much of a request is encrypted before the socket takes it: 100 connections
// do not encrypt a body of 45 MB each.
const sealAtOnce = 64 << 10

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
// A nil World is this machine.
func Connections(w World, l *takt.Loop) (probe func(context.Context) error, connection func(i int) Connection) {
	b := newBlocking(WorldOf(w), l)
	b.stamped = sock.Quiet
	return b.probe, b.connection
}

func newBlocking(w World, l *takt.Loop) *blocking {
	return &blocking{world: w, loop: l, addresses: newAddresses(w, l), stamped: sock.Stamped}
}

type blocking struct {
	world     World
	loop      *takt.Loop
	addresses *addresses
	stamped   func(net.Conn) net.Conn // a connection whose reads have the kernel's stamps
	mu        sync.Mutex
	first     link
	buffers   sync.Pool // of *[readBuffer]byte, that no operation uses

	caution caution
}

func (b *blocking) probe(ctx context.Context) error {
	addr, err := b.addresses.find(ctx)
	if err != nil {
		return err
	}
	var r takt.Result
	c, err := NewTurns(b.world.Now).dial(ctx, b.world, firstTo(b.loop, addr), &r)
	if err != nil {
		return err
	}
	c.addr = addr
	b.mu.Lock()
	defer b.mu.Unlock()
	b.first = c
	return nil
}

func (b *blocking) worker(i int) (takt.Worker, error) { return b.connection(i), nil }

func (b *blocking) connection(i int) Connection {
	c := &conn{all: b, index: i, world: b.world, loop: b.loop}
	if b.loop.Mux != nil {
		c.mux = b.loop.Mux(i)
		c.parted, _ = c.mux.(Parted)
	} else {
		c.codec = b.loop.Codec(i)
		c.parted, _ = c.codec.(Parted)
	}
	return c
}

// takeFirst returns the probe's connection once, then nil. A target that serves one
// connection at a time would keep any other connection waiting for the probe's.
func (b *blocking) takeFirst() (first link) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first, b.first = b.first, link{}
	return first
}

// link is a connection that was made: to the target, or to nothing if net is nil.
type link struct {
	net  net.Conn
	addr string    // of net, as addresses has it
	tls  *sock.TLS // TLS, which the handshake has left to the bytes that net carries; nil: none
}

// conn is one connection and its codec. It allocates only when it dials.
type conn struct {
	all    *blocking
	index  int
	world  World
	loop   *takt.Loop
	codec  takt.Codec // nil: there is a mux
	mu     sync.Mutex // guards net, which an interrupt reads
	net    net.Conn   // nil: to be dialled
	tls    *sock.TLS  // TLS over net; nil: none
	raw    []byte     // bytes of net before TLS opens them; nil: no operation is under way, as for in
	addr   string     // of net; "": not connected
	on     string     // address of the operation under way
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

	parted  Parted    // codec or mux, if it measures parts; nil: it does not
	timed   bool      // parted has been told that the operation under way began
	emptied time.Time // nothing was left in the socket, for parted
	more    bool      // the last read did not empty the socket, for parted

	// Of the operation in flight, for a cut.
	sent, received atomic.Int64          // bytes
	turns          atomic.Pointer[Turns] // of the connection that was made for it; nil: none
	client         atomic.Int64          // its phaseClient

	muxed
}

// Do implements takt.Worker.
func (c *conn) Do(ctx context.Context, op *takt.Op, r *takt.Result) {
	start := c.world.Now()
	c.watch(ctx)
	c.borrow()
	c.on, c.timed = "", false
	if tap := c.observed.tap; tap != nil {
		tap.Begins(c, op)
		defer func() { tap.Ends(c, r, c.world.Since(start)) }()
	}
	if err := c.ready(ctx, start, op.Seq, r); err != nil {
		Fail(r, err, true)
	} else if err := c.exchange(op, start, r); err != nil {
		c.stops()
		c.drop()
		if c.loop.Overdue != nil && Classify(err) == ClassTimeout {
			err = c.loop.Overdue
		}
		Fail(r, err, false)
	}
	c.leave()
	c.giveBack()
	c.used = start
}

// borrow gets the buffers of an operation: 2000 users who think need none meanwhile.
func (c *conn) borrow() {
	if c.in == nil {
		c.in = c.all.buffer()
	}
	if c.tls != nil && c.raw == nil {
		c.raw = c.all.buffer()
	}
}

// giveBack is for buffers without unparsed bytes. One that has grown stays with its connection, whose answers need it.
func (c *conn) giveBack() {
	if c.lo == c.hi && cap(c.in) == readBuffer {
		c.all.buffers.Put((*[readBuffer]byte)(c.in[:readBuffer]))
		c.in, c.lo, c.hi = nil, 0, 0
	}
	if c.raw != nil {
		c.all.buffers.Put((*[readBuffer]byte)(c.raw))
		c.raw = nil
	}
}

// buffer is one of readBuffer bytes.
func (b *blocking) buffer() []byte {
	if p, ok := b.buffers.Get().(*[readBuffer]byte); ok {
		return p[:]
	}
	return make([]byte, readBuffer)
}

// leave says that the operation under way uses its address no more.
func (c *conn) leave() {
	if c.on != "" {
		c.all.addresses.leave(c.on)
	}
	c.on = ""
}

// SoFar implements asked.
func (c *conn) SoFar() (r takt.Result) {
	if turns := c.turns.Load(); turns != nil {
		r.Phases[phaseDial] = turns.Of(time.Time{}).Own
	}
	r.Phases[phaseClient] = time.Duration(c.client.Load())
	return r
}

// begin begins the notes about an operation.
func (c *conn) begin(r *takt.Result) {
	c.turns.Store(nil)
	c.client.Store(0)
	c.count(r)
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
		if first := c.all.takeFirst(); first.net != nil {
			c.attach(first)
		}
	}
	if c.net != nil && !c.reusable(start, seq) {
		c.drop()
	}
	if c.net != nil {
		c.on = c.addr
		c.all.addresses.enter(c.on)
	} else {
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

// look is looker.look. Over TLS it opens what is in the socket, which may be TLS's own, such as
// session tickets.
func (c *conn) look() ([]byte, error) {
	if c.mux != nil {
		return nil, c.drain()
	}
	if c.tls == nil {
		return c.looker.look()
	}
	for in, eof := 0, false; ; {
		plain, end := c.open(c.in[:0], c.raw[:in], eof)
		switch {
		case len(plain) > 0:
			return firstBytes(plain), ErrUnsolicited
		case end == io.EOF, end == errCut:
			return nil, errEnded
		case end != nil:
			return nil, end
		}
		if _, err := c.looker.look(); err == nil {
			return nil, nil // nothing is there
		}
		var err error
		if in, err = c.net.Read(c.raw); err != nil && err != io.EOF {
			return nil, err
		}
		eof = err == io.EOF
	}
}

func (c *conn) attach(l link) {
	now := c.world.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.net, c.tls, c.addr, c.used = c.all.stamped(l.net), l.tls, l.addr, now
	c.borrow()
	c.looker.attach(l.net)
	c.path, _ = l.net.(syscall.Conn)
	if c.index < pathsMeasured {
		c.observed.Path(sock.PathRTT(l.net))
	}
	c.lo, c.hi = 0, 0
	c.opens()
	if c.mux != nil {
		c.mux.Open()
	} else {
		c.codec.Reset()
	}
}

func (c *conn) drop() {
	c.mu.Lock()
	l, path := link{net: c.net, tls: c.tls}, c.path
	c.net, c.tls, c.addr = nil, nil, ""
	c.mu.Unlock()
	if l.net != nil { // without the lock: a farewell may have to wait
		c.observed.resent.closes(path)
		c.farewell(l)
		l.close(c.world)
	}
}

// farewellMost is how long a connection waits for room in its socket to say that nothing follows.
const farewellMost = time.Second

// close says over TLS that nothing follows, unless a part of a request is still to be sent.
func (l link) close(w World) {
	if l.tls != nil && len(l.tls.Out()) == 0 && l.tls.Close() == nil &&
		l.net.SetWriteDeadline(w.Now().Add(farewellMost)) == nil {
		_, _ = l.net.Write(l.tls.Out()) // the connection is closed next
	}
	_ = l.net.Close() // why it closes is reported elsewhere
}

// Hangup implements Connection.
func (c *conn) Hangup() { c.drop() }

// exchange writes the request and reads until the codec has its answer.
func (c *conn) exchange(op *takt.Op, start time.Time, r *takt.Result) error {
	if c.mux != nil {
		return c.share(op, start, r)
	}
	request := rendered(c.codec, op)
	if request == nil {
		c.out = c.codec.Append(c.out[:0], op)
		request = c.out
	}
	c.wrote = c.world.Now()
	c.noteClient(start, r)
	c.starts(op, start, r)
	failure := c.write(request, r)
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
	c.observed.Early()
	return nil
}

// noteClient notes takt's own time from the start until now, when the request is written.
func (c *conn) noteClient(start time.Time, r *takt.Result) {
	r.Phases[phaseClient] = max(1, c.wrote.Sub(start)-r.Phases[phaseDNS]-r.Phases[phaseConnect]-r.Phases[phaseTLS])
	c.client.Store(int64(r.Phases[phaseClient]))
}

// write sends the request. Over TLS its bytes count without what TLS adds.
func (c *conn) write(request []byte, r *takt.Result) (err error) {
	defer c.count(r)
	defer c.noteSent(request)
	if c.tls == nil {
		n, err := c.net.Write(request)
		r.BytesSent += int64(n)
		return err
	}
	for len(request) > 0 && err == nil {
		part := request[:min(len(request), sealAtOnce)]
		request = request[len(part):]
		if err = c.tls.Seal(part); err == nil {
			err = c.flush()
			r.BytesSent += int64(len(part))
		}
	}
	return err
}

// flush writes what TLS has for the socket.
func (c *conn) flush() error {
	n, err := c.net.Write(c.tls.Out())
	c.tls.Sent(n)
	return err
}

// receive reads until the codec has its answer.
func (c *conn) receive(start time.Time, r *takt.Result) error {
	for {
		n, end := c.read()
		c.noteCame(n)
		if n > 0 && r.Phases[phaseFirstByte] == 0 {
			at, off := c.arrived()
			if at.Before(c.wrote.Add(-off)) {
				r.BytesReceived += int64(n)
				r.Body = append(r.Body, firstBytes(c.in[c.lo:c.hi])...)
				return ErrUnsolicited
			}
			r.Phases[phaseFirstByte] = max(1, at.Sub(start))
		}
		c.came()
		at := sock.Arrived(c.net)
		switch done, err := c.parse(end, r); {
		case done, err != nil && (end == nil || end == io.EOF):
			r.Arrived = at
			return err
		case err != nil:
			return err // no bytes tell when the read failed
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

// read appends to the unparsed bytes, in a larger buffer if necessary. Over TLS it may add none. Bytes may
// come with the error after which none follow.
func (c *conn) read() (int, error) {
	if c.lo == c.hi {
		c.lo, c.hi = 0, 0
	}
	if c.hi-c.lo >= maxBuffer {
		return 0, errTooLarge
	}
	if c.hi == len(c.in) || c.tls != nil && c.lo > 0 {
		if c.lo == 0 {
			c.in = append(c.in, make([]byte, len(c.in))...)
		}
		c.hi = copy(c.in, c.in[c.lo:c.hi])
		c.lo = 0
	}
	if c.tls == nil {
		n, err := c.net.Read(c.in[c.hi:])
		c.more = n == len(c.in)-c.hi
		c.hi += n
		return n, err
	}
	n, err := c.net.Read(c.raw)
	c.more = n == len(c.raw)
	if err != nil && err != io.EOF {
		return 0, err
	}
	had := c.hi
	plain, end := c.open(c.in[:had], c.raw[:n], err == io.EOF)
	c.in, c.hi = plain[:cap(plain)], len(plain)
	return c.hi - had, end
}

// open decrypts all of in and adds it to dst, which may become another one; end as ending has it. So what
// came behind an answer is known before the next request.
func (c *conn) open(dst, in []byte, eof bool) (plain []byte, end error) {
	plain, err := c.tls.Open(dst, in, eof)
	if len(c.tls.Out()) > 0 { // such as the answer to a new key
		_ = c.flush() // the next write or read shows the failure
	}
	return plain, ending(err)
}

// parse reports whether the answer is complete. Bytes after a complete answer belong to no
// request, so the connection is not reused, and neither is one that ended or broke behind it.
func (c *conn) parse(end error, r *takt.Result) (done bool, err error) {
	n, progress, err := parse(c.codec, c.in[c.lo:c.hi], end, r)
	r.BytesReceived += int64(n)
	c.count(r)
	c.lo += n
	switch {
	case err != nil:
		return false, err
	case progress == takt.Last, progress == takt.Done && (c.lo < c.hi || end != nil):
		if progress == takt.Done && c.lo < c.hi {
			c.all.caution.alarm()
			c.observed.Add(c.in[c.lo:c.hi])
		}
		c.drop()
		return true, nil
	case progress == takt.Done:
		return true, nil
	}
	return false, nil
}

// Close implements takt.Worker.
func (c *conn) Close() error {
	if c.undo != nil {
		c.undo()
	}
	c.drop()
	if first := c.all.takeFirst(); first.net != nil {
		first.close(c.world) // the run is over
	}
	return nil
}

// dial connects to the address that is to get a connection.
func (c *conn) dial(ctx context.Context, r *takt.Result) (link, error) {
	addr, err := c.all.addresses.resolve(ctx, r)
	if err != nil {
		return link{}, err
	}
	c.on = addr
	turns := NewTurns(c.world.Now)
	c.turns.Store(turns)
	made, err := turns.dial(ctx, c.world, literal(c.loop, addr), r)
	made.addr = addr
	if err != nil {
		c.observed.resent.unseen.Store(true)
	}
	return made, err
}

// dial connects as l says, with its handshake, and notes how long each step took.
func (t *Turns) dial(ctx context.Context, w World, l *takt.Loop, r *takt.Result) (link, error) {
	made, err := t.make(ctx, w, l, r)
	r.Phases[phaseDial] = max(0, w.Since(t.begun)-t.GivenUp())
	return made, err
}

// make is dial without takt's part of it.
func (t *Turns) make(ctx context.Context, w World, l *takt.Loop, r *takt.Result) (made link, err error) {
	ctx, cancel := w.Within(ctx, w.Now().Add(connectTimeout(l)))
	defer cancel()
	made.net, err = connect(ctx, w, l, t, r)
	if err == nil && l.TLS != nil {
		made.tls, err = handshake(ctx, w, t, l, r)
	}
	return made, err
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

// handshake makes the handshake over turns, and closes the connection if it fails.
func handshake(ctx context.Context, w World, turns *Turns, l *takt.Loop, r *takt.Result) (*sock.TLS, error) {
	began := w.Now()
	turns.Stamp()
	s := sock.NewTLS(turns, l.TLS)
	if err := s.Handshake(ctx); err != nil {
		err = &tlsError{err}
		if l.Explain != nil {
			err = l.Explain(err)
		}
		return nil, err
	}
	turns.Made()
	s.Detach()
	r.Phases[phaseTLS] = w.Since(began)
	return s, nil
}
