package target

import (
	"strings"
	"testing"

	"github.com/taktload/takt/internal/sock"
)

func TestNullFaults(t *testing.T) {
	o := Options{
		Null: true, Service: "1ms", Servers: 1, Freeze: "1s/10s", Status: 201,
		ErrorRate: 0.01, ResetRate: 0.01, HalfOpenRate: 0.01, CloseRate: 0.01, Slow: "1%/1ms", SlowStart: "1ms/1s", Truth: "truth.json",
	}
	faults := o.Validate()
	if !sock.Available {
		if len(faults) == 0 || !strings.HasPrefix(faults[0].Error(), "--null: only Linux ") {
			t.Fatal(faults)
		}
		faults = faults[1:]
	}
	names := []string{"service", "servers", "freeze", "status", "error-rate", "reset-rate", "half-open-rate", "close-rate", "slow", "slow-start", "truth"}
	if len(faults) != len(names) {
		t.Fatalf("%d faults: %v", len(faults), faults)
	}
	for i, name := range names {
		if text := faults[i].Error(); !strings.HasPrefix(text, "--"+name+": the null server ") || !strings.HasSuffix(text, "leave out --null or --"+name) {
			t.Errorf("fault %d: %s; want --%s", i, text, name)
		}
	}
	o = Options{Null: true, Service: "0s", Status: 200, ErrorRate: 0, Size: new(1 << 10), Seed: 7}
	if faults := o.Validate(); sock.Available && len(faults) > 0 {
		t.Error(faults)
	}
}

// nullHead finds the end of a head, and what its request is, in one piece only.
func TestNullHead(t *testing.T) {
	for text, want := range map[string]struct {
		status int
		length int64
		close  bool
	}{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n":                                   {},
		"\r\n\r\nGET / HTTP/1.1\r\n\r\n":                                      {},
		"GET / HTTP/1.1\n\n":                                                  {},
		"GET / HTTP/1.1\r\nCookie: Content-Length: 5\r\n\r\n":                 {},
		"GET / HTTP/1.0\r\n\r\n":                                              {close: true},
		"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n":                    {close: true},
		"GET / HTTP/1.1\r\nconnection: Close\r\n\r\n":                         {close: true},
		"GET / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n":                    {},
		"POST / HTTP/1.1\r\nHost: a\r\nContent-length: 17\r\n\r\n":            {length: 17},
		"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n":                        {},
		"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n":                       {status: 400},
		"POST / HTTP/1.1\r\ntransfer-encoding: gzip, chunked\r\nx: y\r\n\r\n": {status: 411},
		"HEAD / HTTP/1.1\r\n\r\n":                                             {status: 501},
		"nonsense\r\n\r\n":                                                    {status: 400},
	} {
		q, n, err := nullHead([]byte(text + "GET"))
		if status := nullStatus(q, err); status != want.status {
			t.Errorf("%q: status %d (%v), want %d", text, status, err, want.status)
		} else if status == 0 && (n != len(text) || q.length != want.length || q.close != want.close) {
			t.Errorf("%q: %d bytes, length %d, close %v; want %d, %d, %v", text, n, q.length, q.close, len(text), want.length, want.close)
		}
		for i := range len(text) - 1 {
			if _, n, err := nullHead([]byte(text[:i])); n != 0 && err == nil {
				t.Errorf("%q: complete after %d bytes", text, i)
			}
		}
	}
}

func TestNullAnswer(t *testing.T) {
	for size, want := range map[int]string{
		0: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 13: "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\ntakt target\nt",
	} {
		if got := string(nullAnswer(size)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
