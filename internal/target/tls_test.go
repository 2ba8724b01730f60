package target

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Over TLS the server answers the same, small and large, also to many at once, to pipelined
// requests and to a client that does not read.
func TestOverTLS(t *testing.T) {
	for _, size := range []int{100, 300_000} {
		s, stop := start(t, Options{TLS: true, Service: "1ms", Size: &size})
		if !strings.HasPrefix(s.URL(), "https://") {
			t.Error(s.URL())
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				for range 20 {
					r, err := client.Get(s.URL())
					if err != nil {
						t.Error(err)
						return
					}
					b, err := io.ReadAll(r.Body)
					r.Body.Close()
					if err != nil || len(b) != size {
						t.Errorf("%d bytes, %v", len(b), err)
					}
				}
			})
		}
		all.Wait()

		const pipelined = 30
		c := secureTo(t, s)
		if _, err := io.WriteString(c, strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\n\r\n", pipelined)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // the socket is full, and the server waits for nobody
		other, err := client.Get(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		other.Body.Close()
		in := bufio.NewReader(c)
		for i := range pipelined {
			r, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("answer %d: %v", i, err)
			}
			if n, err := io.Copy(io.Discard, r.Body); err != nil || n != int64(size) {
				t.Fatalf("answer %d: %d bytes, %v", i, n, err)
			}
		}
		client.CloseIdleConnections()
		stop()
		if n := s.Truth().Counts.Requests; n != 10*20+pipelined+1 {
			t.Errorf("%d requests", n)
		}
	}
}

// A reset is a reset below TLS, and who speaks no TLS is told so and is no request.
func TestOverTLSFailures(t *testing.T) {
	s, stop := start(t, Options{TLS: true, ResetRate: 1})
	c := secureTo(t, s)
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := c.Read(make([]byte, 100)); err == nil || !strings.Contains(err.Error(), "reset") {
		t.Errorf("%v, want a reset", err)
	}
	plain, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	_, _ = io.WriteString(plain, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if b, _ := io.ReadAll(plain); !strings.HasPrefix(string(b), "HTTP/1.0 400") || !strings.Contains(string(b), "https") {
		t.Errorf("%q", b)
	}
	stop()
	if n := s.Truth().Counts.Requests; n != 1 {
		t.Errorf("%d requests", n)
	}
}

func secureTo(t *testing.T, s *Server) net.Conn {
	t.Helper()
	c, err := tls.Dial("tcp", s.listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
