package target

import "time"

// echo is the state of a flow that answers each message of its client with one, one after the other, as a
// bidirectional stream of gRPC does. Such a flow begins before its request has ended, and rests while it has nothing to
// answer.
type echo struct {
	on     bool
	came   int  // messages
	closed bool // the client sends no other
}

// turn makes the move of a flow of echoes that is due at that instant, and says when its next one is due.
func (l *line) turn(f *flow, at time.Duration) (m move, next time.Duration) {
	switch {
	case !f.begun:
		f.begun = true
		return moveBegin, l.rest(f, at)
	case f.until >= 0:
		l.leave(f)
		return moveFail, 0
	case f.sent == f.came:
		l.leave(f)
		return moveClose, 0
	}
	if f.sent++; f.sent == 1 {
		l.decoding++
	}
	if f.sent == f.came && f.closed {
		l.leave(f)
		return moveEnd, 0
	}
	return moveToken, l.rest(f, at)
}

// rest is when the next echo is due of a flow that could begin it at that instant; forever: when its client sends a
// message, or its last.
func (l *line) rest(f *flow, at time.Duration) (next time.Duration) {
	switch {
	case f.sent < f.came:
		service := f.service
		if f.sent > 0 {
			service = l.services.next(at)
		}
		return l.freezes.end(l.freezes.start(at), service)
	case f.closed:
		return l.freezes.start(at)
	}
	l.resting[f] = true
	return forever
}

// wake is when the next move of a flow is due that rested until that instant. false: it did not rest.
func (l *line) wake(f *flow, at time.Duration) (next time.Duration, ok bool) {
	if !l.resting[f] {
		return 0, false
	}
	delete(l.resting, f)
	if f.gone.Load() {
		return at, true
	}
	return l.rest(f, at), true
}

// hear notes that messages of f came, or that its client sends no other.
func (d *desk) hear(f *flow, messages int, closed bool) {
	d.stir(f, func() {
		f.came += messages
		f.closed = f.closed || closed
	})
}

// quit notes that the client of f has left.
func (d *desk) quit(f *flow) {
	f.gone.Store(true)
	d.stir(f, func() {})
}

// stir changes f, and wakes it if it rests.
func (d *desk) stir(f *flow, change func()) {
	d.mu.Lock()
	wake := false
	if change(); !d.closed {
		wake = d.wake(f)
	}
	d.mu.Unlock()
	if wake {
		d.alarm.ring()
	}
}

// wake orders the next move of f if it rests, and reports whether the dispatcher sleeps longer than that. The record of
// a flow of echoes is that of the first echo.
func (d *desk) wake(f *flow) bool {
	at := d.now()
	next, ok := d.line.wake(f, at)
	if !ok || next == forever {
		return false
	}
	if f.sent == 0 && f.came > 0 {
		d.books.begun(f.record, d.line.freezes.start(at))
	}
	return d.push(f.ticket(next))
}

// abandon notes that the client of a connection has left, so that none of its flows rests for ever.
func (d *desk) abandon(by asker) {
	d.mu.Lock()
	var mine []*flow
	for f := range d.line.resting {
		if f.by == by {
			mine = append(mine, f)
		}
	}
	d.mu.Unlock()
	for _, f := range mine {
		d.quit(f)
	}
}
