package drivertest

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/taktload/takt/internal/process"
)

// marks counts the calls of marked.
var marks atomic.Int64

// marked calls f, and returns a function for the stacks of the goroutines that f started and that
// still run; "": none. Goroutines inherit the labels of the one that starts them, so what other tests
// and servers of this process start is not among them.
func marked(f func(context.Context)) (left func() string) {
	const key = "takt/drivertest"
	mark := strconv.FormatInt(marks.Add(1), 10)
	pprof.Do(context.Background(), pprof.Labels(key, mark), f)
	return func() string {
		var all, mine strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&all, 1) // a Builder does not fail
		for group := range strings.SplitSeq(all.String(), "\n\n") {
			if strings.Contains(group, fmt.Sprintf("%q:%q", key, mark)) {
				mine.WriteString(group + "\n\n")
			}
		}
		return mine.String()
	}
}

// leak finds goroutines that a run left behind.
func leak(t failer, left func() string) {
	t.Helper()
	if until(func() bool { return left() == "" }) {
		return
	}
	t.Doubtf("goroutines that the driver started run after it was closed; end what the driver started in Worker.Close, AsyncClient.Close or Driver.Close. They are (number of goroutines @ where):\n%s", left())
}

// connections are what this process opened, by their numbers.
type connections map[string]netip.AddrPort

func openConnections() connections { return process.Connections() }

// since are the connections that were opened after earlier.
func (c connections) since(earlier connections) connections {
	later := maps.Clone(c)
	maps.DeleteFunc(later, func(number string, _ netip.AddrPort) bool { _, there := earlier[number]; return there })
	return later
}

// places are where connections lead.
func (c connections) places() map[netip.AddrPort]int {
	n := map[netip.AddrPort]int{}
	for _, to := range c {
		n[to]++
	}
	return n
}

// routes are where the connections of a driver lead: those that it opens with its first worker and its
// first operation. Only these count: other tests of this process may have connections, too. The relay
// dials its server at the same time, so where the relay's connections lead is not a route.
type routes struct {
	before         connections // at the start of the check
	opening, first moment
	ofRelay        func(to netip.AddrPort) bool // whether a connection there is the relay's own

	mu sync.Mutex
	to map[netip.AddrPort]int
}

// moment is a time in which a driver opens connections.
type moment struct {
	begin, end sync.Once
	earlier    connections
}

func newRoutes() *routes {
	return &routes{before: openConnections(), ofRelay: func(netip.AddrPort) bool { return false }, to: map[netip.AddrPort]int{}}
}

func (r *routes) enter(m *moment) {
	m.begin.Do(func() { m.earlier = openConnections() })
}

func (r *routes) leave(m *moment) {
	m.end.Do(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		maps.Copy(r.to, openConnections().since(m.earlier).places())
	})
}

// left are the connections of the driver that are open, by where they lead.
func (r *routes) left() map[netip.AddrPort]int {
	n := openConnections().since(r.before).places()
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(n, func(to netip.AddrPort, _ int) bool { return r.to[to] == 0 || r.ofRelay(to) })
	return n
}

// sockets finds connections that a run left open.
func (w *watched) sockets(t failer) {
	t.Helper()
	var left map[netip.AddrPort]int
	until(func() bool { left = w.routes.left(); return len(left) == 0 })
	runtime.KeepAlive(w.kept)
	for to, n := range left {
		t.Doubtf("%d connections to %v are open %v after the run; close them in the function done that load.Workers got, in Worker.Close, AsyncClient.Close or Driver.Close", n, to, leakTime)
	}
}

// within calls f, which must return in time.
func within(t failer, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	if pass(patience, done) {
		t.Doubtf("%s did not return within %v; set a deadline for what it waits for", what, patience)
	}
}
