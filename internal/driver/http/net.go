package http

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/pkg/takt"
)

// netClient performs requests with net/http. All workers share its transport,
// whose idle connections are as many as there are workers.
type netClient struct {
	o         *Options
	transport *http.Transport
	retried   atomic.Uint64 // net/http sends idempotent requests again by itself
}

func (o *Options) openNet() (*takt.Driver, error) {
	conf, err := o.tlsConfig()
	if err != nil {
		return nil, err
	}
	c := &netClient{o: o}
	c.transport = &http.Transport{
		DialContext:           c.dial,
		TLSClientConfig:       conf,
		TLSHandshakeTimeout:   o.ConnectTimeout,
		MaxIdleConnsPerHost:   engine.DefaultInFlight,
		DisableKeepAlives:     o.DisableKeepAlive,
		DisableCompression:    true, // bodies are counted as on the wire; the header is our own
		WriteBufferSize:       4 << 10,
		ReadBufferSize:        4 << 10,
		ExpectContinueTimeout: time.Second,
	}
	return &takt.Driver{
		Phases: engine.NetPhases,
		Probe:  c.probe,
		Worker: func(int) (takt.Worker, error) { return &netWorker{c: c}, nil },
		Finish: c.finish,
		Close:  func() error { c.transport.CloseIdleConnections(); return nil },
	}, nil
}

// countedConn counts the bytes on the wire of the request that uses it.
type countedConn struct {
	net.Conn
	sent, received atomic.Int64
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n))
	return n, err
}

// dialError marks what went wrong before there was a connection.
type dialError struct{ error }

func (e dialError) Unwrap() error { return e.error }

func (c *netClient) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: c.o.ConnectTimeout}
	n, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, dialError{err}
	}
	return &countedConn{Conn: n}, nil
}

func (c *netClient) probe(ctx context.Context) error {
	n, err := c.dial(ctx, "tcp", c.o.addr())
	if err != nil {
		return err
	}
	return n.Close()
}

func (c *netClient) finish(ctx context.Context, r *takt.Report) error {
	if n := c.retried.Load(); n > 0 {
		r.Extra["net_retries"] = n
		r.Warnings = append(r.Warnings, takt.Warning{Code: "retries", Message: fmt.Sprintf(
			"net/http sent %d requests again on another connection by itself; each counts as one operation (--client own never does this)", n)})
	}
	return finish(ctx, r)
}

type netWorker struct{ c *netClient }

// Do implements takt.Worker.
func (w *netWorker) Do(ctx context.Context, _ *takt.Op, r *takt.Result) {
	ctx, cancel := context.WithTimeout(ctx, w.c.o.Timeout)
	defer cancel()
	t := trace{start: time.Now(), r: r}
	req := w.c.request(httptrace.WithClientTrace(ctx, t.hooks()))
	resp, err := w.c.transport.RoundTrip(req)
	if err == nil {
		err = w.read(resp, r)
	}
	t.finish()
	if t.conns > 1 {
		w.c.retried.Add(uint64(t.conns - 1))
	}
	if err != nil {
		w.fail(r, err, t.reused)
	}
}

func (w *netWorker) fail(r *takt.Result, err error, reused bool) {
	var dialling dialError
	engine.Fail(r, err, errors.As(err, &dialling))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		r.Class = http1.ClassTruncated
	case errors.Is(err, io.EOF), reused && r.Class == engine.ClassNetwork:
		r.Class = http1.ClassClosed
	}
}

// read takes the answer in and keeps the beginning of a failed one's body.
func (w *netWorker) read(resp *http.Response, r *takt.Result) error {
	defer resp.Body.Close()
	r.Status = resp.StatusCode
	r.Class = w.c.o.FailOn.Class(resp.StatusCode)
	if r.Class != "" {
		b := make([]byte, http1.SampleBytes)
		n, err := io.ReadFull(resp.Body, b)
		r.Body = append(r.Body, b[:n]...)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
	}
	_, err := io.Copy(io.Discard, resp.Body)
	return err
}

// Close implements takt.Worker; the connections are the transport's.
func (w *netWorker) Close() error { return nil }

// request makes the request that http1 would send.
func (c *netClient) request(ctx context.Context) *http.Request {
	q := &c.o.request
	req := (&http.Request{Method: q.Method, URL: c.o.url, Host: q.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Close: q.Close}).WithContext(ctx)
	for _, f := range q.Header {
		req.Header.Add(f.Name, f.Value)
	}
	if len(q.Body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(q.Body))
		req.ContentLength = int64(len(q.Body))
	}
	return req
}

// trace measures the phases of one request. Its hooks may run in goroutines of
// the transport, also after the request is over (a dial that lost its race).
type trace struct {
	start                         time.Time
	r                             *takt.Result
	dns, connect, tls             atomic.Int64 // ns when the phase began, then how long it took
	dnsTook, connectTook, tlsTook atomic.Int64
	firstByte                     atomic.Int64
	conn                          atomic.Pointer[countedConn]
	conns                         int
	reused                        bool
}

func (t *trace) now() int64 { return int64(time.Since(t.start)) + 1 }

func (t *trace) hooks() *httptrace.ClientTrace {
	took := func(d, begun *atomic.Int64) { d.Store(t.now() - begun.Load()) }
	return &httptrace.ClientTrace{
		DNSStart:             func(httptrace.DNSStartInfo) { t.dns.Store(t.now()) },
		DNSDone:              func(httptrace.DNSDoneInfo) { took(&t.dnsTook, &t.dns) },
		ConnectStart:         func(_, _ string) { t.connect.Store(t.now()) },
		ConnectDone:          func(_, _ string, _ error) { took(&t.connectTook, &t.connect) },
		TLSHandshakeStart:    func() { t.tls.Store(t.now()) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { took(&t.tlsTook, &t.tls) },
		GotConn:              t.gotConn,
		GotFirstResponseByte: func() { t.firstByte.Store(t.now()) },
	}
}

func (t *trace) gotConn(info httptrace.GotConnInfo) {
	t.conns++
	t.reused = info.Reused
	c := info.Conn
	if s, ok := c.(*tls.Conn); ok {
		c = s.NetConn()
	}
	if counted, ok := c.(*countedConn); ok {
		t.conn.Store(counted)
	}
}

func (t *trace) finish() {
	for i, d := range []*atomic.Int64{&t.dnsTook, &t.connectTook, &t.tlsTook, &t.firstByte} {
		t.r.Phases[i] = time.Duration(d.Load())
	}
	if c := t.conn.Load(); c != nil {
		// Taken, not read: the transport may have given the connection to the next
		// request already, and every byte should count once.
		t.r.BytesSent, t.r.BytesReceived = c.sent.Swap(0), c.received.Swap(0)
	}
}
