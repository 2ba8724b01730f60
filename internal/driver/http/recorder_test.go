package http_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// exchange is a request as its bytes came, and who sent it.
type exchange struct {
	line   string   // the request line
	header []string // lines as they came
	body   string
	conn   int    // number of its connection, from 1, among those with requests
	secure string // version of TLS and what else the handshake showed; "": no TLS
	size   int    // bytes of the request; 0: not counted
}

// recorder is a server that records each request, of HTTP/1.1 or HTTP/2, with TLS or without, direct or
// through it as a proxy. The path says what it answers: /status/404, /redirect (to /next), /hang, and
// /together/2 waits until 2 requests are open.
type recorder struct {
	addr string
	tls  *tls.Config
	l    net.Listener

	maxTLS uint16 // 0: any version
	mute   bool   // handshakes hang from the second connection on
	tunnel bool   // TLS is only in tunnels

	mu        sync.Mutex
	changed   *sync.Cond
	got       []exchange
	connects  string // the heads of CONNECT
	tunnels   int    // number of CONNECT
	silent    bool   // those that are refused get no answer
	refuses   int    // number of CONNECT after which they are refused; 0: none
	accepted  int
	conns     int // with requests
	open      int // requests without an answer
	sent      int // bytes of answers over HTTP/1.1
	ended     bool
	onRequest func(n int) // called when the n-th request has come
	running   sync.WaitGroup
	all       []net.Conn
}

// record starts a recorder that lives as long as the test.
func record(t *testing.T, network, addr string) *recorder {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{addr: l.Addr().String(), l: l}
	r.changed = sync.NewCond(&r.mu)
	t.Cleanup(r.close)
	return r
}

// secured makes r speak TLS, with the certificate of httptest.
func (r *recorder) secured(config *tls.Config) {
	r.tls = config.Clone()
	r.tls.MaxVersion = r.maxTLS
	r.tls.NextProtos, r.tls.ClientAuth = []string{"h2", "http/1.1"}, tls.RequestClientCert
}

// certificate is httptest's, as the configuration of a server.
func certificate() (*tls.Config, []byte) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	return s.TLS, s.Certificate().Raw
}

func (r *recorder) start() {
	r.running.Go(func() {
		for {
			c, err := r.l.Accept()
			if err != nil {
				return
			}
			r.mu.Lock()
			r.accepted++
			n := r.accepted
			r.all = append(r.all, c)
			r.mu.Unlock()
			r.running.Go(func() { defer c.Close(); r.greet(c, n) })
		}
	})
}

func (r *recorder) close() {
	_ = r.l.Close()
	r.mu.Lock()
	r.ended = true
	for _, c := range r.all {
		_ = c.Close()
	}
	r.changed.Broadcast()
	r.mu.Unlock()
	r.running.Wait()
}

// greet begins a connection, with its handshake if there is TLS.
func (r *recorder) greet(c net.Conn, n int) {
	if r.tls == nil || r.tunnel && n > 0 {
		r.serve(c, "")
		return
	}
	if r.mute && n > 1 {
		_, _ = io.Copy(io.Discard, c)
		return
	}
	s := tls.Server(c, r.tls)
	if s.Handshake() != nil {
		return // the client says why
	}
	state := s.ConnectionState()
	secure := tls.VersionName(state.Version)
	if state.Version < tls.VersionTLS13 {
		secure += " " + tls.CipherSuiteName(state.CipherSuite)
	}
	if len(state.PeerCertificates) > 0 {
		secure += " certificate of " + state.PeerCertificates[0].Subject.CommonName
	}
	if state.DidResume {
		secure += " resumed"
	}
	r.serve(s, secure)
}

// serve reads the requests of a connection.
func (r *recorder) serve(c net.Conn, secure string) {
	in := bufio.NewReader(c)
	first, err := in.Peek(3)
	switch {
	case err != nil:
	case string(first) == "PRI":
		r.serveH2(c, in, secure)
	default:
		r.serveH1(c, in, secure)
	}
}

// numbered is the number of a connection that has a request now.
func (r *recorder) numbered() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns++
	return r.conns
}

func (r *recorder) serveH1(c net.Conn, in *bufio.Reader, secure string) {
	number := 0
	for {
		e := exchange{secure: secure}
		length := 0
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			e.size += len(line)
			line = strings.TrimSuffix(line, "\r\n")
			if line == "" {
				break
			}
			if e.line == "" {
				e.line = line
				continue
			}
			e.header = append(e.header, line)
			if name, value, _ := strings.Cut(line, ": "); strings.EqualFold(name, "content-length") {
				length, _ = strconv.Atoi(value)
			}
		}
		if strings.HasPrefix(e.line, "CONNECT ") {
			r.mu.Lock()
			r.connects += e.line + "\n" + strings.Join(e.header, "\n") + "\n"
			r.tunnels++
			refused := r.refuses > 0 && r.tunnels > r.refuses
			r.mu.Unlock()
			if refused && r.silent {
				_, _ = io.Copy(io.Discard, in)
				return
			}
			if refused {
				_, _ = io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno\n")
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			r.greet(c, 0)
			return
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		if number == 0 {
			number = r.numbered()
		}
		e.body, e.conn, e.size = string(body), number, e.size+length
		status, location := r.note(e)
		if status == 0 {
			_, _ = io.Copy(io.Discard, in)
			return
		}
		text := fmt.Sprintf("HTTP/1.1 %d X\r\n%sContent-Length: 2\r\n\r\nok", status, location)
		r.mu.Lock()
		r.sent += len(text)
		r.open--
		r.mu.Unlock()
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}

func (r *recorder) serveH2(c net.Conn, in *bufio.Reader, secure string) {
	if _, err := in.Discard(len(http2.ClientPreface)); err != nil {
		return
	}
	var writing sync.Mutex
	f := http2.NewFramer(c, in)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = f.WriteSettings()
	open, number := map[uint32]*exchange{}, 0
	var answers sync.WaitGroup
	defer answers.Wait()
	complete := func(id uint32) {
		e := open[id]
		delete(open, id)
		if number == 0 {
			number = r.numbered()
		}
		e.conn = number
		answers.Go(func() { // while it waits others come
			status, location := r.note(*e)
			if status == 0 {
				return
			}
			var block bytes.Buffer
			enc := hpack.NewEncoder(&block)
			enc.SetMaxDynamicTableSize(0)
			_ = enc.WriteField(hpack.HeaderField{Name: ":status", Value: strconv.Itoa(status)})
			if name, value, ok := strings.Cut(strings.TrimSpace(location), ": "); ok {
				_ = enc.WriteField(hpack.HeaderField{Name: strings.ToLower(name), Value: value})
			}
			r.mu.Lock()
			r.open--
			r.mu.Unlock()
			writing.Lock()
			defer writing.Unlock()
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true})
			_ = f.WriteData(id, true, []byte("ok"))
		})
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				writing.Lock()
				_ = f.WriteSettingsAck()
				writing.Unlock()
			}
		case *http2.PingFrame:
			if !frame.IsAck() {
				writing.Lock()
				_ = f.WritePing(true, frame.Data)
				writing.Unlock()
			}
		case *http2.MetaHeadersFrame:
			e := &exchange{secure: secure, line: frame.PseudoValue("method") + " " + frame.PseudoValue("path") + " HTTP/2"}
			e.header = append(e.header, "host: "+frame.PseudoValue("authority"))
			for _, h := range frame.RegularFields() {
				e.header = append(e.header, h.Name+": "+h.Value)
			}
			open[frame.StreamID] = e
			if frame.StreamEnded() {
				complete(frame.StreamID)
			}
		case *http2.DataFrame:
			if e := open[frame.StreamID]; e != nil {
				e.body += string(frame.Data())
				if frame.StreamEnded() {
					complete(frame.StreamID)
				}
			}
		}
	}
}

// note records a request and says how to answer it; status 0: not at all.
func (r *recorder) note(e exchange) (status int, location string) {
	r.mu.Lock()
	r.got = append(r.got, e)
	r.open++
	n, tell := len(r.got), r.onRequest
	r.changed.Broadcast()
	r.mu.Unlock()
	if tell != nil {
		tell(n)
	}
	_, path, _ := strings.Cut(e.line, " ")
	path, _, _ = strings.Cut(path, " ")
	switch {
	case path == "/hang":
		return 0, ""
	case path == "/redirect":
		return 302, "Location: /next\r\n"
	case strings.HasPrefix(path, "/status/"):
		status, _ = strconv.Atoi(strings.TrimPrefix(path, "/status/"))
		return status, ""
	case strings.HasPrefix(path, "/together/"):
		n, _ := strconv.Atoi(strings.TrimPrefix(path, "/together/"))
		r.together(n)
	}
	return 200, ""
}

// together waits until so many requests were open at once.
func (r *recorder) together(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.got) < n && !r.ended {
		r.changed.Wait()
	}
}

// text is what came, in the order in which it came, the lines of each header sorted, without the port.
func (r *recorder) text(most int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, e := range r.got[:min(most, len(r.got))] {
		header := slices.Sorted(slices.Values(e.header))
		fmt.Fprintf(&b, "%s\n%s\n\n%s\n-- connection %d %s\n", e.line, strings.Join(header, "\n"), e.body, e.conn, e.secure)
	}
	text := strings.ReplaceAll(b.String(), r.addr, "recorder")
	if _, port, err := net.SplitHostPort(r.addr); err == nil {
		text = strings.ReplaceAll(text, ":"+port+"\n", ":port\n")
	}
	return text
}

// bytes are those of the requests and answers over HTTP/1.1.
func (r *recorder) bytes() (in, out int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.got {
		in += int64(e.size)
	}
	return in, int64(r.sent)
}

// asked is what a proxy was asked for.
func (r *recorder) asked() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.connects
}
