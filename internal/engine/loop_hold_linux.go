package engine

import "time"

const (
	// holdLate is from which lateness on a loop may hold: about what it takes to connect.
	holdLate = 100 * time.Microsecond
	// holdTime is how long it holds before it looks whether that helps.
	holdTime = time.Millisecond
	// holdStale is from when what it saw last says nothing any more.
	holdStale = 10 * holdTime
	// holdShare is how many connections it has for each that it makes in holdTime where
	// that does not help, and without how many it does not hold at all.
	holdShare = 64
	// silentShare is that where no answer comes: the target may take its time.
	silentShare = 8
)

// hold is whether a loop that is late waits for answers rather than make connections.
// One costs it and its target the time of ten operations each and more, so a loop that has
// to catch up with something at 100k/s would become later and later. It holds as long as
// it becomes less late. Where it does not, the target may need more at a time, and gets
// some.
//
// The wait is lag: the loop could have made a connection. Only what had to wait before
// without one goes on to count as the target's until the loop is punctual again.
type hold struct {
	on       bool          // the operation that is due waits
	room     int           // connections that it may make until it looks again
	answers  int           // that came since it looked last …
	late     time.Duration // … when it was so late …
	looked   time.Duration // … at this instant
	punctual time.Duration // when nothing was due the last time
}

// holds reports whether an operation that is so late at the instant now is to wait for one
// of so many connections.
func (h *hold) holds(now, late time.Duration, conns int) bool {
	if late < holdLate || conns < holdShare {
		return false
	}
	if gone := now - h.looked; gone >= holdTime {
		switch {
		case h.answers == 0:
			h.room = conns / silentShare
		case late < h.late || gone >= holdStale:
			h.room = 0
		default:
			h.room = conns / holdShare
		}
		h.answers, h.late, h.looked = 0, late, now
	}
	h.room--
	h.on = h.room < 0
	return h.on
}
