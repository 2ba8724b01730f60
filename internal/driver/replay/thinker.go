package replay

import (
	"sync"
	"time"

	"github.com/taktload/takt/internal/ring"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/play"
	"github.com/taktload/takt/pkg/takt"
)

// thinkAhead is how long before its instant a request leaves the thinker. The engine asks a starved
// source once a millisecond.
const thinkAhead = 2 * time.Millisecond

// mostThinking limits the requests that wait for their users. At the limit takt reads no further
// in the log until users have caught up.
const mostThinking = 1 << 17

// thinker is the source of --think: a request is due at its recorded instant, or later if its user
// is late: the recorded think time after the answer to the user's previous request. It reads the
// log no further than the current instant, so users never run ahead of the log.
type thinker struct {
	*source
	key   func(dst []byte, op *takt.Op) []byte
	speed float64

	mu      sync.Mutex
	begun   time.Time
	wake    func()
	users   map[string]*thinking
	ready   ring.Heap[*thinking] // users, by when their next requests are due
	waiting int                  // requests in users
	held    takt.Op              // read, and not of the present yet
	has     bool                 // held is filled
	latest  time.Duration
	starved bool
	// of the requests that have left: the latest recorded instant, and the most by which one was later
	recorded, behind time.Duration

	late    uint64 // requests that were due later than recorded
	unknown uint64 // requests after one without a recorded latency
	buf     []byte
}

// thinking is a user that has requests, or that is behind the log.
type thinking struct {
	key     string
	waiting ring.Queue[takt.Op]
	busy    bool          // a request is in flight
	at      time.Duration // when the first of waiting is due; only while the user is in ready
	ended   time.Duration // end of the previous request; negative: there is no such request
	due     time.Duration // recorded instant of the previous request
	took    time.Duration // its recorded latency; 0: unknown
	blind   bool          // the latency is unknown
}

func newThinker(s *source) *thinker {
	return &thinker{source: s, key: s.o.userKey, speed: s.o.Speed, users: map[string]*thinking{}, ready: ring.NewHeap(func(a, b *thinking) bool { return a.at < b.at })}
}

// begin says when the run started, and how to wake its engine.
func (t *thinker) begin(at time.Time, wake func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun, t.wake = at, wake
}

// Next implements takt.Source.
func (t *thinker) Next(op *takt.Op) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	var now time.Duration
	if !t.begun.IsZero() {
		now = time.Since(t.begun)
	}
	t.pull(now + thinkAhead)
	t.starved = false
	if t.ready.Len() == 0 || t.ready.Top().at > now+thinkAhead {
		t.starved = t.has || t.waiting > 0 || t.source.Starved()
		return false
	}
	u := t.ready.Pop()
	*op = u.waiting.Pop()
	t.waiting--
	u.due, u.busy = op.Due, true
	latency := op.Data.(*trace.Record).Latency
	u.took, u.blind = time.Duration(float64(max(0, latency))/t.speed), latency < 0
	if u.at > op.Due {
		t.late++
	}
	t.recorded, t.behind = max(t.recorded, u.due), max(t.behind, u.at-u.due)
	op.Due = max(u.at, now)
	if u.at == u.due { // as recorded: a delay is the generator's
		op.Due = u.at
	}
	t.latest = max(t.latest, op.Due)
	return true
}

// pull reads the requests that are due until the instant.
func (t *thinker) pull(until time.Duration) {
	for t.waiting < mostThinking {
		if !t.has {
			t.held.Data = nil // it may wait for long
			if t.has = t.source.Next(&t.held); !t.has {
				return
			}
		}
		if t.held.Due > until {
			return
		}
		t.has = false
		t.buf = t.key(t.buf[:0], &t.held)
		u := t.users[string(t.buf)]
		if u == nil {
			u = &thinking{key: string(t.buf), ended: -1}
			t.users[u.key] = u
		}
		u.waiting.Push(t.held)
		t.waiting++
		if !u.busy && u.waiting.Len() == 1 {
			t.think(u)
		}
	}
}

// think computes when the next request of u is due.
func (t *thinker) think(u *thinking) {
	u.at = u.waiting.Head().Due
	if u.ended >= 0 {
		u.at = max(u.at, u.ended+max(0, u.at-u.due-u.took))
		if u.blind {
			t.unknown++
		}
	}
	t.ready.Push(u)
}

// rests says that the request of a user has ended.
func (t *thinker) rests(key string, at time.Time) {
	t.mu.Lock()
	u := t.users[key]
	u.busy, u.ended = false, at.Sub(t.begun)
	switch {
	case u.waiting.Len() > 0:
		t.think(u)
	case key[0] == nobody, u.ended <= u.due+u.took: // nobody, or not behind the log: nothing to remember
		delete(t.users, key)
	}
	wake := u.waiting.Len() > 0
	t.mu.Unlock()
	if wake {
		t.wake()
	}
}

// End implements takt.Source.
func (t *thinker) End() time.Duration {
	end := t.source.End()
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case end < 0, end == t.source.end:
		return end
	case t.has || t.waiting > 0:
		return t.source.end
	}
	return play.Sooner(t.source.end, max(end, t.latest+1))
}

// Starved implements engine.Feed.
func (t *thinker) Starved() bool { return t.starved }
