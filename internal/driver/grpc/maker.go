package grpc

import (
	"fmt"

	"github.com/taktload/takt/internal/http2"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/pkg/takt"
)

// maker makes the requests of one connection: http2.Requests.
type maker struct {
	run   *run
	enc   *encoder
	body  []byte
	sent  uint64 // messages of the last request
	fault error  // why the last request has not all its messages
}

func (r *run) newMaker() *maker {
	return &maker{run: r, enc: newEncoder(r.method, r.o.Raw, r.o.Gzip)}
}

// Request implements http2.Requests. It allocates nothing if the messages have no placeholders.
func (m *maker) Request(q *http2.Request, op *takt.Op) {
	r := m.run
	m.sent = uint64(r.each)
	if r.rendered != nil {
		r.rendered.Request(q, op)
	} else {
		q.Start("POST", r.scheme, r.host)
		q.Add(":path", r.method.path(), true)
		for i := range r.header {
			h := &r.header[i]
			q.AddMade(h.name, h.value.Fixed(), func(dst []byte) []byte { return h.value.Append(dst, op.Seq) })
		}
	}
	q.Last = r.closes
	if len(r.whole) > 0 {
		q.Body, q.Lasts = r.whole[op.Seq%uint64(len(r.whole))], true
		return
	}
	m.make(op.Seq)
	q.Body, q.Lasts = m.body, false
}

// make makes the messages of a call.
func (m *maker) make(seq uint64) {
	r := m.run
	m.body = m.body[:0]
	for i := range uint64(r.each) {
		n := seq*uint64(r.each) + i
		at := n % uint64(len(r.o.texts))
		if fixed := r.fixed[at]; fixed != nil {
			m.body = append(m.body, fixed...)
			continue
		}
		if m.body, m.fault = m.enc.append(m.body, r.o.texts[at], n); m.fault != nil {
			return // the server gets the messages before
		}
	}
}

// header is a header of all calls.
type header struct {
	name  string
	value *payload.Template
}

// tried is how many calls are made before the run, so that a text of a feeder that is no message is found early.
const tried = 1000

// prepare makes what can be made before the run.
func (r *run) prepare() error {
	enc, size, all := newEncoder(r.method, r.o.Raw, r.o.Gzip), 0, true
	r.fixed = make([][]byte, len(r.o.texts))
	for i, t := range r.o.texts {
		if !t.Fixed() {
			all = false
			continue
		}
		b, err := enc.append(nil, t, 0)
		if err != nil {
			return numbered(i, len(r.o.texts), err)
		}
		r.fixed[i] = b
		if size += len(b); size > mostBytes {
			return fmt.Errorf("the messages are longer than %d bytes together, the most that takt keeps in memory; give fewer", mostBytes)
		}
	}
	if !all {
		return r.try(enc)
	}
	return r.join(size)
}

// numbered is err with the number of the message of several.
func numbered(i, of int, err error) error {
	if of == 1 {
		return err
	}
	return fmt.Errorf("message %d of %d: %w", i+1, of, err)
}

// try makes the first calls of a run.
func (r *run) try(enc *encoder) error {
	m := &maker{run: r, enc: enc}
	for seq := range uint64(tried) {
		if n := seq * uint64(r.each); r.limit > 0 && n >= r.limit {
			return nil
		}
		if m.make(seq); m.fault != nil {
			return fmt.Errorf("call %d: %w", seq, m.fault)
		}
		if len(m.body) > mostBytes {
			return errLong
		}
	}
	return nil
}

var errLong = fmt.Errorf("the messages of a call are longer than %d bytes, the most that takt keeps in memory; give fewer or shorter ones", mostBytes)

// join makes the bodies of all calls that differ. There are as many as it takes until a call begins with the first
// message again; if they are too long together, each call makes its own.
func (r *run) join(size int) error {
	n := len(r.fixed)
	if float64(size)/float64(n)*float64(r.each) > mostBytes {
		return errLong
	}
	different := n / gcd(n, r.each)
	if different*r.each > mostMessages || float64(size)/float64(n)*float64(r.each)*float64(different) > mostBytes {
		return nil
	}
	for c := range different {
		if r.each == 1 {
			r.whole = append(r.whole, r.fixed[c])
			continue
		}
		var b []byte
		for i := range r.each {
			b = append(b, r.fixed[(c*r.each+i)%n]...)
		}
		r.whole = append(r.whole, b)
	}
	return nil
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
