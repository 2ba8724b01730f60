package engine

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/sock"
)

// Turns is a connection that is being made. It notes how long takt waited for the other side: from
// the end of takt's part until the last bytes of the answer arrived. In the rest of the time the
// next step was takt's: it computed, or had bytes that it had not read, or its goroutine had no
// core. The zero value is not usable, see NewTurns.
type Turns struct {
	net.Conn // without stamps bytes arrive when they are read
	now      func() time.Time

	mu     sync.Mutex // SoFar is also for another goroutine
	over   atomic.Bool
	theirs time.Duration // waits for the other side that have ended
	since  time.Time     // start of the present wait for the other side; zero: there is none
	came   time.Time     // arrival of the last bytes of this wait; zero: takt has read none
}

// NewTurns begins with the wait for a TCP connection.
func NewTurns(now func() time.Time) *Turns { return &Turns{now: now, since: now()} }

// connectSome is a wait for a connection that is too short to ask the kernel about: the question
// costs a system call.
const connectSome = 200 * time.Microsecond

// Connected says that the wait for the connection is over. The kernel knows how long it was.
func (t *Turns) Connected(c net.Conn) {
	took := t.now().Sub(t.since)
	if took > connectSome {
		if rtt := sock.PathRTT(c); rtt > 0 {
			took = min(took, rtt)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Conn, t.theirs, t.since = c, took, time.Time{}
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
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end(t.theirs + t.waited())
}

func (t *Turns) end(theirs time.Duration) time.Duration {
	if !t.over.Swap(true) {
		t.theirs = theirs
	}
	return t.theirs
}

// GivenUp is Made for a connection that was not made.
func (t *Turns) GivenUp() (theirs time.Duration) {
	theirs = t.SoFar()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end(theirs)
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
