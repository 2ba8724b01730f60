package sim

import (
	"context"
	"errors"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// The values of Scenario.Client.
const (
	clientBatch = "batch" // starts operations in batches
	clientRelay = "relay" // relays
)

// client is a driver of the asynchronous mode. Its own threads complete the operations.
type client struct {
	w      *world
	sink   takt.Sink
	kept   []*request   // operations to send at the next Pause
	taken  int          // operations that count towards Scenario.Busy: in its buffer, or in flight
	ended  []completion // not yet reported to the engine
	woken  bool         // there is room again, not yet reported to the engine
	idle   []*thread    // its threads that wait for work
	closed bool
}

// completion is one operation that ended.
type completion struct {
	r     *request
	class string
	again bool // a second, late report of an operation
}

func (c *client) startAll(ops []takt.Op) {
	defer c.enter()()
	for i := range ops {
		c.w.spend(100 * time.Nanosecond)
		c.accept(&ops[i])
	}
}

func (w *world) newClient(_ int, sink takt.Sink) (*takt.AsyncClient, error) {
	c := &client{w: w, sink: sink}
	for range 1 + w.rng.IntN(2) {
		w.serve(c.live)
	}
	a := &takt.AsyncClient{Start: c.start, Relays: w.sc.Client == clientRelay, Pause: c.pause, Flush: c.flush, Close: c.close}
	if w.sc.Client == clientBatch {
		a.StartAll = c.startAll
	}
	return a, nil
}

// enter notes that the current thread starts operations. No other thread may do so until leave.
func (c *client) enter() (leave func()) {
	if o := c.w.starts; o != nil {
		c.w.report.fault("two starts", "thread %d starts operations while thread %d does", c.w.cur.id, o.id)
	}
	c.w.starts = c.w.cur
	return func() { c.w.starts = nil }
}

var errStart = errors.New("the client takes nothing now")

func (c *client) start(op *takt.Op) error {
	defer c.enter()()
	w := c.w
	w.spend(callSend)
	switch {
	case w.sc.Busy > 0 && c.taken >= w.sc.Busy:
		w.report.injected["busy"]++
		w.note("busy", 0, int(op.Seq))
		return takt.ErrBusy
	case w.chance("refused start", w.sc.NoFiles):
		w.net.srv.of(op.Seq).fault = "start"
		return errStart
	}
	c.accept(op)
	return nil
}

// accept starts op. It must not keep op, which the engine reuses.
func (c *client) accept(op *takt.Op) {
	w := c.w
	w.note("start", 0, int(op.Seq))
	r := w.net.srv.of(op.Seq)
	if r.arrived++; r.arrived > 1 {
		w.report.fault("double send", "operation %d was started %d times", op.Seq, r.arrived)
	}
	r.begun, r.token = w.cur.at, op.Token
	w.open++
	w.net.most = max(w.net.most, w.open)
	c.taken++
	if w.sc.Wakes { // the operation leaves the buffer 20 to 320 µs later
		w.at(w.cur.at+time.Duration(20+w.rng.IntN(300))*time.Microsecond, func() {
			c.taken--
			c.woken = true
			c.poke()
		})
	}
	if w.sc.Lingers {
		c.kept = append(c.kept, r)
		return
	}
	c.send(r)
}

// send sends an operation to the target, which serves it like any other request.
func (c *client) send(r *request) {
	r.reply = func() { c.reply(r) }
	c.w.at(c.w.cur.at+c.w.oneWay(), func() { c.w.net.srv.serve(r) })
}

// reply ends an operation, or injects a fault instead.
func (c *client) reply(r *request) {
	w, sc := c.w, c.w.sc
	e := completion{r: r}
	r.status = 200
	switch {
	case w.chance("silence", sc.Silence):
		r.fault = "silence"
		return
	case w.chance("reset", sc.Resets):
		r.fault, e.class = "reset", engine.ClassReset
	case w.chance("503", sc.Refuses):
		r.fault, r.status, e.class = "503", 503, "5xx"
	}
	r.answered = w.now
	c.ended = append(c.ended, e)
	c.poke()
	if w.chance("told twice", sc.Stray) {
		w.at(w.now+time.Duration(w.rng.Int64N(int64(2*sc.Service))), func() {
			e.again = true
			c.ended = append(c.ended, e)
			c.poke()
		})
	}
}

// poke wakes one of the client's threads.
func (c *client) poke() {
	if n := len(c.idle); n > 0 {
		t := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.w.wake(t)
	}
}

// live is the loop of one of the client's threads.
func (c *client) live() {
	for !c.closed {
		switch {
		case len(c.ended) > 0:
			c.tell()
		case c.woken:
			c.woken = false
			c.sink.Wake()
		default:
			c.idle = append(c.idle, c.w.cur)
			c.w.wait(never)
		}
	}
}

// tell reports one completion to the engine, or several with the same result.
func (c *client) tell() {
	w, first := c.w, c.ended[0]
	n := 1
	if w.rng.IntN(2) == 0 {
		for n < len(c.ended) && c.ended[n].class == first.class && c.ended[n].r.status == first.r.status {
			n++
		}
	}
	list := append([]completion(nil), c.ended[:n]...)
	c.ended = c.ended[n:]
	tokens := make([]uint64, n)
	for i, e := range list {
		if tokens[i] = e.r.token; !e.again {
			w.open--
			if !w.sc.Wakes {
				c.taken--
			}
			e.r.told = never
		}
	}
	res := takt.Result{Status: first.r.status, Class: first.class}
	w.note("tell", 0, n)
	if n == 1 {
		res.Arrived = w.base.Add(first.r.answered)
		c.sink.Done(tokens[0], &res)
	} else {
		c.sink.DoneAll(tokens, &res)
	}
	for _, e := range list {
		if !e.again {
			e.r.told = w.cur.at
		}
	}
}

func (c *client) pause(bool) {
	if len(c.kept) == 0 {
		return
	}
	defer c.enter()()
	c.w.spend(callSend)
	for _, r := range c.kept {
		c.send(r)
	}
	c.kept = nil
}

func (c *client) flush(context.Context) error {
	c.pause(false)
	return nil
}

func (c *client) close() error {
	c.closed = true
	for range len(c.idle) {
		c.poke()
	}
	return nil
}

// completed checks an operation of the asynchronous mode against what its client did.
func (k *checker) completed(w *world, r *takt.Sample, q *request) {
	switch {
	case q == nil || q.fault == "start":
		if q == nil || r.Class != "start" {
			k.fault("answer", "operation %d ended (%s), but no client ever had it", r.Seq, r.Class)
		}
	case q.answered < 0 || q.told == 0:
		k.fault("answer", "operation %d ended (%s), but its client never said so (%s)", r.Seq, r.Class, q.fault)
	case q.status != r.Status || (q.fault == "") != (r.Class == ""):
		k.fault("answer", "operation %d has status %d and class %s, its client said %d, %s", r.Seq, r.Status, r.Class, q.status, q.fault)
	case w.origin+r.Done < q.answered-k.exact() || q.told != never && w.origin+r.Done > q.told:
		k.fault("done", "operation %d: done %v, but it ended at %v and its client said so by %v", r.Seq, r.Done, q.answered-w.origin, q.told-w.origin)
	}
}
