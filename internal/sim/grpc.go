package sim

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/driver/grpc"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/tokens"
	"github.com/taktload/takt/pkg/takt"
)

const (
	grpcPath    = "/takt.Sim/Call"
	grpcMessage = 64 << 10 // largest message of an answer, in bytes
)

// grpcClasses are the classes of codes by docs/grpc.md, of those that the target uses.
var grpcClasses = map[int]string{1: "cancelled", 4: "deadline_exceeded", 5: "not_found", 8: "resource_exhausted", 14: "unavailable", 16: "unauthenticated", 77: "unknown"}

// call is what the target does with a gRPC call.
type call struct {
	messages int      // whole ones of the answer, if no message breaks it off
	class    string   // that takt has to give
	status   int      // that takt has to show
	breaks   bool     // takt ends the call before its end
	other    bool     // another fault ended it
	alone    bool     // the answer is trailers alone
	packs    bool     // messages may be compressed
	kind     string   // the content type
	piece    []byte   // before the trailers
	trailers []string // nil: the last message ends the stream
}

// calls makes a run of takt grpc.
func (sc *Scenario) calls(r *rand.Rand) {
	sc.GRPC, sc.Lasts, sc.Deadline = true, 0, r.IntN(3) > 0
	if r.IntN(2) == 0 {
		sc.Sends = 1 + r.IntN(6)
	}
	if r.IntN(2) == 0 {
		sc.Wrong = between(r, 0.02, 0.5)
	}
}

// streaming says who streams, as --streams has it.
func (sc *Scenario) streaming() string {
	switch client, server := sc.Sends > 0, sc.Parts > 0; {
	case client && server:
		return "both"
	case client:
		return "client"
	case server:
		return "server"
	}
	return "none"
}

// asked is the message of that number which clients send.
func (sc *Scenario) asked(number uint64) string {
	return strings.Repeat("x", sc.Upload%5000) + strconv.FormatUint(number, 10)
}

// bodyOf is the body of an operation's request.
func (sc *Scenario) bodyOf(seq uint64) (b []byte) {
	if !sc.GRPC {
		for i := range upload(sc, seq) {
			b = append(b, byte(int(seq)+i))
		}
		return b
	}
	each := uint64(max(1, sc.Sends))
	for i := range each {
		b = append(b, message(0, sc.asked(seq*each+i))...)
	}
	return b
}

// message is a message of gRPC.
func message(flag byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{flag}, uint32(len(s))), s...)
}

// opened makes the driver of p that of takt grpc.
func (w *world) opened(e *engine.Options, p *engine.Plan) error {
	sc, o, fs := w.sc, grpc.New(nil), pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(fs)
	args := []string{
		"--raw", "--streams", sc.streaming(), "-H", "seq: {{.Seq}}", "-d", strings.TrimSuffix(sc.asked(0), "0") + "{{.Seq}}",
		"--timeout", sc.Timeout.String(), "--connect-timeout", sc.ConnectTimeout.String(), "--h2-connections", strconv.Itoa(sc.Conns), "--h2-streams", strconv.Itoa(sc.Streams), "--message-max", strconv.Itoa(grpcMessage),
	}
	if sc.Sends > 0 {
		args = append(args, "--messages", strconv.Itoa(sc.Sends))
	}
	if sc.Deadline {
		args = append(args, "--deadline", sc.Timeout.String())
	}
	if err := fs.Parse(args); err != nil {
		return err
	}
	shaped := *e
	shaped.Connections = 0 // -c is another way to say how many streams there are
	o.Shape(&shaped)
	if faults := o.Validate([]string{address.String() + grpcPath}); len(faults) > 0 {
		return faults[0]
	}
	d, err := o.Open(context.Background(), 0)
	if err != nil {
		return err
	}
	mux := d.Loop.Mux
	d.Loop.Mux = func(i int) takt.Mux { return w.watched(mux(i)) }
	p.Driver, p.Kind = d, "grpc"
	return nil
}

// decide chooses what becomes of the call of st.
func (h *h2side) decide(st *stream) {
	w := h.w
	c := &call{messages: 1, kind: "application/grpc", trailers: []string{"grpc-status", "0"}, packs: w.rng.IntN(4) == 0}
	code := []int{1, 4, 5, 8, 14, 16, 77}[w.rng.IntN(7)]
	failed := []string{"grpc-message", "no%20more", "grpc-status", strconv.Itoa(code)}
	streams := w.sc.Parts > 0
	many := func(n int) {
		if c.messages = n; !streams {
			c.class = "cardinality"
		}
	}
	breaks := func(class string, piece []byte) { c.breaks, c.class, c.piece = true, class, piece }
	kinds := map[string]func(){
		"status":         func() { c.class, c.status, c.trailers = grpcClasses[code], code, failed },
		"status alone":   func() { c.alone, c.class, c.status, c.trailers = true, grpcClasses[code], code, failed },
		"success alone":  func() { c.alone = true; many(0) },
		"no status":      func() { c.class, c.status, c.trailers = "no_status", 200, []string{"other", "0"} },
		"no trailers":    func() { c.class, c.status, c.trailers = "no_status", 200, nil },
		"half a message": func() { c.class, c.piece = "truncated", message(0, "half")[:1+w.rng.IntN(8)] },
		"a failure in a message": func() {
			c.class, c.status, c.trailers, c.piece = grpcClasses[code], code, failed, message(0, "half")[:1+w.rng.IntN(8)]
		},
		"a wrong flag":               func() { breaks("malformed", message(2, "flag")) },
		"a message that is too long": func() { breaks("too_large", message(0, strings.Repeat("x", grpcMessage+1))[:100]) },
		"compressed without coding":  func() { c.packs = false; breaks("malformed", message(1, "packed")) },
		"bad compression":            func() { c.packs = true; breaks("malformed", message(1, "packed")) },
		"a page":                     func() { c.kind = "text/html"; breaks("not_grpc", []byte("<html>")) },
		"no message":                 func() { many(0) },
		"two messages":               func() { many(2) },
	}
	if w.chance("another end of a call", w.sc.Wrong) {
		kinds[grpcEnds[w.rng.IntN(len(grpcEnds))]]()
	}
	if st.r.call = c; c.breaks {
		st.strange, st.r.fault = true, c.class
	}
	st.r.status = c.status
}

// grpcEnds are the kinds of decide, in an order that does not change.
var grpcEnds = []string{
	"status", "status", "status alone", "success alone", "no status", "no trailers", "half a message", "a failure in a message", "a wrong flag",
	"a message that is too long", "compressed without coding", "bad compression", "a page", "no message", "two messages",
}

var packedMessage = func() string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte("a token")) // a buffer's errors
	_ = z.Close()
	return b.String()
}()

// message makes the frames of a message, or of a piece of one, cut anywhere.
func (h *h2side) messageData(st *stream, b []byte) (list []func() []byte) {
	odd := h.w.chance("odd frames", h.w.sc.Odd)
	for first := true; first || len(b) > 0; first = false {
		n := len(b)
		if h.w.rng.IntN(3) == 0 {
			n = h.w.rng.IntN(n + 1)
		}
		part := b[:n]
		b = b[n:]
		list = append(list, func() []byte { return h.data(st.id, 0, odd, part) })
	}
	return list
}

// callHead is the head of an answer with a body.
func (h *h2side) callHead(st *stream, c *call) []byte {
	fields := []string{":status", "200", "content-type", c.kind}
	if c.packs {
		fields = append(fields, "grpc-encoding", "gzip")
	}
	return h.headers(st.id, 0, h.w.chance("odd frames", h.w.sc.Odd), fields...)
}

// tells is a message of an answer.
func (h *h2side) tells(c *call) []byte {
	if c.packs && h.w.rng.IntN(2) == 0 {
		return message(1, packedMessage)
	}
	return message(0, strings.Repeat("y", h.w.rng.IntN(30)))
}

// callEnd is what follows the messages of an answer.
func (h *h2side) callEnd(st *stream, c *call) (list []func() []byte) {
	if len(c.piece) > 0 {
		list = h.messageData(st, c.piece)
	}
	if c.trailers == nil {
		return append(list, func() []byte { return frame(h2Data, h2EndStream, st.id, nil) })
	}
	odd := h.w.chance("odd frames", h.w.sc.Odd)
	return append(list, func() []byte { return h.headers(st.id, h2EndStream, odd, c.trailers...) })
}

// called makes the frames of the answer to a call, of which no message is timed.
func (h *h2side) called(st *stream) (list []func() []byte) {
	c := st.r.call
	if c.alone {
		odd := h.w.chance("odd frames", h.w.sc.Odd)
		fields := append([]string{":status", "200", "content-type", c.kind}, c.trailers...)
		return []func() []byte{func() []byte { return h.headers(st.id, h2EndStream, odd, fields...) }}
	}
	list = append(list, func() []byte { return h.callHead(st, c) })
	for range c.messages {
		list = append(list, h.messageData(st, h.tells(c))...)
	}
	return append(list, h.callEnd(st, c)...)
}

func joined(list []func() []byte) (b []byte) {
	for _, f := range list {
		b = append(b, f()...)
	}
	return b
}

// callFramed are the messages of a stream as its parts.
func (h *h2side) callFramed(st *stream) framing {
	f, c := h.framed(st), st.r.call
	c.messages = 0
	f.head = func() []byte { return h.callHead(st, c) }
	f.event = func(_ []byte, last bool) []byte {
		b := joined(h.messageData(st, h.tells(c)))
		if c.messages++; last {
			b = append(b, joined(h.callEnd(st, c))...)
		}
		return b
	}
	f.tail = func() []byte { return joined(h.callEnd(st, c)) }
	return f
}

// expire ends a call at its deadline, as servers do: by a status, or by a reset.
func (h *h2side) expire(st *stream) {
	w, r := h.w, st.r
	w.at(thawed(w.sc.Freezes, w.now+w.sc.Timeout), func() {
		if st.over || st.ignored || h.s.over || h.s.gone || h.mute || st.begun && (r.call == nil || r.call.breaks) {
			return
		}
		w.report.injected["deadline"]++
		c := &call{class: "deadline_exceeded", status: 4, alone: !st.begun, kind: "application/grpc", trailers: []string{"grpc-status", "4"}}
		r.call, r.status, r.expired, r.fault, st.strange = c, 4, true, "", false
		switch {
		case w.rng.IntN(2) == 0:
			st.begun, r.fault = true, "deadline"
			h.put(frame(h2Reset, 0, st.id, number(8)), nil, nil)
			h.close(st)
		case c.alone:
			h.write(st, h.called(st), 0)
		default:
			h.write(st, h.callEnd(st, c), 0)
		}
	})
}

// timeoutOf reads a grpc-timeout; 0: it is none.
func timeoutOf(s string) time.Duration {
	if len(s) < 2 || len(s) > 9 {
		return 0
	}
	unit := map[byte]time.Duration{'n': 1, 'u': time.Microsecond, 'm': time.Millisecond, 'S': time.Second, 'M': time.Minute, 'H': time.Hour}[s[len(s)-1]]
	n, _ := strconv.ParseUint(s[:len(s)-1], 10, 32)
	return time.Duration(n) * unit
}

// asks checks the fields of a call.
func (h *h2side) asks(fields map[string]string) {
	sc, want := h.w.sc, time.Duration(0)
	if sc.Deadline {
		if want = sc.Timeout; want >= 100*time.Millisecond && want%time.Microsecond > 0 {
			want = (want + time.Second - 1).Truncate(time.Second) // 8 digits have no room for it
		}
	}
	if got := timeoutOf(fields["grpc-timeout"]); got != want || fields[":path"] != grpcPath || fields[":method"] != "POST" || fields["te"] != "trailers" || fields["content-type"] != "application/grpc" {
		h.wrong("a call has the fields %v; its deadline should be %v", fields, want)
	}
}

// lateClass is the class of operations that take longer than their limit.
func (sc *Scenario) lateClass() string {
	if sc.Deadline {
		return "deadline_exceeded"
	}
	return engine.ClassTimeout
}

// isLate reports whether an operation took longer than its limit, by takt's own clock.
func (sc *Scenario) isLate(r *takt.Sample) bool {
	return r.Class == engine.ClassTimeout || sc.Deadline && r.Class == sc.lateClass()
}

// called checks a call that came to its end, and reports whether its end explains the row.
func (k *checker) called(w *world, r *takt.Sample, q *request) bool {
	alone := q != nil && (q.c == nil || q.c.faults == 0) // nothing else ended the call
	if alone && q.fault == "silence" && !k.sc.isLate(r) && r.Class != takt.ClassUnfinished {
		k.fault("class", "operation %d has the class %q, and got no answer", r.Seq, r.Class)
	}
	if q == nil || q.call == nil || q.call.other {
		return false
	}
	c := q.call
	switch ended := q.answered >= 0 || c.breaks; {
	case r.Class == c.class && q.answered >= 0 && (c.class != "deadline_exceeded" || r.Status == c.status):
		k.answered(w, r, q)
		return true
	case r.Class == c.class && c.breaks:
		return true
	case q.expired && r.Class == c.class: // by a reset
		return true
	case q.expired && alone && r.Class == engine.ClassReset:
		k.fault("class", "operation %d was given up by the target at its deadline, and has the class %q", r.Seq, r.Class)
		return true
	case r.Class == "":
		k.fault("class", "operation %d is ok, and its end was %+v", r.Seq, c)
		return true
	case ended && alone && r.Class != takt.ClassUnfinished && !k.sc.isLate(r):
		k.fault("class", "operation %d has the class %q, and its end was %+v", r.Seq, r.Class, c)
		return true
	}
	return false
}

// messages checks how many messages the report counts.
func (k *checker) messages(w *world, rep *takt.Report) {
	var want tokens.Messages
	for i := range k.rows {
		if r := &k.rows[i]; r.Class == "" && w.net.srv.requests[r.Seq].call != nil {
			c := w.net.srv.requests[r.Seq].call
			want.Sent, want.Received = want.Sent+uint64(max(1, k.sc.Sends)), want.Received+uint64(c.messages)
		}
	}
	got, has := tokens.MessagesOf(rep)
	switch streams := k.sc.streaming() != "none"; {
	case has != streams:
		k.fault("messages", "the report has messages: %v", has)
	case has && got != want:
		k.fault("messages", "the report has %+v, want %+v", got, want)
	}
	if n := rep.Counts.OK; !has && want.Received != n {
		k.fault("messages", "%d calls are ok, and the target sent %d messages to them", n, want.Received)
	}
}
