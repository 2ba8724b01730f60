// Package recorder is a forward proxy that keeps the requests and answers that pass through it.
package recorder

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/correlate"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/reach"
)

// The limits of a recording.
const (
	maxExchanges = 20_000
	maxHead      = 1 << 20          // bytes of a request's head
	maxSilence   = time.Minute      // of a client within the head of a request
	maxKept      = 256 << 20        // bytes of all bodies
	maxIdle      = 2 * time.Minute  // of a connection between two requests
	maxPeek      = time.Second      // until a client that asked for a tunnel begins to speak
	maxConns     = 1000             // of clients
	maxTLS       = 30 * time.Second // for a handshake
)

// Options are the settings of a Recorder.
type Options struct {
	Listen    string      // HOST:PORT
	Only      []string    // hosts to record; nil: all. Connections to others pass through
	TLS       *tls.Config // towards servers; nil: the usual one
	Authority *Authority
	Say       func(text string) // what the person at the browser wants to know at once; each text once
}

// Recorder is a proxy. Its methods may be called at the same time.
type Recorder struct {
	o         Options
	listener  net.Listener
	inner     *handed // connections whose TLS ended here
	proxy     *httputil.ReverseProxy
	transport *http.Transport
	kept      atomic.Int64 // bytes of all bodies
	ctx       context.Context
	stop      func() // ends ctx

	mu     sync.Mutex
	said   map[string]bool
	taken  []*taking
	beyond int // exchanges after maxExchanges
}

// Listen opens the proxy's port. Serve serves it.
func Listen(o Options) (*Recorder, error) {
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w; give a free port with --listen, such as 127.0.0.1:0", err)
	}
	r := &Recorder{o: o, said: map[string]bool{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.listener = &limited{Listener: l, free: make(chan struct{}, maxConns), over: r.ctx.Done()}
	r.inner = &handed{addr: l.Addr(), conns: make(chan net.Conn), over: r.ctx.Done()}
	r.transport = &http.Transport{
		DialContext: r.dial, TLSClientConfig: o.TLS, DisableCompression: true,
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1
		TLSHandshakeTimeout: maxTLS, MaxIdleConnsPerHost: 100, IdleConnTimeout: maxIdle,
	}
	r.proxy = &httputil.ReverseProxy{
		Rewrite: rewrite, Transport: r, FlushInterval: -1, ErrorHandler: r.fail,
		ErrorLog: log.New(discard{}, "", 0), // that a browser left is no news
	}
	return r, nil
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// Addr is the address of the proxy.
func (r *Recorder) Addr() net.Addr { return r.listener.Addr() }

// Serve serves until ctx is done.
func (r *Recorder) Serve(ctx context.Context) error {
	outer := r.server(http.HandlerFunc(r.handle))
	inner := r.server(http.HandlerFunc(r.decrypted))
	over := make(chan error, 2)
	go func() { over <- outer.Serve(r.listener) }()
	go func() { over <- inner.Serve(r.inner) }()
	var err error
	select {
	case err = <-over:
		err = fmt.Errorf("the proxy ended: %w", err)
	case <-ctx.Done():
	}
	r.stop()
	_ = errors.Join(outer.Close(), inner.Close()) // connections that are open end, and Exchanges knows what they were at
	r.transport.CloseIdleConnections()
	return err
}

func (r *Recorder) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: maxSilence, IdleTimeout: maxIdle, MaxHeaderBytes: maxHead, ErrorLog: log.New(discard{}, "", 0),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if d, ok := c.(*decryptedConn); ok {
				return context.WithValue(ctx, authorityKey{}, d.host)
			}
			return ctx
		},
	}
}

// say tells the person at the browser something, once.
func (r *Recorder) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.mu.Lock()
	told := r.said[text] || len(r.said) > maxConns
	r.said[text] = true
	r.mu.Unlock()
	if !told && r.o.Say != nil {
		r.o.Say(text)
	}
}

// records reports whether exchanges with a host are kept.
func (r *Recorder) records(host string) bool {
	name, _, err := net.SplitHostPort(host)
	return r.o.Only == nil || slices.Contains(r.o.Only, host) || err == nil && slices.Contains(r.o.Only, name)
}

// handle serves a request to the proxy itself.
func (r *Recorder) handle(w http.ResponseWriter, q *http.Request) {
	switch {
	case q.Method == http.MethodConnect:
		r.connect(w, q)
	case q.URL.Host != "" && q.URL.Scheme == "http":
		r.proxy.ServeHTTP(w, q)
	case q.URL.Path == "/"+CertificateFile:
		w.Header().Set("Content-Type", "application/x-x509-ca-cert")
		_, _ = w.Write(r.o.Authority.PEM())
	default:
		http.Error(w, "takt scenario record is a proxy: set it as the proxy of your browser. Its authority is at /"+CertificateFile, http.StatusBadRequest)
	}
}

// authorityKey is the key of the host that a decrypted connection was opened to.
type authorityKey struct{}

// decrypted serves a request of a connection whose TLS ended here.
func (r *Recorder) decrypted(w http.ResponseWriter, q *http.Request) {
	host, _ := q.Context().Value(authorityKey{}).(string)
	q.URL.Scheme, q.URL.Host = "https", strings.TrimSuffix(host, ":443")
	r.proxy.ServeHTTP(w, q)
}

// rewrite makes the request to the server. The server may only use the codings that takt decodes.
func rewrite(p *httputil.ProxyRequest) {
	p.Out.URL.RawQuery, p.Out.Host = p.In.URL.RawQuery, p.In.Host
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} { // ReverseProxy took them out
		if v, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = v
		}
	}
	if p.Out.Header.Get("Accept-Encoding") != "" {
		p.Out.Header.Set("Accept-Encoding", "gzip, br")
	}
}

// fail answers a request that got no answer.
func (r *Recorder) fail(w http.ResponseWriter, q *http.Request, err error) {
	if q.Context().Err() != nil { // the browser left
		return
	}
	host := q.URL.Host
	var unknown *tls.CertificateVerificationError
	switch {
	case !r.records(hostPort(q.URL)):
	case errors.As(err, &unknown):
		r.say("%s: %v; --cacert FILE names its authority, --insecure verifies none", host, unknown.Err)
	default:
		r.say("%s: %v", host, err)
	}
	http.Error(w, fmt.Sprintf("takt scenario record: no answer from %s: %v", host, err), http.StatusBadGateway)
}

var errSelf = errors.New("this is the address of the proxy itself")

// dial connects to a server.
func (r *Recorder) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := reach.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if own := r.Addr().(*net.TCPAddr); isOwn(own, c.RemoteAddr()) {
		_ = c.Close()
		return nil, errSelf
	}
	return c, nil
}

// isOwn reports whether an address that was dialled is that of the proxy.
func isOwn(own *net.TCPAddr, to net.Addr) bool {
	tcp, ok := to.(*net.TCPAddr)
	if !ok || tcp.Port != own.Port {
		return false
	}
	if tcp.IP.Equal(own.IP) {
		return true
	}
	addrs, err := net.InterfaceAddrs()
	return own.IP.IsUnspecified() && (tcp.IP.IsLoopback() || err == nil && slices.ContainsFunc(addrs, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(tcp.IP)
	}))
}

// connect serves CONNECT: it ends TLS, and lets all else pass.
func (r *Recorder) connect(w http.ResponseWriter, q *http.Request) {
	host := q.Host
	if _, _, err := net.SplitHostPort(host); err != nil {
		http.Error(w, "CONNECT wants HOST:PORT", http.StatusBadRequest)
		return
	}
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() {
		if c != nil {
			_ = c.Close()
		}
	}()
	if _, err = c.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return
	}
	from := &buffered{Conn: c, in: rw.Reader}
	_ = c.SetDeadline(time.Now().Add(maxPeek))
	first, err := from.in.Peek(1)
	_ = c.SetDeadline(time.Time{})
	const handshake = 22 // RFC 8446, 5.1
	switch {
	case err == nil && first[0] == handshake && r.records(host):
		r.decrypt(from, host)
		c = nil // it is the inner server's
	case err == nil && first[0] == handshake:
		r.tunnel(from, host)
	default:
		r.say("%s: a connection without TLS passes through and is not recorded", host)
		r.tunnel(from, host)
	}
}

// decrypt hands a connection to the inner server.
func (r *Recorder) decrypt(c net.Conn, host string) {
	name, _, _ := net.SplitHostPort(host)
	c.SetDeadline(time.Now().Add(maxTLS))
	secure := tls.Server(c, &tls.Config{
		NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12,
		GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if h.ServerName != "" {
				name = h.ServerName
			}
			return r.o.Authority.leaf(name)
		},
	})
	if err := secure.Handshake(); err != nil {
		r.say("%s: the client did not accept the certificate of takt: %v", host, err)
		_ = c.Close()
		return
	}
	c.SetDeadline(time.Time{})
	r.inner.hand(&decryptedConn{secure, host})
}

// tunnel passes bytes both ways.
func (r *Recorder) tunnel(c net.Conn, host string) {
	ctx, cancel := context.WithTimeout(context.Background(), maxTLS)
	defer cancel()
	to, err := r.dial(ctx, "tcp", host)
	if err != nil {
		r.say("%s: %v", host, err)
		return
	}
	defer to.Close()
	defer context.AfterFunc(r.ctx, func() { _ = errors.Join(c.Close(), to.Close()) })()
	pass(c, to)
}

// Exchanges are the exchanges so far, and what is to be said of them.
func (r *Recorder) Exchanges() (list []correlate.Exchange, notes []string) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	cut, decoded := 0, 0
	for _, t := range r.taken {
		e, whole := t.exchange(now, decoded < maxKept)
		decoded += len(e.Content)
		if !whole {
			cut++
		}
		list = append(list, e)
	}
	if r.beyond > 0 {
		notes = append(notes, fmt.Sprintf("%d requests after the first %d were not recorded", r.beyond, maxExchanges))
	}
	if cut > 0 {
		notes = append(notes, fmt.Sprintf("the body of %d answers or requests is longer than the %d MiB that takt keeps of each, or all together were too long; values behind that are not found", cut, http1.CheckBytes>>20))
	}
	return list, notes
}

// RoundTrip implements http.RoundTripper: it sends a request and keeps the exchange.
func (r *Recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	if !r.records(hostPort(q.URL)) {
		return r.transport.RoundTrip(q)
	}
	t := r.take(q)
	if t == nil {
		return r.transport.RoundTrip(q)
	}
	if q.Body != nil && q.Body != http.NoBody {
		q.Body = &teeing{ReadCloser: q.Body, to: &t.sent, t: t, limit: http1.CheckBytes}
	}
	a, err := r.transport.RoundTrip(q)
	if err != nil {
		t.end(true)
		return nil, err
	}
	t.head(a)
	if a.StatusCode == http.StatusSwitchingProtocols {
		r.say("%s: a websocket passes through; its messages are not recorded", q.URL.Host)
		t.end(true)
		return a, nil
	}
	b := &teeing{ReadCloser: a.Body, to: &t.given, t: t, last: true}
	if correlate.HasText(a.Header) {
		b.limit = http1.CheckBytes
	}
	a.Body = b
	return a, nil
}

// hostPort is HOST:PORT of a URL.
func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// buffered is a connection of which a reader has read ahead.
type buffered struct {
	net.Conn
	in *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) { return b.in.Read(p) }
