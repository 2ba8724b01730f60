package engine

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/sock"
)

// Turns is a connection that is being made. It notes how long takt waited for the other side: from
// the end of takt's part until the last bytes of the answer arrived. In the rest of the time the
// next step was takt's: it computed, or had bytes that it had not read, or its goroutine had no
// core. The zero value is not usable, see NewTurns.
type Turns struct {
	net.Conn // without stamps bytes arrive when they are read
	now      func() time.Time
	begun    time.Time

	mu     sync.Mutex // SoFar is also for another goroutine
	over   atomic.Bool
	ended  time.Time     // end of the notes
	theirs time.Duration // waits for the other side that have ended
	since  time.Time     // start of the present wait for the other side; zero: there is none
	came   time.Time     // arrival of the last bytes of this wait; zero: takt has read none
}

// NewTurns begins with takt's turn.
func NewTurns(now func() time.Time) *Turns { return &Turns{now: now, begun: now()} }

// Waits says that takt waits for the address of a name, or for a TCP connection. It ends such a wait before.
func (t *Turns) Waits() {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Conn != nil || t.over.Load() {
		return // another address was quicker
	}
	if !t.since.IsZero() {
		t.theirs += now.Sub(t.since)
	}
	t.since = now
}

// connectSome is a wait for a connection that is too short to ask the kernel about: the question
// costs a system call.
const connectSome = 200 * time.Microsecond

// Connected says that the wait for the connection is over. The kernel knows how long it was.
func (t *Turns) Connected(c net.Conn) {
	now := t.now()
	t.mu.Lock()
	took := now.Sub(t.since)
	t.mu.Unlock()
	if took > connectSome {
		if rtt := sock.PathRTT(c); rtt > 0 { // without the lock, see World
			took = min(took, rtt)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Conn, t.theirs, t.since = c, t.theirs+took, time.Time{}
}

// Stamp makes arrivals exact: those of the kernel, where it says them.
func (t *Turns) Stamp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Conn = sock.Stamped(t.Conn)
}

// Read implements net.Conn.
func (t *Turns) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	if n > 0 && !t.over.Load() {
		t.answered()
	}
	return n, err
}

func (t *Turns) answered() {
	at := sock.Arrived(t.Conn)
	if at.IsZero() {
		at = t.now()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over.Load() && !t.since.IsZero() && at.After(t.came) {
		t.came = at
	}
}

// Write implements net.Conn.
func (t *Turns) Write(b []byte) (int, error) {
	if !t.over.Load() {
		t.asks()
	}
	return t.Conn.Write(b)
}

func (t *Turns) asks() {
	now := t.now() // before the call: a thread loses its core at the end of one
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over.Load() {
		t.theirs += t.waited()
		t.since, t.came = now, time.Time{}
	}
}

// waited is the present wait, as far as bytes that takt has read ended it.
func (t *Turns) waited() time.Duration {
	if t.came.IsZero() {
		return 0
	}
	return max(0, t.came.Sub(t.since))
}

// Made ends the notes and returns how long takt waited for the other side.
func (t *Turns) Made() (theirs time.Duration) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end(t.theirs+t.waited(), now)
}

func (t *Turns) end(theirs time.Duration, now time.Time) time.Duration {
	if !t.over.Swap(true) {
		t.theirs, t.ended = theirs, now
	}
	return t.theirs
}

// Of divides the time from an instant until the connection was made, or now, for an operation that waits for
// it: how long it waited, and takt's part of that.
func (t *Turns) Of(from time.Time) record.Slot {
	theirs, until := t.SoFar(), t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over.Load() {
		theirs, until = t.theirs, t.ended
	}
	all := record.Slot{Service: until.Sub(t.begun), Own: max(0, until.Sub(t.begun)-theirs)}
	if from.Before(t.begun) {
		from = t.begun
	}
	wait := max(0, until.Sub(from))
	return record.Slot{Service: wait, Own: all.OwnOf(wait)}
}

// GivenUp is Made for a connection that was not made.
func (t *Turns) GivenUp() (theirs time.Duration) {
	theirs = t.SoFar()
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end(theirs, now)
}

// SoFar is how long takt has waited for the other side. If an answer is here and was not read,
// nobody knows since when: then it was takt's turn.
func (t *Turns) SoFar() (theirs time.Duration) {
	now := t.now()
	t.mu.Lock()
	waits, c := !t.over.Load() && !t.since.IsZero() && t.came.IsZero(), t.Conn
	t.mu.Unlock()
	if waits && c != nil {
		var l looker
		l.attach(c)
		_, err := l.look() // without the lock, see World
		waits = err != ErrUnsolicited
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over.Load():
		return t.theirs
	case waits && t.came.IsZero():
		return t.theirs + now.Sub(t.since)
	}
	return t.theirs + t.waited()
}

// Close implements net.Conn. TLS closes a connection whose handshake fails.
func (t *Turns) Close() error {
	t.GivenUp()
	return t.Conn.Close()
}

// NetConn is the connection below, for sock.Arrived.
func (t *Turns) NetConn() net.Conn { return t.Conn }
