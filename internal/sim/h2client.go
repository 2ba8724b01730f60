package sim

import (
	"cmp"
	"strconv"
	"time"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/http2"
	"github.com/taktload/takt/pkg/takt"
)

// watchedMux is the client's side of a connection over HTTP/2, with notes of what it begins.
type watchedMux struct {
	takt.Mux
	w       *world
	c       *conn         // nil: nothing was sent on it yet
	tags    []*request    // begun last, by tag
	begun   []*request    // before c was known
	open    int           // operations that have begun and not ended
	last    bool          // its last request has begun
	emptied time.Duration // when its last operation ended
	cancels int           // operations that takt gave up
	most    int           // operations that the target allows at once, as takt has read; 0: c is not known
}

func (w *world) newMux(int) takt.Mux {
	inner := http2.New(h2Requests{w.sc}, http1.Options{Fail: failed}, w.sc.Streams)
	if w.sc.Parts > 0 {
		return w.watched(http.NewStreamMux(inner))
	}
	return w.watched(inner)
}

// watched is inner with notes of what it begins.
func (w *world) watched(inner takt.Mux) takt.Mux {
	m := &watchedMux{w: w, Mux: inner}
	w.muxes = append(w.muxes, m)
	if parted, ok := inner.(engine.Parted); ok {
		return partedMux{m, parted}
	}
	return m
}

// Open implements takt.Mux.
func (m *watchedMux) Open() {
	m.Mux.Open()
	m.last = false
	m.c, m.begun, m.open, m.most, m.cancels = nil, nil, 0, 0, 0
}

// Begin implements takt.Mux.
func (m *watchedMux) Begin(op *takt.Op, tag int, r *takt.Result) {
	w, q := m.w, m.w.net.srv.of(op.Seq)
	for len(m.tags) <= tag {
		m.tags = append(m.tags, nil)
	}
	m.tags[tag] = q
	q.attempts++
	if q.attempts == 1 {
		q.first = w.cur.at
	}
	if q.back {
		q.waits = append(q.waits, span{q.gotBack, w.cur.at})
	}
	q.back, q.begun = false, w.cur.at
	q.cancels = m.cancels
	m.open++
	defer w.idles()
	if m.assign(q); m.c == nil {
		m.begun = append(m.begun, q)
	} else if away := m.c.away; away >= 0 || m.c.bad >= 0 {
		w.report.fault("closed", "operation %d began on %d after GOAWAY or a violation was read, at %v", op.Seq, m.c.fd, max(away, m.c.bad))
	}
	if m.last {
		w.report.fault("closed", "operation %d began after the last request of its connection", op.Seq)
	}
	m.last = isLast(w.sc, op.Seq)
	m.Mux.Begin(op, tag, r)
}

func (m *watchedMux) assign(q *request) {
	if q.c = m.c; m.c != nil {
		m.c.requests = append(m.c.requests, q)
	}
}

// Out implements takt.Mux.
func (m *watchedMux) Out() []byte {
	m.w.cur.mux = m
	return m.Mux.Out()
}

// Cancel implements takt.Mux.
func (m *watchedMux) Cancel(tag int) {
	if m.c != nil {
		m.c.canceled = true
	}
	m.open--
	m.cancels++
	defer m.w.idles()
	m.Mux.Cancel(tag)
}

// sends notes that the bytes of m go to c.
func (m *watchedMux) sends(c *conn) {
	if m.c != nil {
		return
	}
	m.c, c.mux = c, m
	m.most = c.allows
	for _, q := range m.begun {
		m.assign(q)
	}
	m.begun = nil
}

// Parse implements takt.Mux.
func (m *watchedMux) Parse(in []byte, eof bool, list []takt.MuxEvent) (n int, _ []takt.MuxEvent, alive bool) {
	n, list, alive = m.Mux.Parse(in, eof, list)
	for _, e := range list {
		if e.Kind != takt.MuxFirst {
			m.open--
		}
		if e.Kind != takt.MuxAgain {
			continue
		}
		q := m.tags[e.Tag]
		q.backs++
		q.back, q.gotBack = true, m.w.cur.at
		if q.streamRefused == 0 && (m.c == nil || m.c.away < 0) {
			m.w.report.fault("repeat", "operation %d is to begin again, but the target has not given it back", q.seq)
		}
		q.streamRefused = max(0, q.streamRefused-1)
	}
	if m.open == 0 {
		m.emptied = m.w.cur.at
	}
	m.w.idles()
	return n, list, alive
}

// left checks that no connection stays open that takt has no use for.
func (n *network) left() {
	for _, c := range n.conns {
		if m := c.mux; m == nil || m.c != c || m.open > 0 || c.away < 0 || n.w.sc.Stalls > 0 {
			continue
		}
		if d := n.w.cur.at - max(c.away, c.mux.emptied); d > slack {
			n.w.report.fault("left open", "%d is open %v after its GOAWAY and its last answer", c.fd, d)
		}
	}
}

// idles notes when a connection could carry another operation, and when none could.
func (w *world) idles() {
	open, leaving, free := 0, 0, false
	for _, m := range w.muxes {
		if m.c != nil && !m.c.gone {
			if open += m.open; m.c.away >= 0 {
				leaving += m.open // they keep their places in what the connection's successor may carry
			}
		}
	}
	for _, m := range w.muxes {
		if c := m.c; c != nil && !c.gone {
			usable := !m.last && c.away < 0 && c.bad < 0 && c.ended < 0 && c.reset < 0
			free = free || usable && m.open < m.most && m.open+leaving < cmp.Or(w.sc.Connections, w.sc.InFlight)/w.sc.Conns
		}
	}
	free = free && open < cmp.Or(w.sc.Connections, w.sc.InFlight) || len(w.net.conns) == 0
	if n := len(w.report.idle); free != (n > 0 && w.report.idle[n-1].to == never) {
		if free {
			w.report.idle = append(w.report.idle, span{w.cur.at, never})
		} else {
			w.report.idle[n-1].to = w.cur.at
		}
	}
}

// idled looks for operations that waited although a connection had room, or none was made.
func (k *checker) idled(w *world) {
	sc := k.sc
	if sc.Loops > 1 || k.stood() || sc.LateWakes > 0 {
		return
	}
	for _, r := range k.rows {
		until := r.Sent
		if until == takt.NotSent {
			until = r.Done
		}
		if sc.Rate > 0 && r.Class != takt.ClassDropped {
			k.waited(&r, span{w.origin + r.Due, w.origin + until})
		}
		if sc.Conns > 1 || r.Sent == takt.NotSent { // an operation stays with its connection's successors
			continue
		}
		q := w.net.srv.requests[r.Seq]
		if q == nil || q.attempts == 0 {
			k.waited(&r, span{w.origin + r.Sent, w.origin + r.Done})
			continue
		}
		k.waited(&r, span{w.origin + r.Sent, q.first})
		if q.back {
			k.waited(&r, span{q.gotBack, w.origin + r.Done})
		}
		for _, s := range q.waits {
			k.waited(&r, s)
		}
	}
}

// waited checks the wait of one operation.
func (k *checker) waited(r *takt.Sample, wait span) {
	for _, s := range k.idle {
		if d := min(s.to, wait.to) - max(s.from, wait.from); d > idleMost {
			k.fault("idle", "operation %d waited from %v to %v, and for %v of that a connection had room, or there was none", r.Seq, wait.from, wait.to, d)
			return
		}
	}
}

// idleMost is how long an operation may wait while a connection has room.
const idleMost = 20 * time.Millisecond

// h2Requests makes requests whose path is the number of the operation. Some have a body.
type h2Requests struct{ sc *Scenario }

// Request implements http2.Requests.
func (h h2Requests) Request(q *http2.Request, op *takt.Op) {
	n := upload(h.sc, op.Seq)
	q.Start("GET", "http", "sim")
	q.Last = isLast(h.sc, op.Seq)
	q.Add(":path", "/"+strconv.FormatUint(op.Seq, 10), op.Seq%2 == 0)
	if n < 0 {
		return
	}
	q.MakeBody(func(dst []byte) []byte { return append(dst, h.sc.bodyOf(op.Seq)...) })
	q.Add("content-length", strconv.Itoa(n), false)
}

// isLast reports whether an operation's request is the last one on its connection.
func isLast(sc *Scenario, seq uint64) bool { return sc.Lasts > 0 && seq%uint64(sc.Lasts) == 0 }

// upload is the length of an operation's body; -1: it has none.
func upload(sc *Scenario, seq uint64) int {
	if sc.Upload == 0 || seq%3 == 0 {
		return -1
	}
	return 1 + int(seq*7919)%sc.Upload
}

// healthy counts the open connections on which nothing has happened that makes a client open
// another one beside.
func (n *network) healthy() (count int) {
	for _, c := range n.conns {
		if c.probe && len(c.requests) == 0 {
			continue // not used yet
		}
		if c.mux != nil && c.mux.c == c && c.mux.last {
			continue // its last request has begun
		}
		if c.away < 0 && c.faults == 0 && !c.canceled && c.state != refused && (c.peer == nil || !c.peer.over && c.peer.h2.last < 0) {
			count++
		}
	}
	for _, m := range n.w.muxes {
		if m.c == nil && m.last && len(m.begun) > 0 {
			count-- // nothing was sent on its connection yet
		}
	}
	return count
}

// shared checks what only runs over HTTP/2 have.
func (k *checker) shared(w *world, rep *takt.Report) {
	k.idled(w)
	k.repeats(w, rep, func(q *request) int { return q.backs })
}

// repeats checks how many operations takt says it has repeated, against how often each was given back.
func (k *checker) repeats(w *world, rep *takt.Report, given func(*request) int) {
	repeated := int64(0)
	for _, q := range w.net.srv.requests {
		repeated += int64(min(given(q), againMost))
	}
	said, _ := rep.Extra["repeated"].(int64)
	if n, of := rep.Extra["repeated"].(uint64); of { // of users
		said = int64(n)
	}
	if said != repeated {
		k.fault("repeated", "the report says that %d operations were repeated, the target gave %d back", said, repeated)
	}
}

// againMost is how often the engine begins an operation again.
const againMost = 5

// failedShared reports whether a failure over HTTP/2 is explained.
func (k *checker) failedShared(w *world, r *takt.Sample, q *request) bool {
	unsent := q == nil || q.c == nil || q.back
	switch {
	case unsent && k.dialFailed(w, r):
		return true
	case q != nil && q.backs > againMost:
		return true
	}
	return false
}

// dialFailed reports whether a connection could not be made while the operation waited.
func (k *checker) dialFailed(w *world, r *takt.Sample) bool {
	for _, at := range k.dials {
		if at <= w.origin+r.Done+slack && at >= w.origin+r.Sent-k.sc.ConnectTimeout {
			return true
		}
	}
	return false
}

// stuck looks for an operation that timed out because takt did not send all of it.
func (k *checker) stuck(r *takt.Sample, q *request) {
	if k.sc.Timeout < time.Second || k.sc.Room < unbounded || q.fault != "" || q.c.faults > 0 {
		return
	}
	if q.back || !q.whole {
		k.fault("stuck", "operation %d timed out, but nothing kept takt from sending it", r.Seq)
	}
}

// failedUser reports whether the failure of a user's operation over HTTP/2 is explained.
func (k *checker) failedUser(w *world, r *takt.Sample, q *request) bool {
	switch {
	case r.Class == engine.ClassTimeout:
		return (q == nil || q.c == nil) && k.sc.NewSettings > 0 && r.Done-r.Sent >= k.sc.Timeout // the target allowed no request
	case q != nil && (q.given > againMost || q.given > 0 && k.dialFailed(w, r)):
		return true
	}
	return w.users.broke(r.Seq)
}
