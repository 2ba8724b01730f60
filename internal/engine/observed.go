package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// ErrUnsolicited is the error of ClassUnsolicited.
var ErrUnsolicited = errors.New("the target sent bytes before the request: they are not the answer to it")

// sampleBytes is how much is kept of bytes that nobody asked for.
const sampleBytes = 256

func firstBytes(b []byte) []byte { return b[:min(len(b), sampleBytes)] }

// Observed is what the connections of a run saw beside its answers: those that were closed
// because bytes came while they were idle, for which no operation failed, and the network.
type Observed struct {
	mu     sync.Mutex
	n      uint64
	sample string
	rtt    atomic.Int64 // ns, the least; 0: not known
}

// pathsMeasured is the number of connections, of each loop and of all workers, whose round trip
// is read from the kernel.
const pathsMeasured = 16

// Path tells how long a round trip to the target takes, as the kernel measured it while it
// connected; 0: not known.
func (o *Observed) Path(rtt time.Duration) {
	for {
		least := o.rtt.Load()
		if rtt <= 0 || least > 0 && least <= int64(rtt) || o.rtt.CompareAndSwap(least, int64(rtt)) {
			return
		}
	}
}

// Add counts a connection. sample is how the bytes begin.
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
	rep.Warn("unsolicited", "the target sent bytes on %d idle connections, which no request had asked for; takt closed these connections, and no operation failed for it. The first bytes were %q", o.n, o.sample)
}

type observedKey struct{}

// ObservedOf is that of the run whose operations have ctx.
func ObservedOf(ctx context.Context) *Observed {
	if o, ok := ctx.Value(observedKey{}).(*Observed); ok {
		return o
	}
	return new(Observed)
}

var ( // tests set them
	// idleCheck is from when an idle connection is always looked at before it is used.
	idleCheck = time.Millisecond
	// trustAfter is how many looks must find a connection as it should be before a target
	// is trusted.
	trustAfter uint32 = 4096
)

// trustBut: every so many operations one looks all the same.
const trustBut = 64

// caution says which connections are looked at before they are used again. A look is a
// system call of 0.4 µs, 4 % of what a request costs a busy loop. So once 4096 looks found
// nothing, of the connections that were used within a millisecond every 64th is looked at;
// and every one, for the rest of the run, after the first that ended or spoke unasked.
type caution struct {
	looks   atomic.Uint32
	alarmed atomic.Bool
}

// wants reports whether a connection that was idle for so long is to be looked at before
// it carries the operation of that number.
func (c *caution) wants(idle time.Duration, seq uint64) bool {
	return idle > idleCheck || seq%trustBut == 0 || c.looks.Load() < trustAfter || c.alarmed.Load()
}

// looked notes what a look found.
func (c *caution) looked(well bool) {
	switch {
	case !well:
		c.alarm()
	case c.looks.Load() < trustAfter:
		c.looks.Add(1)
	}
}

// alarm notes that a connection ended, or spoke, unasked.
func (c *caution) alarm() {
	if !c.alarmed.Load() {
		c.alarmed.Store(true)
	}
}
