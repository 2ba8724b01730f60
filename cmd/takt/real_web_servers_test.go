//go:build real

package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// webServer is a server that TestReal... of real_web_test.go loads. scripts/servers says what its
// ports serve.
type webServer struct {
	urls   []string // by port: HTTP/1.1, TLS with both, HTTP/2 without TLS, and two more
	ca     string   // file with the certificate of its authority
	posted string   // pattern of the answer to a posted body
	early  bool     // /early answers before the body was read
	read   func(t *testing.T, s *webServer) uint64
	asked  uint64 // requests of read, where the server counts them
}

// Answers to a posted body of postBytes.
const (
	postBytes = 100 << 10
	pageLine  = "takt measures from the instant at which a request was due\n"
	echoed    = "^(" + pageLine + "){1000}"
	length    = "^102400$"
	something = "."
)

// served is how many requests the server has served by its own count, without those of get.
func (s *webServer) served(t *testing.T) uint64 {
	t.Helper()
	return s.read(t, s) - s.asked
}

// get gets a page over a new connection.
func (s *webServer) get(t *testing.T, path string) string {
	t.Helper()
	client := nethttp.Client{Transport: &nethttp.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(s.urls[0] + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: %s, %v", path, resp.Status, err)
	}
	return string(b)
}

// started is the server that scripts/servers started. Its URL is in an environment variable.
func started(t *testing.T, variable string, s webServer) *webServer {
	t.Helper()
	first := os.Getenv(variable)
	host, text, _ := strings.Cut(strings.TrimPrefix(first, "http://"), ":")
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s is %q; run scripts/test-real", variable, first)
	}
	for i, scheme := range []string{"http", "https", "http", "https", "http"} {
		s.urls = append(s.urls, fmt.Sprintf("%s://%s:%d", scheme, host, port+i))
	}
	s.ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(s.ca, []byte(s.get(t, "/pki/ca.pem")), 0o600); err != nil {
		t.Fatal(err)
	}
	return &s
}

func startedNginx(t *testing.T) *webServer {
	s := started(t, "TAKT_NGINX", webServer{posted: something, early: true})
	s.read = func(t *testing.T, s *webServer) uint64 {
		s.asked++
		return countNginx(t).requested
	}
	return s
}

func TestRealNginxWays(t *testing.T) { startedNginx(t).ways(t) }

// Apache's log has only takt's requests.
func TestRealApache(t *testing.T) {
	s := started(t, "TAKT_APACHE", webServer{posted: echoed})
	s.read = func(t *testing.T, s *webServer) uint64 {
		return uint64(strings.Count(s.get(t, "/log"), "\n"))
	}
	s.ways(t)
}

// Caddy's log has everybody's requests, with their headers.
func TestRealCaddy(t *testing.T) {
	s := started(t, "TAKT_CADDY", webServer{posted: echoed, early: true})
	s.read = func(t *testing.T, s *webServer) uint64 {
		return uint64(strings.Count(s.get(t, "/log"), `"User-Agent":["takt"]`))
	}
	s.ways(t)
}

func TestRealHAProxy(t *testing.T) {
	s := started(t, "TAKT_HAPROXY", webServer{posted: length, early: true})
	s.read = func(t *testing.T, s *webServer) uint64 {
		s.asked++
		return numberAfter(t, s.get(t, "/metrics"), `haproxy_frontend_http_requests_total{proxy="pages"} `)
	}
	s.ways(t)
}

func startedEnvoy(t *testing.T) *webServer {
	s := started(t, "TAKT_ENVOY", webServer{posted: something, early: true})
	s.read = func(t *testing.T, s *webServer) uint64 {
		s.asked++
		return numberAfter(t, s.get(t, "/stats?filter=http.takt.downstream_rq_total"), "\nhttp.takt.downstream_rq_total: ")
	}
	return s
}

func TestRealEnvoy(t *testing.T) { startedEnvoy(t).ways(t) }

func TestRealNode(t *testing.T) {
	s := started(t, "TAKT_NODE", webServer{posted: echoed, early: true})
	s.read = func(t *testing.T, s *webServer) uint64 { return numberAfter(t, s.get(t, "/count"), "") }
	s.ways(t)
}

// numberAfter is the number after a prefix in a text.
func numberAfter(t *testing.T, text, prefix string) uint64 {
	t.Helper()
	_, rest, found := strings.Cut("\n"+text, prefix)
	line, _, _ := strings.Cut(strings.TrimPrefix(rest, "\n"), "\n")
	n, err := strconv.ParseFloat(line, 64)
	if !found || err != nil {
		t.Fatalf("no number after %q in %q", prefix, text)
	}
	return uint64(n)
}

// TestRealGo loads net/http, in the process of the test.
func TestRealGo(t *testing.T) {
	var requests atomic.Uint64
	page := strings.Repeat(pageLine, 5000)
	mux := nethttp.NewServeMux()
	for path, size := range map[string]int{"/{$}": 100, "/16k.txt": 16 << 10, "/256k.txt": 256 << 10} {
		mux.HandleFunc(path, func(w nethttp.ResponseWriter, _ *nethttp.Request) { io.WriteString(w, page[:size]) })
	}
	mux.HandleFunc("/early", func(nethttp.ResponseWriter, *nethttp.Request) {})
	mux.HandleFunc("/post", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body) // over HTTP/1.1 nothing can be read after the first write
		w.Write(body)
	})
	counted := nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		requests.Add(1)
		mux.ServeHTTP(w, r)
	})
	secure := httptest.NewUnstartedServer(counted)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewUnstartedServer(counted)
	plain.Config.Protocols = new(nethttp.Protocols)
	plain.Config.Protocols.SetUnencryptedHTTP2(true)
	plain.Config.ErrorLog = log.New(io.Discard, "", 0) // of probes, which say nothing
	plain.Start()
	defer plain.Close()

	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pemOf(secure), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &webServer{urls: []string{"", secure.URL, plain.URL}, ca: ca, posted: echoed, early: true}
	s.read = func(*testing.T, *webServer) uint64 { return requests.Load() }
	s.ways(t)
}

func pemOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}
