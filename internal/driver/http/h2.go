package http

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/http2"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// errNoH2 is why a connection is of no use to takt's own client.
var errNoH2 = &protocolError{errors.New("the server does not speak HTTP/2; leave --h2 out")}

// protocolError is an error with a class of its own.
type protocolError struct{ error }

func (e *protocolError) Unwrap() error { return e.error }

// Class says that it is a failure of the protocol.
func (*protocolError) Class() string { return http2.ClassProtocol }

// muxes are the connections of a run over HTTP/2.
type muxes struct {
	mu   sync.Mutex
	list []*http2.Mux
}

func (m *muxes) add(one *http2.Mux) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, one)
}

// allowed is the smallest number of streams that a server allowed on a connection.
func (m *muxes) allowed() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.list {
		if a := one.Allowed(); a > 0 && (n == 0 || a < n) {
			n = a
		}
	}
	return n
}

// early is the number of answers that came before their request was sent.
func (m *muxes) early() (n uint64) {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.list {
		n += one.Early()
	}
	return n
}

// multiplex makes l speak HTTP/2 to u.
func (o *Options) multiplex(l *takt.Loop, u *url.URL) {
	opt := o.judging()
	opt.Check = o.ExpectBody.Check()
	if o.Stream {
		opt.MaxBody = o.StreamMost
	}
	requests := o.h2Requests(u.Scheme)
	o.MultiplexTo(l, func() takt.Mux {
		m := o.newMux(requests, opt)
		if o.Stream {
			return NewStreamMux(m)
		}
		return m
	})
}

// MultiplexTo makes l, which LoopTo made, speak HTTP/2.
func (o *Options) MultiplexTo(l *takt.Loop, mux func() takt.Mux) {
	o.muxes = new(muxes)
	l.MuxConns = o.HTTP2Connections
	l.Mux = func(int) takt.Mux { return mux() }
	o.agree(l)
}

func (o *Options) newMux(requests http2.Requests, opt http1.Options) *http2.Mux {
	m := http2.New(requests, opt, o.streams)
	o.muxes.add(m)
	return m
}

// agree makes l choose HTTP/2 in its handshakes.
func (o *Options) agree(l *takt.Loop) {
	if l.TLS != nil {
		l.TLS.NextProtos = []string{"h2"}
		l.TLS.VerifyConnection = func(c tls.ConnectionState) error {
			if c.NegotiatedProtocol != "h2" {
				return errNoH2
			}
			return o.TLS.Note(c)
		}
		connecting := l.Explain
		l.Explain = func(err error) error {
			if connecting != nil {
				err = connecting(err)
			}
			return explainH2(err)
		}
	}
}

// explainH2 says of an error that the server does not speak HTTP/2, if that is why.
func explainH2(err error) error {
	if err == nil || errors.Is(err, errNoH2) || !isHTTP1(err) {
		return err
	}
	return &protocolError{fmt.Errorf("the server does not speak HTTP/2: %w; leave --h2 out", err)}
}

// h2Requests are the requests in the form of HTTP/2.
func (o *Options) h2Requests(scheme string) http2.Requests {
	switch r := o.requests.(type) {
	case *httpreq.Fixed:
		return http2.Render(&r.Sends.Request, scheme)
	case *templated:
		return &h2Templated{r, scheme}
	default:
		return &h2Listed{r, scheme}
	}
}

// h2Templated makes the requests of templated.
type h2Templated struct {
	*templated
	scheme string
}

// Request implements http2.Requests. It allocates nothing.
func (t *h2Templated) Request(q *http2.Request, op *takt.Op) {
	m := t.text
	q.Start(m.Method, t.scheme, m.Host)
	q.AddMade(":path", t.target.Fixed(), func(dst []byte) []byte { return t.target.Append(dst, op.Seq) })
	for i, p := range t.header {
		q.AddMade(m.Header[i].Name, p.Fixed(), func(dst []byte) []byte { return p.Append(dst, op.Seq) })
	}
	q.MakeBody(func(dst []byte) []byte { return t.appendBody(dst, op.Seq) })
	q.Last = t.closes
	q.AddLength(m.Method, false)
}

// h2Listed makes the requests of a list.
type h2Listed struct {
	requests
	scheme string
}

// Request implements http2.Requests.
func (t *h2Listed) Request(q *http2.Request, op *takt.Op) {
	m, _ := t.Message(op) // of a list it does not fail
	q.Fill(&m.Request, t.scheme, false)
}

// scenarioMux is a connection to u that one user after the other has for the steps of a scenario.
type scenarioMux struct {
	*http2.Mux
	codec *scenarioCodec // for the answers
	r     *takt.Result   // of the step in flight
}

// mux is a connection over HTTP/2 to the server of u.
func (s *scenario) mux(u *url.URL) takt.Mux {
	m := &scenarioMux{codec: &scenarioCodec{s: s, matches: s.o.ExpectBody.Check()}}
	m.Mux = s.o.newMux(h2Steps{u.Scheme}, m.codec.options())
	return m
}

// Begin implements takt.Mux.
func (m *scenarioMux) Begin(op *takt.Op, tag int, r *takt.Result) {
	m.codec.begin(op)
	m.r = r
	m.Mux.Begin(op, tag, r)
}

// Parse implements takt.Mux.
func (m *scenarioMux) Parse(in []byte, eof bool, list []takt.MuxEvent) (n int, _ []takt.MuxEvent, alive bool) {
	n, list, alive = m.Mux.Parse(in, eof, list)
	if len(list) > 0 {
		classify(m.r)
	}
	return n, list, alive
}

// h2Steps makes the requests of a scenario.
type h2Steps struct{ scheme string }

// Request implements http2.Requests: users.Options.Begin has filled in the step.
func (h h2Steps) Request(q *http2.Request, op *takt.Op) {
	q.Fill(&op.Data.(*turn).visit.asked, h.scheme, false)
}

// reportH2 adds to r how many streams the server allows, and warns if that held up the run.
func (o *Options) reportH2(r *takt.Report) {
	if o.muxes == nil {
		return
	}
	if n := o.muxes.allowed(); n > 0 && n < noStreamLimit {
		r.Extra["h2_streams_allowed"] = n
		if most := n * o.HTTP2Connections; n < o.streams && peak(r) >= most {
			r.Warn(warn.H2Streams, "the server allows %d requests at once on a connection, and all %d were used: others waited for one, which counts as response time, or were dropped; %s",
				takt.Number("streams", n), takt.Number("used", most), takt.Advice("add connections with --h2-connections"))
		}
	}
}

// noStreamLimit is the number of streams from which a server has no limit.
const noStreamLimit = 1 << 24

// peak is the largest number of operations in flight.
func peak(r *takt.Report) (most int) {
	for _, iv := range r.Intervals {
		most = max(most, iv.InFlightMax)
	}
	return most
}
