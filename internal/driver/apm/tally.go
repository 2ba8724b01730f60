package apm

import (
	"sync/atomic"

	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/pkg/takt"
)

// tally counts the results of requests to one target, without the warm-up.
type tally struct {
	sent   atomic.Uint64
	status [600]atomic.Uint64
	pushed volume // volume of answered requests
	taken  volume // volume of requests with the expected answer

	events   atomic.Uint64 // events in answered requests
	accepted atomic.Uint64 // accepted events according to the answers
	refused  atomic.Uint64 // errors listed in answers
	flushes  atomic.Uint64 // number of bodies written in streamed requests
}

// volume is the size of bodies in bytes.
type volume struct{ plain, wire atomic.Uint64 }

func (v *volume) add(c content) {
	v.plain.Add(uint64(c.plain))
	v.wire.Add(uint64(c.wire))
}

// content is the size and number of events of a body.
type content struct{ plain, wire, events int }

// sampleBytes is how much of a failed answer is read: the count and the first message come
// before the first event.
const sampleBytes = 4 << 10

// sender supplies one connection's requests and counts the answers.
type sender struct {
	plan   *plan
	server int

	// fields of the request in flight
	target   *target
	content  content
	measured bool
	accepted int // accepted events according to the answer; -1: unknown

	said string // text of the last failure, kept with err: many failures have few texts
	err  error
}

// codec is the codec of one connection.
type codec struct {
	*http1.Codec
	s *sender
}

func newCodec(p *plan, server int) *codec {
	s := &sender{plan: p, server: server}
	return &codec{http1.NewCodec(s, http1.Options{Fail: s.class, Check: s.check, Sample: sampleBytes}), s}
}

// Parse implements takt.Codec.
func (c *codec) Parse(in []byte, eof bool, r *takt.Result) (n int, p takt.Progress) {
	n, p = c.Codec.Parse(in, eof, r)
	if p != takt.More {
		c.s.ended(r)
	}
	return n, p
}

// begin notes the next request.
func (s *sender) begin(t *target, c content, measured bool) {
	s.target, s.content, s.measured, s.accepted = t, c, measured, -1
	if measured {
		t.tally.sent.Add(1)
	}
}

// Whole implements http1.Whole.
func (s *sender) Whole(op *takt.Op) (request []byte, head, last bool) {
	t, q := s.plan.choose(s.server, op)
	s.begin(t, q.content, op.Due >= s.plan.warmup)
	return q.bytes.Whole(op)
}

// Append implements http1.Requests.
func (s *sender) Append(dst []byte, op *takt.Op) (out []byte, head, last bool) {
	request, head, last := s.Whole(op)
	return append(dst, request...), head, last
}

// class is the failure class of a status, "" if the status is expected.
func (s *sender) class(status int) string {
	if s.target.wants(status) {
		return ""
	}
	return s.plan.classes[min(max(status, 0), len(s.plan.classes)-1)]
}

// check reads a good answer.
func (s *sender) check(body http1.Content) error {
	s.accepted = acceptedIn(body.Bytes)
	return nil
}

// ended counts the answer.
func (s *sender) ended(r *takt.Result) {
	whole := r.Err == nil // otherwise the answer was cut or invalid
	good := whole && r.Class == ""
	a := answer{accepted: s.accepted}
	if whole && !good {
		a = readAnswer(r.Body)
		r.Err = s.failure(a.sentence(r.Status, s.plan.v1))
	}
	r.Body = r.Body[:min(len(r.Body), http1.SampleBytes)]
	if s.measured && r.Status > 0 {
		s.count(r.Status, a, good)
	}
}

// flushed counts a body of a streamed request.
func (s *sender) flushed(c content) {
	s.content.plain += c.plain
	s.content.wire += c.wire
	s.content.events += c.events
	if s.measured {
		s.target.tally.flushes.Add(1)
	}
}

func (s *sender) count(status int, a answer, good bool) {
	t := &s.target.tally
	t.status[min(status, len(t.status)-1)].Add(1)
	t.pushed.add(s.content)
	t.events.Add(uint64(s.content.events))
	t.refused.Add(uint64(a.refused))
	taken := good && !s.target.refuses
	if taken {
		t.taken.add(s.content)
	}
	switch {
	case a.accepted >= 0:
		t.accepted.Add(uint64(a.accepted))
	case taken:
		t.accepted.Add(uint64(s.content.events)) // 202 without a number accepts all events
	}
}

func (s *sender) failure(text string) error {
	if text != s.said || s.err == nil {
		s.said, s.err = text, failure(text)
	}
	return s.err
}

// failure is a server's error message.
type failure string

func (f failure) Error() string { return string(f) }
