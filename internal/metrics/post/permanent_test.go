package post_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/taktload/takt/internal/permanent"
)

// dial is the error of a connection, which nobody accepts.
func dial(t *testing.T, network, addr string) error {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), network, addr)
	if err == nil {
		conn.Close()
	}
	return err
}

func get(t *testing.T, c *http.Client, url string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := c.Do(r)
	if err == nil {
		answer.Body.Close()
	}
	return err
}

func handshake(t *testing.T, addr string, config *tls.Config) error {
	t.Helper()
	conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1)) // a server of TLS 1.3 refuses a client after its handshake
	return err
}

// closed is an address at which nobody listens.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// The errors are those that Go makes, not some of this test.
func TestIs(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	at := secure.Listener.Addr().String()
	trusted := x509.NewCertPool()
	trusted.AddCert(secure.Certificate())
	redirects := httptest.NewServer(http.RedirectHandler("gopher://127.0.0.1/", http.StatusFound))
	defer redirects.Close()
	hangsUp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hangsUp.Close()
	go func() {
		for {
			conn, err := hangsUp.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	over, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	_, late := (&net.Dialer{}).DialContext(over, "tcp", plain.Listener.Addr().String())
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	for name, err := range map[string]error{
		"a URL for an address":       dial(t, "tcp", "http://127.0.0.1:8400"),
		"no port":                    dial(t, "tcp", "127.0.0.1"),
		"a port above 65535":         dial(t, "tcp", "127.0.0.1:99999"),
		"a name that is not a port":  dial(t, "tcp", "127.0.0.1:htpp"),
		"an unknown network":         dial(t, "tpc", "127.0.0.1:80"),
		"a socket below a file":      dial(t, "unix", filepath.Join(file, "socket")),
		"an unknown scheme":          get(t, http.DefaultClient, "gopher://127.0.0.1/"),
		"a redirect to one":          get(t, http.DefaultClient, redirects.URL),
		"a URL without a host":       get(t, http.DefaultClient, "http:///path"),
		"a URL that cannot be read":  get(t, http.DefaultClient, "http://127.0.0.1:8o/"),
		"HTTP for HTTPS":             get(t, http.DefaultClient, "https://"+plain.Listener.Addr().String()),
		"a port without TLS":         handshake(t, plain.Listener.Addr().String(), &tls.Config{RootCAs: trusted}),
		"an unknown authority":       handshake(t, at, &tls.Config{}),
		"another name":               handshake(t, at, &tls.Config{RootCAs: trusted, ServerName: "else.example"}),
		"no certificate of a client": handshake(t, at, &tls.Config{RootCAs: trusted, ServerName: "example.com"}),
		"no permission":              &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)},
		"no IPv6":                    &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EAFNOSUPPORT)},
		"marked":                     fmt.Errorf("wrapped: %w", permanent.Mark(io.EOF)),
	} {
		if err == nil || !permanent.Is(err) || !permanent.Is(fmt.Errorf("wrapped: %w", err)) {
			t.Errorf("%s: %v (%T) passes", name, err, err)
		}
	}

	_, unknown := net.DefaultResolver.LookupHost(over, "nobody.invalid")
	for name, err := range map[string]error{
		"nothing":                     nil,
		"nobody listens":              dial(t, "tcp", closed(t)),
		"nobody listens for HTTP":     get(t, http.DefaultClient, "http://"+closed(t)),
		"no socket yet":               dial(t, "unix", filepath.Join(t.TempDir(), "socket")),
		"a connection that is closed": get(t, http.DefaultClient, "http://"+hangsUp.Addr().String()),
		"TLS that is closed":          handshake(t, hangsUp.Addr().String(), &tls.Config{}),
		"too late":                    late,
		"a late look-up":              unknown,
		"no such host":                &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "gatherer", IsNotFound: true}},
		"DNS is not there":            &net.DNSError{Err: "server misbehaving", Name: "gatherer", IsTemporary: true},
		"no network":                  &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)},
		"no way to the host":          &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)},
		"no file descriptors":         &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)},
		"a reset":                     &url.Error{Op: "Get", URL: "http://h", Err: syscall.ECONNRESET},
		"a server without keys yet":   &net.OpError{Op: "remote error", Err: errors.New("tls: internal error")},
		"others":                      errors.New("other"),
	} {
		if (err == nil) != (name == "nothing") || permanent.Is(err) {
			t.Errorf("%s: %v (%T) is permanent", name, err, err)
		}
	}
}

// Errors with a mark are the same as before, as sentinels must be.
func TestMark(t *testing.T) {
	err := permanent.Mark(os.ErrClosed)
	if !errors.Is(fmt.Errorf("wrapped: %w", err), err) || !errors.Is(err, os.ErrClosed) || err.Error() != os.ErrClosed.Error() || errors.Is(err, permanent.Mark(os.ErrClosed)) {
		t.Error(err)
	}
}

func TestStatus(t *testing.T) {
	for code, want := range map[int]bool{200: false, 302: true, 400: true, 401: true, 403: true, 404: true, 408: false, 425: false, 429: false, 500: false, 502: false, 503: false} {
		if permanent.Status(code) != want {
			t.Errorf("%d: %v", code, !want)
		}
	}
}
