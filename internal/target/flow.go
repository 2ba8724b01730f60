package target

import (
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/ring"
)

// flow is a request whose answer streams. Its fields are the desk's, except those of the question, which do not
// change, and gone.
type flow struct {
	question
	by      asker
	stream  uint32 // of by, over HTTP/2
	number  uint64 // in order of arrival, which is that of the records
	record  int
	arrival time.Duration
	service time.Duration // to its first token
	outcome Outcome
	begun   bool
	sent    int         // tokens
	until   int         // tokens before it fails; negative: it does not
	stall   int         // token before the stall; 0: none
	gone    atomic.Bool // the client has left
	call    *call       // nil: no call of gRPC
	echo                // of a call
}

// move is what a flow does at an instant.
type move uint8

const (
	moveNone  move = iota
	moveBegin      // the head and the role
	moveToken
	moveEnd   // the last token and the end
	moveClose // the end, of echoes
	moveFail  // what its outcome says
	moveLeave // the client has left: nothing
)

// last reports whether nothing follows.
func (m move) last() bool { return m >= moveEnd }

// line is the model of a model server in virtual time, without sockets.
type line struct {
	sse
	servers  int // 0: unlimited
	services *services
	fates    *fates
	freezes  calendar
	busy     int // servers
	decoding int // streams between their first token and their last
	waiting  ring.Queue[*flow]
	resting  map[*flow]bool // echoes that wait for their client
}

// arrive takes a request. Its stream starts at that instant (queued), or when advance says so (waits), or it is
// refused with status 503 (full).
func (l *line) arrive(f *flow, at time.Duration) (start time.Duration, a admission) {
	f.arrival, f.until = at, -1
	f.service = min(l.services.next(at)+time.Duration(f.prompt)*l.prompt, dist.Max)
	if f.outcome = l.fates.draw(); f.outcome == Error {
		f.until = 0
	} else if f.outcome != OK { // of echoes before the first
		f.until = f.tokens / 2
	}
	if l.stall.share > 0 && l.stallRand.Float64() < l.stall.share && f.tokens > 1 {
		f.stall = 1 + l.stallRand.IntN(f.tokens-1)
	}
	if l.limit > 0 && l.busy+l.waiting.Len() >= l.limit {
		f.outcome = Rejected
		return at, full
	}
	if l.servers > 0 && l.busy == l.servers {
		l.waiting.Push(f)
		return 0, waits
	}
	l.busy++
	return l.freezes.start(at), queued
}

// step makes the move of f that is due at that instant, and says when its next one is due.
func (l *line) step(f *flow, at time.Duration) (m move, next time.Duration) {
	switch {
	case f.gone.Load():
		f.outcome = Left
		l.leave(f)
		return moveLeave, 0
	case f.on:
		return l.turn(f, at)
	case !f.begun:
		f.begun = true
		return moveBegin, l.freezes.end(at, f.service)
	case f.sent == f.until:
		l.leave(f)
		return moveFail, 0
	}
	if f.sent++; f.sent == 1 {
		l.decoding++
	}
	if f.sent == f.tokens {
		l.leave(f)
		return moveEnd, 0
	}
	return moveToken, l.freezes.end(l.freezes.start(at), l.pause(f))
}

// pause is the time to the next token of f.
func (l *line) pause(f *flow) time.Duration {
	d := l.gap.Draw(l.rand) + min(time.Duration(l.decoding-1)*l.batch, dist.Max)
	if f.sent == f.stall {
		d += l.stall.service
	}
	return min(d, dist.Max)
}

// leave frees the server of f.
func (l *line) leave(f *flow) {
	l.busy--
	if f.sent > 0 {
		l.decoding--
	}
}

// advance gives a server that became free at that instant to the request that waits the longest; nil: there is
// none.
func (l *line) advance(at time.Duration) (f *flow, start time.Duration) {
	if l.waiting.Len() == 0 || l.busy == l.servers {
		return nil, 0
	}
	f = l.waiting.Pop()
	l.busy++
	return f, l.freezes.start(max(at, f.arrival))
}
