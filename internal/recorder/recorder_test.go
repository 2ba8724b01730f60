package recorder

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"

	"github.com/taktload/takt/internal/correlate"
	"github.com/taktload/takt/internal/http1"
)

// site is a proxy that runs.
type site struct {
	*Recorder
	t      *testing.T
	client *http.Client

	mu   sync.Mutex
	said []string
	stop func()
}

func start(t *testing.T, o Options) *site {
	t.Helper()
	s := &site{t: t}
	var err error
	if o.Authority == nil {
		if o.Authority, err = OpenAuthority(""); err != nil {
			t.Fatal(err)
		}
	}
	o.Listen = "127.0.0.1:0"
	o.Say = func(text string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.said = append(s.said, text)
	}
	if s.Recorder, err = Listen(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- s.Serve(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(o.Authority.PEM())
	way := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: s.Addr().String()}), TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(way.CloseIdleConnections)
	s.client = &http.Client{Transport: way}
	return s
}

// get asks for a URL through the proxy.
func (s *site) get(at string, header ...string) (*http.Response, string) {
	s.t.Helper()
	q, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, at, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	a, err := s.client.Do(q)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return a, string(text)
}

// hears waits until the proxy said something.
func (s *site) hears(want string) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		said := strings.Join(s.said, "\n")
		s.mu.Unlock()
		if strings.Contains(said, want) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("not said: %s\n%s", want, said)
		}
	}
}

// recorded ends the recording and returns what was recorded.
func (s *site) recorded() ([]correlate.Exchange, string) {
	s.stop()
	list, notes := s.Exchanges()
	return list, strings.Join(notes, "\n")
}

// server is one that the proxy trusts.
func server(t *testing.T, h http.HandlerFunc) (*httptest.Server, *tls.Config) {
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s, &tls.Config{RootCAs: pool}
}

func TestBodiesAreDecoded(t *testing.T) {
	web, trusted := server(t, func(w http.ResponseWriter, q *http.Request) {
		var out bytes.Buffer
		var to io.WriteCloser
		if coding := q.URL.Query().Get("coding"); coding == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			to = gzip.NewWriter(&out)
		} else {
			w.Header().Set("Content-Encoding", "br")
			to = brotli.NewWriter(&out)
		}
		fmt.Fprint(to, "codings: ", q.Header.Get("Accept-Encoding"))
		_ = to.Close()
		_, _ = w.Write(out.Bytes())
	})
	s := start(t, Options{TLS: trusted})
	for _, coding := range []string{"gzip", "br"} {
		if a, _ := s.get(web.URL+"/?coding="+coding+"&a;b", "Accept-Encoding", "gzip, deflate, br, zstd"); a.Header.Get("Content-Encoding") != coding {
			t.Errorf("%s: the client got the coding %q", coding, a.Header.Get("Content-Encoding"))
		}
	}
	list, notes := s.recorded()
	if len(list) != 2 || notes != "" {
		t.Fatalf("%d exchanges, %s", len(list), notes)
	}
	for _, e := range list {
		if string(e.Content) != "codings: gzip, br" || e.Open || e.Status != 200 || e.URL.Scheme != "https" || !strings.HasSuffix(e.URL.RawQuery, "&a;b") || e.Began.After(e.Answered) || e.Answered.After(e.Ended) {
			t.Errorf("%+v, %q", e, e.Content)
		}
	}
}

// A long body passes whole, and its beginning is kept. One that never ends is known as such.
func TestLongBodies(t *testing.T) {
	const long = 20 << 20
	web, trusted := server(t, func(w http.ResponseWriter, q *http.Request) {
		chunk := bytes.Repeat([]byte("0123456789abcdef"), 4096)
		for n := 0; n < long || q.URL.Path == "/endless"; n += len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	s := start(t, Options{TLS: trusted})
	if _, text := s.get(web.URL + "/long"); len(text) != long {
		t.Errorf("%d bytes came", len(text))
	}
	a, err := s.client.Get(web.URL + "/endless")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, a.Body, long); err != nil {
		t.Fatal(err)
	}
	list, notes := s.recorded()
	_ = a.Body.Close()
	if len(list) != 2 || len(list[0].Content) != http1.CheckBytes || list[0].Size != long || list[0].Open || !list[1].Open || len(list[1].Content) != http1.CheckBytes {
		t.Errorf("%d exchanges: %v", len(list), notes)
	}
	if !strings.Contains(notes, "the body of 2 answers or requests is longer than the 1 MiB") {
		t.Error(notes)
	}
	if kept := s.kept.Load(); kept != 2*http1.CheckBytes {
		t.Errorf("%d bytes are kept", kept)
	}
}

// A server whose certificate nobody vouches for is not asked, unless the user says so; a host that is not recorded keeps
// its own certificate.
func TestCertificates(t *testing.T) {
	web, trusted := server(t, func(http.ResponseWriter, *http.Request) {})
	s := start(t, Options{})
	if a, text := s.get(web.URL); a.StatusCode != http.StatusBadGateway || !strings.Contains(text, "certificate") {
		t.Errorf("%d %s", a.StatusCode, text)
	}
	s.hears("--cacert FILE names its authority")
	if list, _ := s.recorded(); len(list) != 1 || list[0].Status != 0 {
		t.Errorf("%+v", list)
	}

	s = start(t, Options{Only: []string{"other.example"}})
	if _, err := s.client.Get(web.URL); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("the connection did not pass through: %v", err)
	}
	s.client.Transport.(*http.Transport).TLSClientConfig = trusted
	if a, _ := s.get(web.URL); a.StatusCode != http.StatusOK {
		t.Error(a.Status)
	}
	if list, _ := s.recorded(); len(list) != 0 {
		t.Errorf("%d exchanges were recorded", len(list))
	}
}

// The proxy does not ask itself, whatever name it is called by.
func TestRefusesItself(t *testing.T) {
	s := start(t, Options{})
	_, port, _ := net.SplitHostPort(s.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if a, text := s.get("http://" + net.JoinHostPort(host, port) + "/"); a.StatusCode != http.StatusBadGateway || !strings.Contains(text, "the proxy itself") {
			t.Errorf("%s: %d %s", host, a.StatusCode, text)
		}
	}
	a, err := http.Get("http://" + s.Addr().String() + "/" + CertificateFile)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if text, _ := io.ReadAll(a.Body); !bytes.Equal(text, s.o.Authority.PEM()) {
		t.Errorf("the authority is %q", text)
	}
	if a, err := http.Get("http://" + s.Addr().String() + "/"); err != nil || a.StatusCode != http.StatusBadRequest {
		t.Error(a, err)
	}
}

// What is not HTTP passes through: websockets, and connections without TLS, also where the server speaks first.
func TestPassesThrough(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		line, _ := rw.ReadString('\n')
		_, _ = io.WriteString(c, "echo "+line)
	}))
	t.Cleanup(web.Close)
	greeter, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = greeter.Close() })
	go func() {
		for {
			c, err := greeter.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "220 hello\n")
			line, _ := bufio.NewReader(c).ReadString('\n')
			_, _ = io.WriteString(c, "echo "+line)
			_ = c.Close()
		}
	}()
	s := start(t, Options{})
	for name, one := range map[string]struct {
		ask   string
		lines []string
	}{
		"websocket":    {"GET " + web.URL + "/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", []string{"HTTP/1.1 101 Switching Protocols\r\n", "Connection: Upgrade\r\n", "Upgrade: websocket\r\n", "\r\n", ">", "echo hi\n"}},
		"server first": {"CONNECT " + greeter.Addr().String() + " HTTP/1.1\r\nHost: x\r\n\r\n", []string{"HTTP/1.1 200 Connection established\r\n", "\r\n", "220 hello\n", ">", "echo hi\n"}},
		"client first": {"CONNECT " + greeter.Addr().String() + " HTTP/1.1\r\nHost: x\r\n\r\nhi\n", []string{"HTTP/1.1 200 Connection established\r\n", "\r\n", "220 hello\n", "echo hi\n"}},
	} {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(c, one.ask)
		in := bufio.NewReader(c)
		for _, want := range one.lines {
			if want == ">" {
				_, _ = io.WriteString(c, "hi\n")
				continue
			}
			if got, err := in.ReadString('\n'); got != want {
				t.Errorf("%s: %q, want %q (%v)", name, got, want, err)
				break
			}
		}
		_ = c.Close()
	}
	s.hears("a websocket passes through")
	s.hears("a connection without TLS passes through")
	if list, _ := s.recorded(); len(list) != 1 || list[0].Status != http.StatusSwitchingProtocols {
		t.Errorf("%+v", list)
	}
}

// A recording ends although a client is within its request, and another within its handshake.
func TestEndsWithClients(t *testing.T) {
	s := start(t, Options{})
	for _, text := range []string{"GET http://127.0.0.1:1/ HT", "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\n\x16\x03\x01", "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\n", ""} {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, text)
	}
	if list, _ := s.recorded(); len(list) > 0 {
		t.Errorf("%+v", list)
	}
}

// Many clients at once, of which some never say anything, leave room for others.
func TestCrowd(t *testing.T) {
	web, trusted := server(t, func(w http.ResponseWriter, q *http.Request) { fmt.Fprint(w, q.URL.Path) })
	s := start(t, Options{TLS: trusted})
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			a, err := s.client.Get(fmt.Sprintf("%s/%d", web.URL, i))
			if err != nil {
				t.Error(err)
				return
			}
			defer a.Body.Close()
			if text, err := io.ReadAll(a.Body); string(text) != fmt.Sprintf("/%d", i) {
				t.Errorf("%q %v", text, err)
			}
		})
	}
	all.Wait()
	list, _ := s.recorded()
	for _, e := range list {
		if string(e.Content) != e.URL.Path {
			t.Errorf("%s has the answer %q", e.URL, e.Content)
		}
	}
	if len(list) != 50 {
		t.Errorf("%d exchanges", len(list))
	}
}

func TestAuthority(t *testing.T) {
	folder := t.TempDir()
	one, err := OpenAuthority(folder)
	if err != nil {
		t.Fatal(err)
	}
	again, err := OpenAuthority(folder)
	if err != nil || again.SPKI() != one.SPKI() {
		t.Errorf("another authority: %v", err)
	}
	key := filepath.Join(folder, keyFile)
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	for _, host := range []string{"shop.example", "127.0.0.1", strings.Repeat("a", 60) + "." + strings.Repeat("b", 60)} {
		c, err := again.leaf(host)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(c.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AddCert(one.cert)
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: pool}); err != nil {
			t.Error(err)
		}
	}
	if err := os.WriteFile(key, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAuthority(folder); err == nil || !strings.Contains(err.Error(), "takt makes another one") {
		t.Errorf("rubbish: %v", err)
	}
	if _, err := OpenAuthority(filepath.Join(folder, "none")); err == nil || !strings.Contains(err.Error(), "make the folder") {
		t.Errorf("no folder: %v", err)
	}
}
