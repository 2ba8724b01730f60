package target

import (
	"math"
	"sync"
	"time"

	"github.com/taktload/takt/internal/ring"
)

// desk is where requests queue: the virtual queue, what is due to be released,
// and the books. All instants are since the first request.
type desk struct {
	settings
	alarm *alarm

	mu      sync.Mutex
	queue   *queue
	line    *line             // instead of the queue, with --sse and --grpc
	due     ring.Heap[ticket] // by the end of service
	books   ledger
	origin  time.Time     // arrival of the first request; zero: there was none
	asleep  time.Duration // the dispatcher sleeps until then
	closed  bool
	elapsed time.Duration // when it was closed

	unsent []*muxed // with answers to be flushed; the dispatcher's
}

// unsentMost is how many answers over HTTP/2 are released before they are sent: they share
// packets, and none waits for more than some 30 µs.
const unsentMost = 64

// ticket is a request between its arrival and its release.
type ticket struct {
	end     time.Duration
	number  uint64 // in order of arrival, decides between equal ends
	record  int
	outcome Outcome
	by      asker
	stream  uint32 // of by, over HTTP/2
	flow    *flow  // nil: the answer is one piece
	move    move   // of the flow
}

// asker is who waits for the end of a request at the desk: the connection. Its methods never block.
type asker interface {
	release(o Outcome, stream uint32) // the request has come to its end
	pour(f *flow, m move)             // the stream goes on
	drop(stream uint32)               // the server closes before
}

// forever is when a dispatcher with nothing to do wakes up.
const forever = time.Duration(1<<63 - 1)

func newDesk(s settings, servers int, a *alarm) *desk {
	d := &desk{
		settings: s, alarm: a, asleep: forever,
		queue: newQueue(servers, s.freeze.next),
		due:   ring.NewHeap(func(a, b ticket) bool { return a.end < b.end || a.end == b.end && a.number < b.number }),
	}
	d.line = &line{sse: s.sse, servers: servers, services: &d.services, fates: &d.fates, freezes: s.freeze.next, resting: map[*flow]bool{}}
	return d
}

// What admit says of a request.
type admission int

const (
	queued  admission = iota // the dispatcher will release it
	atOnce                   // its end is now: release it yourself
	refused                  // the server is closing
	waits                    // of a stream: no server is free
	full                     // of a stream: too many wait
)

// admit takes a request that has just been read from c. came is when it came to this host; zero: unknown.
func (d *desk) admit(c asker, stream uint32, came time.Time) (admission, Outcome) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return refused, OK
	}
	// Under the lock, so that the order of arrivals is the order of the queue.
	t, arrival := d.enter(c, stream, came)
	if t.end == arrival {
		d.books.close(t.record, t.outcome, 0)
		d.mu.Unlock()
		return atOnce, t.outcome
	}
	wake := d.push(t)
	d.mu.Unlock()
	if wake {
		d.alarm.ring()
	}
	return queued, t.outcome
}

// push puts t among those that are due, and reports whether the dispatcher sleeps longer than that.
func (d *desk) push(t ticket) (wake bool) {
	d.due.Push(t)
	wake = t.end < d.asleep
	d.asleep = min(d.asleep, t.end)
	return wake
}

// admitFlow takes a request whose answer streams.
func (d *desk) admitFlow(f *flow, came time.Time) admission {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return refused
	}
	arrival := d.now()
	f.number = d.books.counts.Requests
	start, a := d.line.arrive(f, arrival)
	f.record = d.books.open(entry{arrival: arrival, service: f.service, start: start, outcome: f.outcome, unread: d.unread(arrival, came), prompt: uint32(f.prompt)})
	wake := false
	switch a {
	case full:
		d.books.ended(f.record, Rejected)
	case queued:
		wake = d.push(f.ticket(start))
	}
	d.mu.Unlock()
	if wake {
		d.alarm.ring()
	}
	return a
}

// advance makes the move of the flow of t, and orders the next one.
func (d *desk) advance(t *ticket, now time.Duration) {
	f := t.flow
	if f.call != nil && f.call.full && f.call.by.behind(f) {
		d.push(f.ticket(now + again))
		return
	}
	if !f.begun {
		d.books.begun(f.record, t.end)
	}
	var next time.Duration
	t.move, next = d.line.step(f, t.end)
	if t.move == moveToken || t.move == moveEnd {
		d.books.token(f.record, t.end, now)
		if f.sent == 1 {
			d.books.released(f.record, now-t.end)
		}
	}
	if !t.move.last() {
		if next != forever { // it rests
			d.push(f.ticket(next))
		}
		return
	}
	d.books.ended(f.record, f.outcome)
	if f, start := d.line.advance(t.end); f != nil {
		d.push(f.ticket(start))
	}
}

// ticket is the next move of f.
func (f *flow) ticket(at time.Duration) ticket {
	return ticket{end: at, number: f.number, record: f.record, outcome: f.outcome, by: f.by, stream: f.stream, flow: f}
}

// enter puts a request through the virtual queue and into the books.
func (d *desk) enter(c asker, stream uint32, came time.Time) (t ticket, arrival time.Duration) {
	arrival = d.now()
	service := d.services.next(arrival)
	start, end := d.queue.serve(arrival, service)
	t = ticket{end: end, number: d.books.counts.Requests, outcome: d.fates.draw(), by: c, stream: stream}
	t.record = d.books.open(entry{arrival: arrival, service: service, start: start, outcome: t.outcome, unread: d.unread(arrival, came)})
	return t, arrival
}

// unread is for how long a request that was read at that instant waited in the socket, in ns.
func (d *desk) unread(arrival time.Duration, came time.Time) uint32 {
	if came.IsZero() {
		return 0
	}
	return uint32(min(max(0, arrival-came.Sub(d.origin)), math.MaxUint32))
}

// now is the time since the first request, which it begins if there was none.
func (d *desk) now() time.Duration {
	if d.origin.IsZero() {
		d.origin = time.Now()
		d.alarm.begin(d.origin)
	}
	return time.Since(d.origin)
}

// next takes the first ticket out whose end has come. Without one it says until
// when the dispatcher may sleep; a ring after that call ends the sleep at once.
func (d *desk) next() (t ticket, sleep nap, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.due.Len() == 0 {
		d.asleep = forever
		return t, d.alarm.nap(forever), false
	}
	now := d.now()
	if first := d.due.Top(); first.end > now {
		d.asleep = first.end
		return t, d.alarm.nap(first.end), false
	}
	d.asleep = 0 // awake: nobody need ring
	t = d.due.Pop()
	if t.flow != nil {
		d.advance(&t, now)
	} else {
		d.books.close(t.record, t.outcome, now-t.end)
	}
	return t, nap{}, true
}

// dispatch releases every request at its end, until the desk is closed.
func (d *desk) dispatch() {
	d.alarm.enter()
	released := 0
	for !d.isClosed() {
		t, sleep, ok := d.next()
		if ok {
			t.release()
			released++
		}
		if !ok || released >= unsentMost {
			d.flush()
			released = 0
		}
		if !ok {
			d.alarm.sleep(sleep)
		}
	}
	for d.due.Len() > 0 { // nobody is admitted any more
		t := d.due.Pop()
		t.by.drop(t.stream)
	}
	for d.line.waiting.Len() > 0 {
		f := d.line.waiting.Pop()
		f.by.drop(f.stream)
	}
	for f := range d.line.resting {
		f.by.drop(f.stream)
	}
}

// release tells who waits for t.
func (t *ticket) release() {
	if t.move != moveNone {
		t.by.pour(t.flow, t.move)
		return
	}
	if t.flow != nil {
		return // it waits for its client
	}
	t.by.release(t.outcome, t.stream)
}

// flush sends what was released to clients over HTTP/2.
func (d *desk) flush() {
	for i, m := range d.unsent {
		m.marked = false
		m.locked(m.flush)
		d.unsent[i] = nil
	}
	d.unsent = d.unsent[:0]
}

func (d *desk) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// close ends the dispatcher; what is due later is never answered.
func (d *desk) close() {
	d.mu.Lock()
	d.closed = true
	if !d.origin.IsZero() {
		d.elapsed = d.now()
	}
	d.mu.Unlock()
	d.alarm.ring()
}

// malformed counts what was no request.
func (d *desk) malformed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.books.counts.Malformed++
}

// refusedStream counts a stream above the limit.
func (d *desk) refusedStream() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.books.counts.RefusedStreams++
}

// acceptFailed counts a connection that could not be taken.
func (d *desk) acceptFailed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.books.counts.AcceptErrors++
}

// truth is a copy of the books.
func (d *desk) truth() *Truth {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := &Truth{StartedAt: d.origin, Servers: d.queue.servers, Freezes: []Window{}}
	t.Counts, t.Skipped = d.books.counts, d.books.skipped
	t.Records = d.books.records(d.queue.freezes)
	if d.sse.on || d.calls.on {
		t.Streams = d.books.streams()
	}
	if d.closed {
		t.Freezes = d.freeze.Windows(d.elapsed)
	} else if !d.origin.IsZero() {
		t.Freezes = d.freeze.Windows(d.now())
	}
	return t
}
