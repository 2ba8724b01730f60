package http

import (
	"net"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// slow is a connection whose reads last as long as the test says, and whose path has a round trip of 10 ms.
type slow struct {
	net.Conn
	read time.Duration
}

func (s *slow) Read([]byte) (int, error)    { time.Sleep(s.read); return 1, nil }
func (s *slow) Write(b []byte) (int, error) { return len(b), nil }
func (s *slow) RTT() time.Duration          { return 10 * time.Millisecond }

// Whose time is it until a request of net/http is written? Waits for names, for the round trip of TCP, and for
// answers of proxies and targets are of others. The rest is takt's: client_dial before there is a connection,
// client after that.
func TestNetDial(t *testing.T) {
	const ms = time.Millisecond
	type call struct {
		*trace
		turns *engine.Turns
		conn  *countedConn
		slow  *slow
	}
	begin := func(c *call) {
		c.turns, c.slow = engine.NewTurns(time.Now), new(slow)
		c.conn = &countedConn{Conn: c.turns, turns: c.turns}
	}
	connect := func(c *call, took time.Duration) {
		c.turns.Waits()
		time.Sleep(took)
		c.turns.Connected(c.slow)
	}
	exchange := func(c *call, took time.Duration) { // such as a handshake, CONNECT or SETTINGS
		_, _ = c.conn.Write([]byte{1})
		c.slow.read = took
		_, _ = c.conn.Read(make([]byte, 1))
	}
	got := func(c *call) { c.gotConn(httptrace.GotConnInfo{Conn: c.conn}) }
	for name, want := range map[string]struct {
		do           func(c *call)
		dial, client time.Duration
	}{
		"a name, and a late start of the goroutine": {func(c *call) {
			begin(c)
			c.dialled.Store(c.turns)
			time.Sleep(7 * ms)
			c.turns.Waits()
			time.Sleep(50 * ms) // for the name
			connect(c, 30*ms)   // 10 ms by the kernel
			got(c)
		}, 27 * ms, 0},
		"a proxy, a handshake and SETTINGS": {func(c *call) {
			begin(c)
			c.dialled.Store(c.turns)
			connect(c, 10*ms)
			for range 3 {
				exchange(c, 100*ms)
				time.Sleep(5 * ms) // takt computes
			}
			got(c)
			time.Sleep(3 * ms)
		}, 15 * ms, 3 * ms},
		"a connection that was there": {func(c *call) {
			begin(c)
			connect(c, 10*ms)
			time.Sleep(20 * ms)
			c.turns.Made()
			time.Sleep(100 * ms)
			c.start, c.since = time.Now(), time.Now()
			time.Sleep(2 * ms)
			got(c)
			time.Sleep(ms)
		}, 0, 3 * ms},
		"a connection that was made for another request since 30 ms": {func(c *call) {
			begin(c)
			connect(c, 10*ms)
			time.Sleep(20 * ms)
			c.start, c.since = time.Now(), time.Now()
			exchange(c, 20*ms)
			time.Sleep(10 * ms)
			got(c)
		}, 15 * ms, 0}, // half of 30 ms, as of the 60 ms of the connection
		"another one was free before its own was made": {func(c *call) {
			begin(c)
			connect(c, 10*ms)
			c.turns.Made()
			time.Sleep(time.Second)
			c.start, c.since = time.Now(), time.Now()
			own := engine.NewTurns(time.Now)
			own.Waits()
			c.dialled.Store(own)
			time.Sleep(40 * ms)
			got(c)
			time.Sleep(ms)
		}, 0, ms},
		"nobody made it: the target": {func(c *call) {
			begin(c)
			c.dialled.Store(c.turns)
			connect(c, 10*ms)
			_, _ = c.conn.Write([]byte{1})
			time.Sleep(time.Second)
		}, 0, 0},
		"nobody made it: takt computes": {func(c *call) {
			begin(c)
			c.dialled.Store(c.turns)
			connect(c, 10*ms)
			exchange(c, 100*ms)
			time.Sleep(time.Second)
		}, time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r takt.Result
				c := &call{trace: &trace{start: time.Now(), since: time.Now(), r: &r}}
				want.do(c)
				answered := c.trace.conn.Load() != nil
				if answered {
					_, _ = c.conn.Write([]byte{1}) // the request
				}
				c.hop()
				c.finish(answered)
				if dial, client := r.Phases[5], r.Phases[4]; dial != want.dial || client != want.client {
					t.Errorf("%s %v, %s %v; want %v and %v", engine.NetPhases[5], dial, engine.NetPhases[4], client, want.dial, want.client)
				}
			})
		})
	}
}

// At the cut a request of net/http says takt's part of the connection that is being made for it.
func TestNetDialAtTheCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := new(netWorker)
		if r := w.SoFar(); r.Phases[netDial] != 0 {
			t.Errorf("before the first request: %v", r.Phases[netDial])
		}
		seen, turns := new(trace), engine.NewTurns(time.Now)
		w.now.Store(seen)
		if r := w.SoFar(); r.Phases[netDial] != 0 {
			t.Errorf("over a connection that was there: %v", r.Phases[netDial])
		}
		seen.dialled.Store(turns)
		time.Sleep(7 * time.Millisecond) // takt has not begun
		turns.Waits()
		time.Sleep(time.Second)
		if r := w.SoFar(); r.Phases[netDial] != 7*time.Millisecond {
			t.Errorf("connecting: %v, want 7ms", r.Phases[netDial])
		}
	})
}
