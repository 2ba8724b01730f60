package engine

import (
	"math"
	"time"
)

// forever is an instant that does not come.
const forever = time.Duration(math.MaxInt64)

// spinFull is how long a loop without a free connection spins for answers before it waits in
// the poller.
const spinFull = 20 * time.Microsecond

// rest waits until there is something to do.
func (l *loop) rest(now time.Duration) {
	if l.claimed && l.m.dropLate(&l.claim, now) {
		l.claimed = false
	}
	if l.made.ready.Load() || l.m.cutAt.Load() >= 0 {
		return // a look into the poller in this turn may have used up the wake-up for it
	}
	next := forever
	if l.claimed && !l.full {
		next = l.claim.Due
	}
	until := min(next, l.expiry(), l.dropAt)
	if l.starved {
		until = min(until, now+starvedPause)
	}
	for _, p := range l.pausing {
		until = min(until, p.pauses)
	}
	switch {
	case l.parts && l.flight.n > 0 && until-now > partsBeat+spinWindow:
		l.serve(partsBeat)
	case l.full || l.dialing.n > 0 || l.partial > 0:
		l.restFull(now, until)
	case l.pace.precise():
		l.restPrecise(now, until)
	case until-now >= longWait, l.most > 0 && l.flight.n > 1: // answers that are read together have one stamp
		l.serve(until - now)
	default:
		// Answers that come meanwhile are read when the loop wakes.
		l.sys.Sleep(max(until, l.pace.woke+l.pace.grid) - now)
	}
	after := l.now()
	l.rested += after - now
}

// restFull waits for an answer, a connection, or room in a socket.
func (l *loop) restFull(now, until time.Duration) {
	spins := l.dialing.n == 0 && (l.most == 0 || l.blind()) // reads of many connections of HTTP/2 would cost more than the wait
	for spins && l.flight.n > 0 && l.now()-now < spinFull {
		if l.readOldest(forever) > 0 {
			return
		}
	}
	l.serve(until - l.now())
}

// restPrecise waits for answers in the poller, and spins just before until.
func (l *loop) restPrecise(now, until time.Duration) {
	if until-now > spinWindow {
		l.serve(until - now - spinWindow)
		return
	}
	for l.now() < until && l.readOldest(forever) == 0 {
	}
}

// expiry is the instant at which the next operation in flight times out.
func (l *loop) expiry() time.Duration {
	at := forever
	if p := l.dialing.head; p != nil {
		at = p.sent + connectTimeout(l.m.net)
	}
	if p := l.flight.head; p != nil {
		at = min(at, p.sent+l.m.net.Timeout)
	}
	return at
}
