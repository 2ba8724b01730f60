package http

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Classes of failures that only this client has.
const (
	classProtocol = "protocol" // HTTP/2 was asked for, and the server speaks another one
	classRequest  = "request"  // no request could be made of what the placeholders gave
)

// idleTimeout is how long connections wait for another request. After a stall of the target
// there may be thousands, of 80 KB each, which the schedule never needs again.
var idleTimeout = 30 * time.Second

// netClient performs requests with net/http. All workers share its transport,
// whose idle connections are as many as there are workers. HTTP/2 puts all
// requests of a transport on one connection, so it has as many transports as
// connections are asked for.
type netClient struct {
	o       *Options
	clients []*http.Client
	judge   http1.Options // with the check and its room alone
	retried atomic.Uint64 // net/http sends idempotent requests again by itself
}

// newNetClient makes the client with its transports.
func (o *Options) newNetClient() *netClient {
	c := &netClient{o: o, judge: http1.Options{Check: o.ExpectBody.Check(), Room: &o.room, Stale: &o.stale}}
	n := 1
	if o.HTTP2 {
		n = o.HTTP2Connections
	}
	for range n {
		c.clients = append(c.clients, &http.Client{Transport: c.newTransport(), CheckRedirect: c.checkRedirect})
	}
	return c
}

func (o *Options) openNet() *takt.Driver {
	c := o.newNetClient()
	return &takt.Driver{
		Phases: engine.NetPhases,
		Probe:  c.probe,
		Worker: func(i int) (takt.Worker, error) { return &netWorker{c: c, client: c.clients[i%len(c.clients)]}, nil },
		Finish: c.finish,
		Close:  c.close,
	}
}

func (c *netClient) newTransport() *http.Transport {
	t := &http.Transport{
		DialContext:            c.dial,
		TLSClientConfig:        c.o.TLS.Config.Clone(),
		TLSHandshakeTimeout:    c.o.ConnectTimeout,
		MaxIdleConnsPerHost:    engine.DefaultInFlight,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: http1.MaxHead,
		DisableKeepAlives:      c.o.DisableKeepAlive,
		DisableCompression:     true, // bodies are counted as on the wire; the header is our own
		WriteBufferSize:        4 << 10,
		ReadBufferSize:         4 << 10,
		ExpectContinueTimeout:  time.Second,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(!c.o.HTTP2)
	t.Protocols.SetHTTP2(c.o.HTTP2)
	t.Protocols.SetUnencryptedHTTP2(c.o.HTTP2)
	if c.o.HTTP2 {
		t.MaxConnsPerHost = 1 // else as many are dialled at first as requests are due
	}
	if c.o.Proxy.url != nil {
		t.Proxy, t.OnProxyConnectResponse = c.proxy, c.o.Proxy.connected
		t.ProxyConnectHeader = http.Header{"User-Agent": nil} // else net/http sends one of its own
	}
	if !c.o.HTTP2 { // for HTTP/2 net/http wants to see the handshake
		t.DialTLSContext = c.dialTLS
	}
	return t
}

// proxy is the proxy of a request, which would also lead to machines that takt must not reach.
func (c *netClient) proxy(r *http.Request) (*url.URL, error) {
	if err := reach.Check("tcp", httpreq.HostPort(r.URL)); err != nil {
		return nil, dialError{err}
	}
	return c.o.Proxy.url, nil
}

// checkRedirect lets a redirect that must not be followed be the answer. Credentials stay with the server that
// they are for, as with curl.
func (c *netClient) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > c.o.Redirects {
		return http.ErrUseLastResponse
	}
	if !httpreq.SameOrigin(req.URL, via[0].URL) { // net/http looks at the host alone
		maps.DeleteFunc(req.Header, func(name string, _ []string) bool { // names are as the user wrote them
			return strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "Cookie")
		})
	}
	if t, ok := req.Context().Value(traceKey{}).(*trace); ok { // else it is hey's
		t.hop()
		t.followed = true
	}
	return nil
}

func (c *netClient) close() error {
	for _, client := range c.clients {
		client.CloseIdleConnections()
	}
	return c.o.close()
}

// countedConn counts the bytes on the wire of the request that uses it.
type countedConn struct {
	net.Conn
	turns          *engine.Turns
	sent, received atomic.Int64
	wrote          atomic.Int64          // when its request was handed over, ns since epoch; 0: not yet
	ended          atomic.Bool           // the other side's half
	carrier        *carrier              // the connection below TLS; nil: no TLS, or that of the transport
	broken         atomic.Pointer[error] // failure of TLS, of which net/http may say something else
	tap            engine.Tap            // nil: nobody sees the bytes
	of             *netClient            // for tap: it has one connection at a time
}

// carrier is a connection below TLS. It notes why it ended, which TLS does not say.
type carrier struct {
	net.Conn
	err error // of the last read; for the goroutine that reads
}

func (c *carrier) Read(b []byte) (n int, err error) {
	n, err = c.Conn.Read(b)
	c.err = err
	return n, err
}

// NetConn is the connection below, for sock.Arrived.
func (c *carrier) NetConn() net.Conn { return c.Conn }

// epoch is where the instants of all connections count from.
var epoch = time.Now()

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	if c.tap != nil && n > 0 {
		c.tap.Came(c.of, b[:n], time.Now())
	}
	if c.carrier != nil {
		if err = engine.TLSEnding(err, c.carrier.err); err != nil && engine.Classify(err) == engine.ClassTLS {
			c.broken.Store(&err)
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		c.ended.Store(true)
	}
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	if c.wrote.Load() == 0 {
		c.wrote.Store(int64(time.Since(epoch)))
	}
	if c.tap != nil {
		c.tap.Sent(c.of, b)
	}
	c.sent.Add(int64(len(b))) // now: the answer can be there before this goroutine goes on
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n - len(b)))
	return n, err
}

// NetConn is the connection below, for sock.Arrived.
func (c *countedConn) NetConn() net.Conn { return c.Conn }

// dialError marks what went wrong before there was a connection.
type dialError struct{ error }

func (e dialError) Unwrap() error { return e.error }

func (c *netClient) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	turns := engine.NewTurns(time.Now)
	if t, ok := ctx.Value(traceKey{}).(*trace); ok { // else it is hey's
		t.dialled.Store(turns)
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:     func(httptrace.DNSStartInfo) { turns.Waits() },
		ConnectStart: func(_, _ string) { turns.Waits() },
	})
	n, err := c.o.dial(ctx, addr)
	if err != nil {
		turns.GivenUp()
		return nil, dialError{err}
	}
	observed := engine.ObservedOf(ctx)
	observed.Path(sock.PathRTT(n))
	turns.Connected(n)
	turns.Stamp()
	made := &countedConn{Conn: turns, turns: turns, tap: observed.Tap(), of: c}
	if made.tap != nil {
		made.tap.Opens(c)
	}
	return made, nil
}

// dialTLS makes a connection whose bytes are counted above TLS, as takt's own client counts them.
func (c *netClient) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	hooks := httptrace.ContextClientTrace(ctx)
	ctx, cancel := context.WithTimeout(ctx, c.o.ConnectTimeout)
	defer cancel()
	n, err := c.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	counted := n.(*countedConn)           // of dial
	host, _, _ := net.SplitHostPort(addr) // the transport has made it
	hooks.TLSHandshakeStart()
	counted.carrier = &carrier{Conn: counted.Conn}
	s := tls.Client(counted.carrier, c.offer(host))
	err = s.HandshakeContext(ctx)
	hooks.TLSHandshakeDone(s.ConnectionState(), err)
	if err != nil {
		_ = n.Close() // the handshake's error is the cause
		return nil, dialError{engine.HandshakeFailed(err)}
	}
	counted.Conn = s
	return counted, nil
}

func (c *netClient) probe(ctx context.Context) error {
	u, err := c.o.home()
	if err != nil {
		return err
	}
	if c.o.Proxy.url != nil {
		u = c.o.Proxy.url
	}
	n, err := c.o.dial(ctx, httpreq.HostPort(u))
	if err != nil {
		return c.o.Proxy.unreached(err)
	}
	defer n.Close()
	if u.Scheme != "https" || c.o.Proxy.url != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.ConnectTimeout)
	defer cancel()
	return c.explain(tls.Client(n, c.offer(u.Hostname())).HandshakeContext(ctx))
}

// offer is what the transport offers to host in its handshake.
func (c *netClient) offer(host string) *tls.Config {
	conf := c.o.TLS.Config.Clone()
	conf.ServerName, conf.NextProtos = httpreq.WithoutZone(host), []string{"http/1.1"}
	if c.o.HTTP2 {
		conf.NextProtos = []string{"h2"}
	}
	return conf
}

func (c *netClient) finish(ctx context.Context, r *takt.Report) error {
	if n := c.retried.Load(); n > 0 {
		r.Extra["net_retries"] = n
		r.Warn(warn.Retries, "net/http sent %d requests again on another connection by itself; each counts as one operation (takt's own client repeats only what the server says that it has not taken)", takt.Number("retries", n))
	}
	return c.o.finish(ctx, r)
}

type netWorker struct {
	c      *netClient
	client *http.Client
	in     []byte                // part of the body that is being read
	body   []byte                // the beginning of the answer's, for who wants to see it
	kept   http1.Kept            // the same for the check
	now    atomic.Pointer[trace] // of the request in flight, for the cut
}

// SoFar says takt's part of the connection that is being made for the request in flight.
func (w *netWorker) SoFar() (r takt.Result) {
	if t := w.now.Load(); t != nil {
		if turns := t.dialled.Load(); turns != nil {
			r.Phases[netDial] = turns.Of(time.Time{}).Own
		}
	}
	return r
}

// netDial is the index of client_dial in engine.NetPhases.
var netDial = slices.Index(engine.NetPhases, "client_dial")

// Do implements takt.Worker.
func (w *netWorker) Do(ctx context.Context, op *takt.Op, r *takt.Result) {
	ctx, cancel := context.WithTimeout(ctx, w.c.o.Timeout)
	defer cancel()
	start := time.Now()
	t := &trace{start: start, since: start, r: r, cancel: cancel, h2: w.c.o.HTTP2, observed: engine.ObservedOf(ctx)}
	if tap := t.observed.Tap(); tap != nil {
		tap.Begins(w.c, op)
		defer func() { tap.Ends(w.c, r, time.Since(start)) }()
	}
	ctx = context.WithValue(httptrace.WithClientTrace(ctx, t.hooks()), traceKey{}, t)
	w.now.Store(t)
	req, err := w.c.request(ctx, op)
	if err != nil {
		r.Class, r.Err = classRequest, err
		return
	}
	resp, err := w.send(req)
	if err == nil {
		err = w.read(resp, op, r)
	}
	if err == nil {
		t.half()
	}
	t.hop()
	t.finish(err == nil)
	w.c.retried.Add(t.retries)
	if err != nil {
		w.fail(ctx, r, err, t)
	}
}

func (w *netWorker) send(req *http.Request) (*http.Response, error) {
	if w.c.o.Redirects > 0 {
		return w.client.Do(req)
	}
	return w.client.Transport.RoundTrip(req)
}

// read reads the answer, keeps the beginning of a failed one's body, and checks the body of any other
// with Options.ExpectBody.
func (w *netWorker) read(resp *http.Response, op *takt.Op, r *takt.Result) error {
	defer resp.Body.Close()
	r.Status = resp.StatusCode
	if r.Status == http.StatusSwitchingProtocols {
		return http1.ErrSwitched // what comes now would have no time limit
	}
	r.Class = w.c.o.class(op, resp.StatusCode)
	limit, wanted := 0, w.c.wants()
	switch {
	case w.c.o.HTTP2 && resp.ProtoMajor != 2:
		r.Class, r.Err = classProtocol, fmt.Errorf("the server speaks %s, not HTTP/2; leave --h2 out", resp.Proto)
		limit = http1.SampleBytes
	case r.Class != "":
		limit = http1.SampleBytes
	}
	if wanted {
		limit = max(limit, exchangeBytes)
	}
	size, err := w.keep(resp.Body, limit, r.Class == "")
	if err != nil {
		return err
	}
	if r.Class != "" {
		r.Body = append(r.Body, w.body[:min(len(w.body), http1.SampleBytes)]...)
	} else {
		w.c.judge.Judge("", r, &w.kept, http1.CodingOf(resp.Header["Content-Encoding"]))
	}
	w.kept.Reset()
	if w.c.o.Recording != nil {
		w.answered(resp, op, r, size, wanted)
	}
	return nil
}

// keep reads a body, of which it keeps up to limit bytes in w.body, and for a check the beginning in w.kept.
func (w *netWorker) keep(from io.Reader, limit int, checks bool) (size int64, err error) {
	w.body = w.body[:0]
	w.kept.Reset()
	if w.in == nil {
		w.in = make([]byte, 4<<10)
	}
	for err == nil {
		var n int
		n, err = from.Read(w.in)
		size += int64(n)
		w.body = append(w.body, w.in[:max(0, min(n, limit-len(w.body)))]...)
		if checks {
			w.c.judge.Keep("", w.in[:n], nil, &w.kept)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return size, err
}

// Close implements takt.Worker; the connections are the transport's.
func (w *netWorker) Close() error { return nil }

// request makes the request that http1 would send.
func (c *netClient) request(ctx context.Context, op *takt.Op) (*http.Request, error) {
	m, err := c.o.requests.Message(op)
	if err != nil {
		return nil, err
	}
	req := (&http.Request{Method: m.Method, URL: c.verbatim(m), Host: m.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Close: m.Close}).WithContext(ctx)
	req.Header["User-Agent"] = nil // else net/http sends one of its own
	for _, f := range m.Header {
		name := f.Name // as it is written: Header.Add would rewrite it
		if strings.EqualFold(name, "Connection") && m.SaysClose() {
			name = "Connection" // else net/http overlooks that it ends, and says it again
		}
		req.Header[name] = append(req.Header[name], f.Value)
	}
	if len(m.Body) > 0 {
		req.ContentLength = int64(len(m.Body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m.Body)), nil }
		req.Body, _ = req.GetBody() // cannot fail
	}
	return req, nil
}

// verbatim is the URL of m with its target as it stands, also where net/url would
// escape it. That cannot be had of two slashes at its beginning, in which a proxy
// would see a host.
func (c *netClient) verbatim(m *httpreq.Message) *url.URL {
	proxied := c.o.Proxy.url != nil && m.URL.Scheme == "http"
	if m.URL.RequestURI() == m.Target || !proxied && strings.HasPrefix(m.Target, "//") {
		return m.URL
	}
	u := *m.URL
	u.Opaque, _, _ = strings.Cut(m.Target, "?")
	if proxied {
		u.Opaque = "//" + u.Host + u.Opaque
	}
	return &u
}

// traceKey is that of the trace of a request, in its context.
type traceKey struct{}

// trace measures the phases of one request. Its hooks may run in goroutines of
// the transport, also after the request is over (a dial that lost its race).
type trace struct {
	start, since                  time.Time // since: when the request began to wait for its present connection
	r                             *takt.Result
	dns, connect, tls             atomic.Int64 // ns when the phase began, then how long it took
	dnsTook, connectTook, tlsTook atomic.Int64
	dialled                       atomic.Pointer[engine.Turns] // of the last connection that was made for the request
	dial                          record.Slot                  // waits for connections to be made, and takt's part of them
	firstByte, got, headers       atomic.Int64                 // got: there was a connection; headers: the stream's were written
	conn                          atomic.Pointer[countedConn]
	tlsConn                       atomic.Pointer[tls.Conn] // over conn, made by net/http; nil: none
	sent, received                atomic.Int64             // bytes of the connections so far
	conns                         int                      // since the last redirect
	retries                       uint64                   // connections beyond one for each request
	reused                        bool
	h2                            bool
	refused                       bool   // the stream
	followed                      bool   // a redirect
	cancel                        func() // the request
	observed                      *engine.Observed
	halves                        atomic.Int32
}

// hop is called when a request is over: another one follows a redirect.
func (t *trace) hop() {
	t.retries += uint64(max(0, t.conns-1))
	if turns := t.dialled.Swap(nil); turns != nil && t.conns == 0 { // it got no connection
		t.waited(turns)
	}
	t.conns, t.since = 0, time.Now()
}

func (t *trace) now() int64 { return int64(time.Since(t.start)) + 1 }

func (t *trace) hooks() *httptrace.ClientTrace {
	took := func(d, begun *atomic.Int64) { d.Store(t.now() - begun.Load()) }
	return &httptrace.ClientTrace{
		DNSStart:          func(httptrace.DNSStartInfo) { t.dns.Store(t.now()) },
		DNSDone:           func(httptrace.DNSDoneInfo) { took(&t.dnsTook, &t.dns) },
		ConnectStart:      func(_, _ string) { t.connect.Store(t.now()) },
		ConnectDone:       func(_, _ string, _ error) { took(&t.connectTook, &t.connect) },
		TLSHandshakeStart: func() { t.tls.Store(t.now()) },
		TLSHandshakeDone:  func(tls.ConnectionState, error) { took(&t.tlsTook, &t.tls) },
		GotConn:           t.gotConn,
		WroteHeaders:      func() { t.headers.Store(t.now()) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err != nil {
				t.half()
			}
		},
		GotFirstResponseByte: func() { t.firstByte.Store(t.now()) },
		Got1xxResponse:       switched,
	}
}

// half is called when an answer is complete, and when its request could not be written, in
// either order: both together are an early answer.
func (t *trace) half() {
	if t.halves.Add(1) == 2 {
		t.observed.Early()
	}
}

// switched refuses an answer 101 over HTTP/2, after which net/http would wait for another one.
func switched(code int, _ textproto.MIMEHeader) error {
	if code == http.StatusSwitchingProtocols {
		return http1.ErrSwitched
	}
	return nil
}

func (t *trace) gotConn(info httptrace.GotConnInfo) {
	t.conns++
	t.halves.Store(0) // of a try that net/http repeats
	t.reused = info.Reused
	c := info.Conn
	if s, ok := c.(*tls.Conn); ok {
		t.tlsConn.Store(s)
		c = s.NetConn()
	}
	counted, ok := c.(*countedConn)
	if !ok {
		return
	}
	counted.wrote.Store(0)
	t.got.Store(t.now())
	counted.turns.Made()
	t.waited(cmp.Or(t.dialled.Swap(nil), counted.turns)) // the transport may have made it for another request
	// net/http sends a refused request again on the same connection, at once and then after
	// 1, 2, 4 … seconds, which nobody could tell from a server that hangs.
	before := t.conn.Swap(counted)
	if t.h2 && before == counted && t.conns > 1 {
		t.refused = true
		t.conns--
		t.cancel()
	}
	if before != nil && before != counted { // of a redirect, or of a try that net/http repeats
		t.take(before)
	}
}

// waited adds the wait for a connection while one was being made.
func (t *trace) waited(turns *engine.Turns) {
	t.dial, t.since = t.dial.Plus(turns.Of(t.since)), time.Now()
}

// take counts the bytes of a connection. It takes them, since the transport may have given the
// connection to the next request already, and every byte should count once.
func (t *trace) take(c *countedConn) {
	t.sent.Add(c.sent.Swap(0))
	t.received.Add(c.received.Swap(0))
}

// broken is the failure of TLS on the connection; nil: none.
func (t *trace) broken() error {
	if c := t.conn.Load(); c != nil {
		if err := c.broken.Load(); err != nil {
			return *err
		}
	}
	return nil
}

// ended reports whether the server had ended the connection.
func (t *trace) ended() bool {
	c := t.conn.Load()
	return c != nil && c.ended.Load()
}

// finish fills the result. Bytes that came for other requests of the connection since the
// answer was complete, as HTTP/2 has them, make it seem to have come later; never earlier.
func (t *trace) finish(answered bool) {
	phases := []*atomic.Int64{&t.dnsTook, &t.connectTook, &t.tlsTook, &t.firstByte}
	for i, d := range phases {
		t.r.Phases[i] = time.Duration(d.Load())
	}
	t.r.Phases[netDial] = t.dial.Own
	if c := t.conn.Load(); c != nil {
		t.take(c)
		t.r.BytesSent, t.r.BytesReceived = t.sent.Load(), t.received.Load()
		if answered {
			t.r.Arrived = sock.Arrived(c)
			t.r.Phases[len(phases)] = t.client(c)
		}
	}
}

// client is the phase of that name: from the start until the request was written, without the wait
// for its connection. Streams of HTTP/2 share a connection and wait until the target allows
// another stream: of them it is known when they had the connection, and then when the header had
// been written. 0: not known.
func (t *trace) client(c *countedConn) time.Duration {
	switch {
	case t.followed || t.retries > 0:
		return 0
	case t.h2:
		return max(0, time.Duration(t.headers.Load()-t.got.Load()))
	}
	wrote := time.Duration(c.wrote.Load()) - t.start.Sub(epoch)
	return max(0, wrote-t.dial.Service)
}
