package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// ErrUnsolicited is the error of ClassUnsolicited.
var ErrUnsolicited = errors.New("the target sent bytes before the request: they are not the answer to it")

// sampleBytes is how many unsolicited bytes are kept.
const sampleBytes = 256

func firstBytes(b []byte) []byte { return b[:min(len(b), sampleBytes)] }

// Observed is what the connections of a run saw besides answers: the network's round trip,
// idle connections that were closed because of unsolicited bytes, without a failed operation,
// and answers that came before their request was sent.
type Observed struct {
	mu     sync.Mutex
	n      uint64
	sample string
	rtt    atomic.Int64 // shortest round trip in ns; 0: unknown
	resent resent
	early  atomic.Uint64
	again  atomic.Uint64 // operations begun again, of connections with a mux that are not of a loop

	parting atomic.Pointer[parting] // nil: no parts are measured
	tap     Tap                     // nil: nobody sees the bytes; set before the run
}

// Early counts an answer that came before its request was sent, whose rest was not sent.
func (o *Observed) Early() { o.early.Add(1) }

// EarlyAnswers is the number of calls of Early.
func (o *Observed) EarlyAnswers() uint64 { return o.early.Load() }

// Repeated is how often an operation that the target had not taken was begun again outside the loop.
func (o *Observed) Repeated() uint64 { return o.again.Load() }

// resent counts the segments that TCP sent again on the run's own connections.
type resent struct {
	segments atomic.Uint64
	closed   atomic.Uint64 // number of connections
	unseen   atomic.Bool   // a connection was made or attempted whose segments nobody counted
}

// Of many connections the kernel is asked about some: asking costs as much as sending.
const (
	resentAll  = 1024 // connections that are all asked
	resentEach = 8    // of those behind them, each 8th is asked: fewer than the 10 segments of a warning
)

// weight is called before a connection is closed. If it is above 0 the segments of the connection are to
// be counted so many times.
func (r *resent) weight() uint64 {
	switch n := r.closed.Add(1); {
	case n <= resentAll:
		return 1
	case n%resentEach == 0:
		return resentEach
	}
	return 0
}

// closes counts a connection that is about to be closed.
func (r *resent) closes(c syscall.Conn) {
	n := r.weight()
	if c == nil {
		r.unseen.Store(true)
		return
	}
	if n == 0 {
		return
	}
	segments, known := sock.PathResent(c)
	r.segments.Add(n * segments)
	if !known {
		r.unseen.Store(true)
	}
}

// known is the number of segments; nil: unknown.
func (r *resent) known() *uint64 {
	if r.closed.Load() == 0 || r.unseen.Load() {
		return nil
	}
	n := r.segments.Load()
	return &n
}

// Uncounted says that the driver has connections of its own, whose segments nobody counts.
func (o *Observed) Uncounted() { o.resent.unseen.Store(true) }

// pathsMeasured is the number of connections, per loop and for all workers together, whose
// round trip is read from the kernel.
const pathsMeasured = 16

// Path reports a round trip that the kernel measured while connecting; 0: unknown.
func (o *Observed) Path(rtt time.Duration) {
	for {
		least := o.rtt.Load()
		if rtt <= 0 || least > 0 && least <= int64(rtt) || o.rtt.CompareAndSwap(least, int64(rtt)) {
			return
		}
	}
}

// Add counts a connection that was closed. sample is the first unsolicited bytes.
func (o *Observed) Add(sample []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n++; o.n == 1 {
		o.sample = string(firstBytes(sample))
	}
}

func (o *Observed) warn(rep *takt.Report, scrub func(string) string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n == 0 {
		return
	}
	if scrub != nil {
		o.sample = scrub(o.sample)
	}
	rep.Warn(warn.Unsolicited, "the target sent bytes on %d idle connections, which no request had asked for; takt closed these connections, and no operation failed for it. The first bytes were %q", takt.Number("connections", o.n), o.sample)
}

type observedKey struct{}

func (o *Observed) context() context.Context {
	return context.WithValue(context.Background(), observedKey{}, o)
}

// ObservedOf is the Observed of the run that passed ctx to Worker.Do or Driver.Finish.
func ObservedOf(ctx context.Context) *Observed {
	if o, ok := ctx.Value(observedKey{}).(*Observed); ok {
		return o
	}
	return new(Observed)
}

// Observer is a sink of an asynchronous client whose run observes the connections of the client.
type Observer interface{ Observed() *Observed }

// ContextOf is a context for Worker.Do of an asynchronous client's connections, by which the run of the sink observes them.
func ContextOf(sink takt.Sink) context.Context {
	if o, ok := sink.(Observer); ok {
		return o.Observed().context()
	}
	return context.Background()
}

var ( // tests set them
	// idleCheck is the idle time from which a connection is always looked at before reuse.
	idleCheck = time.Millisecond
	// trustAfter is the number of looks without a finding after which a target is trusted.
	trustAfter uint32 = 4096
)

// trustBut is the number of operations between two looks at a trusted target.
const trustBut = 64

// caution decides which connections to look at before reuse. A look is a system call of 0.4
// µs: 4 % of a busy loop's cost of a request. After 4096 looks without a finding, only every
// 64th operation looks at a connection that was used within a millisecond. After the first
// finding, every operation looks for the rest of the run.
type caution struct {
	looks   atomic.Uint32
	alarmed atomic.Bool
}

// wants reports whether to look at a connection, idle for this long, before operation seq.
func (c *caution) wants(idle time.Duration, seq uint64) bool {
	return idle > idleCheck || seq%trustBut == 0 || c.looks.Load() < trustAfter || c.alarmed.Load()
}

// looked notes the result of a look.
func (c *caution) looked(well bool) {
	switch {
	case !well:
		c.alarm()
	case c.looks.Load() < trustAfter:
		c.looks.Add(1)
	}
}

// alarm notes a connection that ended, or sent bytes, unasked.
func (c *caution) alarm() {
	if !c.alarmed.Load() {
		c.alarmed.Store(true)
	}
}

// Tap sees what the connections of workers carry, without TLS. on is the connection, which performs one operation after the
// other. Calls for several connections come at once.
type Tap interface {
	Opens(on any)                                    // the connection is a new one
	Begins(on any, op *takt.Op)                      // op begins, perhaps by opening the connection
	Sent(on any, b []byte)                           // b was written, or a part of b was before the connection broke
	Came(on any, b []byte, at time.Time)             // b came at that instant
	Ends(on any, r *takt.Result, took time.Duration) // the operation ended
}

// Tapped is a context for Worker.Do outside of a run, whose connections tap sees.
func Tapped(ctx context.Context, tap Tap) context.Context {
	return context.WithValue(ctx, observedKey{}, &Observed{tap: tap})
}

// Tap is that of the run; nil: it has none.
func (o *Observed) Tap() Tap { return o.tap }

func (c *conn) opens() {
	if c.observed.tap != nil {
		c.observed.tap.Opens(c)
	}
}

func (c *conn) noteSent(b []byte) {
	if c.observed.tap != nil {
		c.observed.tap.Sent(c, b)
	}
}

// noteCame passes on the last n bytes that were read.
func (c *conn) noteCame(n int) {
	if c.observed.tap != nil && n > 0 {
		at, _ := c.arrived()
		c.observed.tap.Came(c, c.in[c.hi-n:c.hi], at)
	}
}
