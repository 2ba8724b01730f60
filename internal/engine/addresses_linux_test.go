package engine_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// host is a server with several addresses, which counts the requests to each.
type host struct {
	port    string
	mu      sync.Mutex
	served  map[string]int // by address
	closing []net.Listener
	keeps   bool // connections, for another request
}

// serveAt serves one port of all addresses. It answers one request on each connection.
func serveAt(t *testing.T, conf *tls.Config, addrs ...string) *host {
	return serveOn(t, conf, false, addrs...)
}

// serveOn is serveAt that may keep its connections.
func serveOn(t *testing.T, conf *tls.Config, keeps bool, addrs ...string) *host {
	t.Helper()
	for range 20 {
		h := &host{served: map[string]int{}, keeps: keeps}
		if h.listen(conf, addrs) {
			t.Cleanup(h.close)
			return h
		}
		h.close() // another process has the port of one of the addresses
	}
	t.Fatal("no port is free on all addresses")
	return nil
}

func (h *host) listen(conf *tls.Config, addrs []string) bool {
	h.port = "0"
	for _, addr := range addrs {
		l, err := net.Listen("tcp", net.JoinHostPort(addr, h.port))
		if err != nil {
			return false
		}
		_, h.port, _ = net.SplitHostPort(l.Addr().String())
		if conf != nil {
			l = tls.NewListener(l, conf)
		}
		h.closing = append(h.closing, l)
		go h.serve(l, addr)
	}
	return true
}

func (h *host) serve(l net.Listener, addr string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			answer := ok
			if !h.keeps {
				answer = strings.Replace(ok, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)
			}
			for more := true; more && request(c); more = h.keeps {
				h.mu.Lock()
				h.served[addr]++
				h.mu.Unlock()
				_, _ = io.WriteString(c, answer)
			}
		}()
	}
}

func (h *host) close() {
	for _, l := range h.closing {
		l.Close()
	}
}

func (h *host) took() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.served)
}

// resolver is a resolver that knows one name, and rotates its answer if asked to.
func resolver(rotate bool, addrs ...string) engine.World {
	var mu sync.Mutex
	return engine.Named(func(name string) ([]string, error) {
		mu.Lock()
		defer mu.Unlock()
		if name != "target.test" {
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		}
		now := slices.Clone(addrs)
		if rotate {
			addrs = append(addrs[1:], addrs[0])
		}
		return now, nil
	})
}

func loopback6(t *testing.T) bool {
	t.Helper()
	l, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		l.Close()
	}
	return err == nil
}

// certificate is the configuration of a server of httptest.
func certificate(t *testing.T) *tls.Config {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	conf := s.TLS.Clone()
	conf.NextProtos = nil
	return conf
}

func loopTo(t *testing.T, h *host, secure bool) *takt.Loop {
	l := httpLoop(t, net.JoinHostPort("target.test", h.port))
	l.Timeout, l.ConnectTimeout = time.Minute, time.Minute
	if secure {
		l.TLS = &tls.Config{InsecureSkipVerify: true}
	}
	return l
}

// The connections of a run use all addresses of a name in turn, of both families, also when the
// resolver rotates its answers. The report names them.
func TestAddressesTakeTurns(t *testing.T) {
	addrs := []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}
	if loopback6(t) {
		addrs = []string{"127.0.0.1", "::1", "127.0.0.2"}
	}
	conf := certificate(t)
	eachMode(t, func(t *testing.T, mode string) {
		for _, c := range []struct{ secure, rotate bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
			server := conf
			if !c.secure {
				server = nil
			}
			h := serveAt(t, server, addrs...)
			r := loadPlan(t, mode, engine.Plan{Driver: &takt.Driver{Loop: loopTo(t, h, c.secure)}, World: resolver(c.rotate, addrs...)}, func(o *engine.Options) {
				o.Requests, o.Connections = 30, 4
			})
			want := map[string]int{addrs[0]: 10, addrs[1]: 10, addrs[2]: 10}
			if got := h.took(); r.Counts.OK != 30 || !maps.Equal(got, want) {
				t.Errorf("%+v: %+v, %v; %v", c, r.Counts, got, r.Errors)
			}
			var list []any
			for _, addr := range addrs {
				list = append(list, net.JoinHostPort(addr, h.port))
			}
			if !reflect.DeepEqual(r.Extra["addresses"], list) {
				t.Errorf("%+v: the report has %v, want %v", c, r.Extra["addresses"], list)
			}
		}
	})
}

// An address without a server is left out, and the report says so.
func TestAddressesLeftOut(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		h := serveAt(t, nil, "127.0.0.2", "127.0.0.4")
		r := loadPlan(t, mode, engine.Plan{
			Driver: &takt.Driver{Loop: loopTo(t, h, false)}, World: resolver(true, "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"),
		}, func(o *engine.Options) { o.Requests, o.Connections = 20, 2 })
		if got := h.took(); r.Counts.OK != 20 || got["127.0.0.2"] != 10 || got["127.0.0.4"] != 10 {
			t.Errorf("%+v, %v; %v", r.Counts, got, r.Errors)
		}
		if list := fmt.Sprint(r.Extra["addresses"]); list != fmt.Sprintf("[127.0.0.2:%s 127.0.0.4:%[1]s]", h.port) {
			t.Errorf("the report has %s", list)
		}
		i := slices.IndexFunc(r.Warnings, func(w takt.Warning) bool { return w.Code == "addresses" })
		if i < 0 || !strings.Contains(r.Warnings[i].Message, "2 of the 4 addresses of target.test") || !strings.Contains(r.Warnings[i].Message, "127.0.0.1:"+h.port+": connect: connection refused") {
			t.Errorf("%+v", r.Warnings)
		}
	})
}

// Without any address a run ends before its start.
func TestAddressesAllFail(t *testing.T) {
	h := serveAt(t, nil, "127.0.0.1", "127.0.0.2")
	h.close()
	for _, mode := range []string{"loop", "worker"} {
		for _, c := range []struct{ name, want string }{
			{"target.test", "none of the 2 addresses of target.test accepts a connection: dial tcp 127.0.0.1:" + h.port + ": connect: connection refused"},
			{"other.test", "no such host"},
		} {
			l := httpLoop(t, net.JoinHostPort(c.name, h.port))
			o := engine.Defaults()
			o.Engine, o.Requests, o.Connections = mode, 1, 1
			src, err := o.Source()
			if err != nil {
				t.Fatal(err)
			}
			_, err = engine.Run(t.Context(), engine.Plan{Options: o, Kind: "http", Source: src, Driver: &takt.Driver{Loop: l}, World: resolver(false, "127.0.0.1", "127.0.0.2")})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v", mode, c.name, err)
			}
		}
	}
}

// Addresses without a connection are not in the list, and a warning says so.
func TestAddressesWithoutConnections(t *testing.T) {
	for _, mode := range []string{"loop", "worker"} {
		h := serveAt(t, nil, "127.0.0.1", "127.0.0.2")
		r := loadPlan(t, mode, engine.Plan{Driver: &takt.Driver{Loop: loopTo(t, h, false)}, World: resolver(false, "127.0.0.1", "127.0.0.2")}, func(o *engine.Options) {
			o.Requests, o.Connections = 1, 1
		})
		if list := fmt.Sprint(r.Extra["addresses"]); r.Counts.OK != 1 || list != "[127.0.0.1:"+h.port+"]" {
			t.Errorf("%s: %+v, %s", mode, r.Counts, list)
		}
		if i := slices.IndexFunc(r.Warnings, func(w takt.Warning) bool { return w.Code == "addresses" }); i < 0 || !strings.Contains(r.Warnings[i].Message, "1 of the 2 addresses of target.test had no load") {
			t.Errorf("%s: %+v", mode, r.Warnings)
		}
	}
}

// A name with one address is as that address: nothing is tried, and the report has no list.
func TestOneAddress(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		h := serveAt(t, nil, "127.0.0.1")
		r := loadPlan(t, mode, engine.Plan{Driver: &takt.Driver{Loop: loopTo(t, h, false)}, World: resolver(false, "127.0.0.1", "127.0.0.1")}, func(o *engine.Options) {
			o.Requests, o.Connections = 5, 1
		})
		if r.Counts.OK != 5 || r.Extra["addresses"] != nil {
			t.Errorf("%+v, %v", r.Counts, r.Extra)
		}
	})
}

// A name with three addresses gets its operations on all of them, also if there is rarely more than one in flight:
// a warm connection is no reason to leave the others idle. The same for three --connect-to.
func TestAddressesShareAnIdleRun(t *testing.T) {
	addrs := []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}
	eachMode(t, func(t *testing.T, mode string) {
		for _, given := range []bool{false, true} {
			h := serveOn(t, nil, true, addrs...)
			l := loopTo(t, h, false)
			if given {
				l.Addr, l.Others = net.JoinHostPort(addrs[0], h.port), []string{net.JoinHostPort(addrs[1], h.port), net.JoinHostPort(addrs[2], h.port)}
			}
			r := loadPlan(t, mode, engine.Plan{Driver: &takt.Driver{Loop: l}, World: resolver(false, addrs...)}, func(o *engine.Options) {
				o.Rate, o.Requests, o.Connections = engine.MustRate("500"), 150, 30
			})
			got := h.took()
			for _, addr := range addrs {
				if n := got[addr]; r.Counts.OK != 150 || n < 25 {
					t.Errorf("three names %v: %+v, %v", given, r.Counts, got)
					break
				}
			}
			if warned(r, "addresses") != "" || len(r.Extra["addresses"].([]any)) != 3 {
				t.Errorf("three names %v: %v, %v", given, r.Warnings, r.Extra["addresses"])
			}
		}
	})
}
