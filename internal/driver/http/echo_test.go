package http_test

import (
	"cmp"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// seen is one request as a server saw it.
type seen struct {
	Method, URI, Host, Body, Proto, Remote string
	Header                                 nethttp.Header
}

// echo is a server that remembers what it was asked.
type echo struct {
	*httptest.Server
	mu  sync.Mutex
	got []seen
}

// newEcho is an echo that is not yet started. answer may be nil: then it says hello.
func newEcho(t *testing.T, answer nethttp.HandlerFunc) *echo {
	e := &echo{}
	e.Server = httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		e.got = append(e.got, seen{r.Method, r.RequestURI, r.Host, string(body), r.Proto, r.RemoteAddr, r.Header})
		e.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(e.Close)
	return e
}

func startEcho(t *testing.T, answer nethttp.HandlerFunc) *echo {
	e := newEcho(t, answer)
	e.Start()
	return e
}

// requests are what was asked since the last call.
func (e *echo) requests() []seen {
	e.mu.Lock()
	defer e.mu.Unlock()
	got := e.got
	e.got = nil
	return got
}

// connections counts the connections that the requests came over.
func connections(got []seen) int {
	from := map[string]bool{}
	for _, s := range got {
		from[s.Remote] = true
	}
	return len(from)
}

// load runs n requests one after the other.
func load(t *testing.T, o *http.Options, n uint64, args ...string) *takt.Report {
	t.Helper()
	return loadWith(t, o, engine.Options{Requests: n, Connections: 1}, args...)
}

func loadWith(t *testing.T, o *http.Options, shape engine.Options, args ...string) *takt.Report {
	t.Helper()
	return run(t, plan(t, o, shape, args...))
}

// plan is the run of o with the Requests, Connections, Rate and Shard of shape.
func plan(t *testing.T, o *http.Options, shape engine.Options, args ...string) engine.Plan {
	t.Helper()
	e := engine.Defaults()
	e.Requests, e.Connections, e.Rate, e.Shard, e.Engine = shape.Requests, shape.Connections, shape.Rate, cmp.Or(shape.Shard, e.Shard), cmp.Or(shape.Engine, e.Engine)
	o.Shape(&e)
	if faults := o.Validate(args); len(faults) > 0 {
		t.Fatal(faults)
	}
	src, err := e.Source()
	if err == nil {
		src, err = o.Source(t.Context(), src)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := o.Open(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Plan{Options: e, Kind: "http", Source: src, Driver: d}
}

func run(t *testing.T, p engine.Plan) *takt.Report {
	t.Helper()
	r, err := engine.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// both runs a test with either client.
func both(t *testing.T, test func(t *testing.T, client string)) {
	for _, client := range []string{"own", "net"} {
		t.Run(client, func(t *testing.T) { test(t, client) })
	}
}

func options(client string) *http.Options {
	o := http.New()
	o.Client = client
	return o
}

// clean wants all n operations to have gone well.
func clean(t *testing.T, r *takt.Report, n uint64) {
	t.Helper()
	if r.Counts.OK != n || r.Counts.Scheduled != n {
		t.Errorf("%+v, want %d ok; %+v", r.Counts, n, r.Errors)
	}
}

// onSocket makes e listen on a unix socket.
func (e *echo) onSocket(t *testing.T, path string) {
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = e.Listener.Close() // the one that httptest made
	e.Listener = l
	e.Start()
}
