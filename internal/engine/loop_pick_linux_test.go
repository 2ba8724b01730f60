package engine

import (
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

// mailLoop is one of so many loops, with room for two connections. Its clock is at 15 ms.
func mailLoop(t *testing.T, loops int, o Options) (*loop, *mail) {
	t.Helper()
	sys := &mail{quiet: quiet{at: 15 * ms}}
	sys.errno = sock.Again
	rec := record.New(record.Config{Window: time.Second, Phases: []string{"a", "b", "c", "first_byte"}})
	codec := func(int) takt.Codec { return until{end: ".", then: takt.Done} }
	src, err := tenths().Source()
	if err != nil {
		t.Fatal(err)
	}
	m := newLoops(newFlow(Plan{Source: src}, rec), &still{}, &takt.Loop{Codec: codec, ConnectTimeout: 5 * ms, Timeout: 10 * ms}, o)
	m.addrs = make([]netip.AddrPort, 1)
	m.begin()
	for i := range loops {
		l := newLoop(m, i, 2, sys)
		l.stamps, l.wall = true, sock.NewWall(sys, time.Time{})
		l.closed = false
		l.caution.looks.Store(1 << 30)
		m.all = append(m.all, l)
	}
	return m.all[0], sys
}

// fill makes all connections of l busy.
func (l *loop) fill() {
	for len(l.conns) < l.max {
		l.grow().conn.fd = 3
	}
}

// The next operation is left to a loop that has a connection, unless it is to be dropped.
func TestLoopPasses(t *testing.T) {
	for name, c := range map[string]struct {
		loops  int
		full   int // loops without a connection
		drop   bool
		closed bool
		now    time.Duration
		want   bool
		dropAt time.Duration
	}{
		"a loop alone":               {1, 1, false, false, 0, false, forever},
		"it has room":                {2, 0, false, false, 0, false, forever},
		"it is full":                 {2, 1, false, false, 0, true, forever},
		"all are full":               {2, 2, false, false, 0, true, forever},
		"it is full, drop":           {2, 1, true, false, 0, true, forever},
		"all are full, drop":         {2, 2, true, false, 0, false, 0},
		"all are full, closed":       {2, 2, true, true, 0, true, forever},
		"all are full, drop earlier": {2, 2, true, false, -1, true, 0},
	} {
		o := Options{}
		if c.drop {
			o.Overflow = overflowDrop
		}
		l, _ := mailLoop(t, c.loops, o)
		for _, other := range l.m.all[:c.full] {
			if other.fill(); other != l {
				other.countRoom()
			}
		}
		l.closed, l.dropAt = c.closed, forever
		if got := l.passes(c.now); got != c.want || l.dropAt != c.dropAt || c.loops > 1 && int(l.m.crowded.Load()) != c.full {
			t.Errorf("%s: it passes %v, drops at %v, %d are full", name, got, l.dropAt, l.m.crowded.Load())
		}
	}
	l, _ := mailLoop(t, 2, Options{})
	l.fill()
	if l.take(0); l.claimed || !l.passed || l.m.claims != 0 {
		t.Errorf("a full loop claims: %v, passed %v", l.claimed, l.passed)
	}
	l.release(l.places[0])
	if l.take(0); !l.claimed || l.passed || l.m.claims != 1 || l.m.crowded.Load() != 0 || !l.freed {
		t.Errorf("a loop with a connection claims: %v, passed %v, %d full", l.claimed, l.passed, l.m.crowded.Load())
	}
}

// An operation gets the connection that was free last, or a new one unless too many are dialled.
func TestLoopPicks(t *testing.T) {
	l, _ := mailLoop(t, 1, Options{})
	l.claim.Seq = 1
	if c, now := l.pick(15 * ms); c == nil || c.conn.fd != -1 || c.conn.token != 0 || now != 15*ms || len(l.conns) != 1 {
		t.Errorf("the first connection: %+v", c)
	}
	second := l.grow()
	l.conns[0].fd, second.conn.fd, l.places[0].idle, second.idle = 3, 4, 14*ms, 13*ms
	l.release(second)
	l.release(l.places[0])
	if c, _ := l.pick(15 * ms); c != l.places[0] || l.idle.len() != 1 {
		t.Errorf("the connection that was free last: %+v", c)
	}
	second.conn.fd = -1 // closed while it was idle
	if c, _ := l.pick(15 * ms); c != second || l.idle.len() != 0 || l.spare.len() != 0 {
		t.Errorf("a spare connection: %+v, %d idle, %d spare", c, l.idle.len(), l.spare.len())
	}
	if c, _ := l.pick(15 * ms); c != nil || l.room() || !func() bool { l.m.opt.Overflow = overflowDrop; return l.drops() }() {
		t.Errorf("all are in use: %+v", c)
	}
	if l.claim.Due = takt.Asap; l.drops() {
		t.Error("a closed loop drops")
	}
	l.release(second)
	l.dialing.n = mostDialing
	if c, _ := l.pick(15 * ms); c != nil {
		t.Errorf("%d are dialled: %+v", mostDialing, c)
	}
	l.dialing.n--
	if c, _ := l.pick(15 * ms); c != second {
		t.Errorf("one less is dialled: %+v", c)
	}
	l.release(second)
	l.closed, l.dialing.n = true, mostDialingClosed
	if c, _ := l.pick(15 * ms); c != nil {
		t.Errorf("%d of a closed loop are dialled: %+v", mostDialingClosed, c)
	}
	l.dialing.n--
	l.idle = places{list: []*place{l.places[0]}}
	if c, _ := l.pick(15 * ms); c != second {
		t.Errorf("a closed loop uses all its connections: %+v", c)
	}
}

// Before it connects again a loop looks for an answer, which may free a connection.
func TestLoopPicksWhatIsAnswered(t *testing.T) {
	for answered, looked := range map[bool]bool{false: true, true: false} {
		l, sys := mailLoop(t, 1, Options{Loops: 1})
		l.claim.Seq = 1
		busy, closed := l.grow(), l.grow()
		busy.conn.fd, busy.state, busy.sent, busy.wrote = 3, pbusy, 9*ms, 9*ms
		l.flight.add(busy)
		l.m.enter()
		l.release(closed)
		want := closed
		if answered {
			sys.in, sys.stamp, sys.errno, want = "a.", 15*ms, 0, busy
		}
		if c, _ := l.pick(15 * ms); c != want || l.looked != looked {
			t.Errorf("answered %v: connection %d, looked %v", answered, c.conn.token, l.looked)
		}
	}
}

// The probe's connection is the first one's, is measured like others, and is looked at.
func TestLoopAdopts(t *testing.T) {
	l, in := mailLoop(t, 1, Options{Loops: 1})
	sys := &post{mail: *in, rtt: 50}
	l.sys = sys
	c := l.grow().conn
	if l.adopt(c) || c.fd != -1 {
		t.Errorf("without a probe: %+v", c)
	}
	l.m.first.Store(7)
	if !l.adopt(c) || c.fd != 7 || l.m.first.Load() >= 0 || l.paths != 1 || l.m.observed.rtt.Load() != 50 || !slices.Equal(sys.added, []int{7}) || !l.stamps {
		t.Errorf("%+v, %d paths, added %v, stamps %v", c, l.paths, sys.added, l.stamps)
	}
	l.m.first.Store(8)
	sys.errno, sys.in = 0, "hello"
	if second := l.grow().conn; l.adopt(second) || second.fd != -1 || !slices.Equal(sys.fds, []int{8}) || l.m.observed.n != 1 {
		t.Errorf("a probe with bytes: %+v, closed %v", second, sys.fds)
	}
}

// A connection that pauses after a failure is free when its pause is over.
func TestLoopResumes(t *testing.T) {
	l, _ := mailLoop(t, 1, Options{})
	a, b := &place{conn: &lconn{fd: -1}, pauses: 16 * ms}, &place{conn: &lconn{fd: 3}, pauses: 17 * ms}
	l.pausing = []*place{a, b}
	if l.resume(16*ms - 1); len(l.pausing) != 2 || l.freed {
		t.Errorf("%d pause", len(l.pausing))
	}
	if l.resume(16 * ms); !slices.Equal(l.pausing, []*place{b}) || !slices.Equal(l.spare.list, []*place{a}) || a.idle != 16*ms {
		t.Errorf("%d pause, %d are spare, free from %v", len(l.pausing), l.spare.len(), a.idle)
	}
	if l.resume(18 * ms); len(l.pausing) != 0 || !slices.Equal(l.idle.list, []*place{b}) || b.idle != 18*ms {
		t.Errorf("%d pause, %d are idle, free from %v", len(l.pausing), l.idle.len(), b.idle)
	}
}

// An operation fails at its timeout, unless its answer is here.
func TestLoopExpires(t *testing.T) {
	for name, c := range map[string]struct {
		sent     time.Duration
		dialling bool
		in       string
		want     takt.Counts
	}{
		"a dial at its timeout":       {10 * ms, true, "", takt.Counts{Scheduled: 1, Sent: 1, Failed: 1}},
		"a dial before its timeout":   {10*ms + 1, true, "", takt.Counts{Scheduled: 1}},
		"at its timeout":              {5 * ms, false, "", takt.Counts{Scheduled: 1, Sent: 1, Failed: 1}},
		"before its timeout":          {5*ms + 1, false, "a.", takt.Counts{Scheduled: 1}},
		"at its timeout, and ended":   {5 * ms, false, "a.", takt.Counts{Scheduled: 1, Sent: 1, OK: 1}},
		"at its timeout, a part came": {5 * ms, false, "a", takt.Counts{Scheduled: 1, Sent: 1, Failed: 1}},
	} {
		l, sys := mailLoop(t, 1, Options{Loops: 1})
		if c.in != "" {
			sys.in, sys.stamp, sys.errno = c.in, 14*ms, 0
		}
		conn := l.grow()
		conn.conn.fd, conn.sent, conn.wrote, conn.op.Due = 3, c.sent, c.sent, c.sent
		if conn.state = pbusy; c.dialling {
			conn.state, conn.conn.dialling = pdialing, true
			l.dialing.add(conn)
		} else {
			l.flight.add(conn)
		}
		l.m.enter()
		l.expire(15 * ms)
		if got := l.m.rec.Report(record.End{Scheduled: 1, Stop: time.Second}).Counts; got != c.want || (l.m.busy == 0) != (c.want.Sent == 1) || (conn.state == pidle) != (c.want.Sent == 1) {
			t.Errorf("%s: %+v, want %+v; %d in flight", name, got, c.want, l.m.busy)
		}
	}
}

// post is mail that can be sent.
type post struct {
	mail
	room    int
	refused syscall.Errno
	watched []bool
	added   []int
	removed []int
	rtt     time.Duration
}

func (s *post) Stamp(int) error                           { return nil }
func (s *post) Peek(_ int, b []byte) (int, syscall.Errno) { return copy(b, s.in), s.errno }
func (s *post) Add(fd int, _ int32, _ bool) error         { s.added = append(s.added, fd); return nil }

func (s *post) RTT(int) time.Duration { return s.rtt }
func (s *post) Remove(fd int)         { s.removed = append(s.removed, fd) }
func (s *post) Send(_ int, b []byte) (n int, errno syscall.Errno) {
	if s.refused != 0 {
		return 0, s.refused
	}
	return min(len(b), s.room), 0
}
func (s *post) Watch(_ int, _ int32, write bool) error {
	s.watched = append(s.watched, write)
	return nil
}

// A request for which the socket has no room is sent later, and one that the socket refuses has failed.
func TestLoopSends(t *testing.T) {
	for name, c := range map[string]struct {
		room    int
		refused syscall.Errno
		rest    string
		failed  bool
	}{
		"whole":   {3, 0, "", false},
		"a part":  {1, 0, "bc", false},
		"no room": {0, sock.Again, "abc", false},
		"refused": {0, syscall.EPIPE, "", true},
	} {
		l, in := mailLoop(t, 1, Options{Loops: 1})
		sys := &post{mail: *in, room: c.room, refused: c.refused}
		l.sys = sys
		conn := l.grow()
		conn.conn.fd = 3
		l.m.enter()
		l.send(conn)
		partial := 0
		if c.rest != "" {
			partial = 1
		}
		if string(conn.conn.unsent) != c.rest || l.partial != partial || len(sys.watched) != partial || partial == 1 && !sys.watched[0] {
			t.Errorf("%s: %q is left, %d wait, watched %v", name, conn.conn.unsent, l.partial, sys.watched)
		}
		rep := l.m.rec.Report(record.End{Scheduled: 1, Stop: time.Second})
		if failed := rep.Counts.Failed == 1; failed != c.failed || (conn.conn.fd < 0) != failed || (l.flight.n == 0) != failed || l.caution.alarmed.Load() != failed {
			t.Errorf("%s: %+v, socket %d, %d in flight", name, rep.Counts, conn.conn.fd, l.flight.n)
		}
	}
}

// An answer that came before the socket refused the rest of its request counts, and the connection
// is not used again.
func TestLoopSendsAnswered(t *testing.T) {
	l, in := mailLoop(t, 1, Options{Loops: 1})
	sys := &post{mail: *in, refused: syscall.EPIPE}
	sys.in, sys.stamp, sys.errno, l.sys = "a.", 15*ms, 0, sys
	conn := l.grow()
	conn.conn.fd = 3
	l.m.enter()
	l.send(conn)
	if rep := l.m.rec.Report(record.End{Scheduled: 1, Stop: time.Second}); rep.Counts.OK != 1 || conn.conn.fd != -1 || l.flight.n != 0 {
		t.Errorf("%+v, socket %d, %d in flight", rep.Counts, conn.conn.fd, l.flight.n)
	}
}

// A loop sends what is due, and notes when it woke for that.
func TestLoopSendsDue(t *testing.T) {
	l, in := mailLoop(t, 1, Options{Loops: 1})
	sys := &post{mail: *in, room: 3}
	l.sys = sys
	conn := l.grow()
	conn.conn.fd, conn.idle, l.claim.Seq = 3, 14*ms+ms/2, 1
	l.release(conn)
	l.m.src.Next(&l.m.next) // number 1, at 100 ms
	if now := l.sendDue(99 * ms); now != 99*ms || l.pace.woke != 0 || !l.claimed || l.claim.Due != 100*ms || l.flight.n != 0 || l.full {
		t.Errorf("nothing is due: %v, woke at %v, %d in flight, full %v", now, l.pace.woke, l.flight.n, l.full)
	}
	sys.at = 150 * ms
	conn.idle = 150 * ms
	if now := l.sendDue(150 * ms); now != 150*ms || l.pace.woke != 150*ms || l.flight.n != 1 || conn.op.Seq != 1 || conn.sent != 150*ms || l.claim.Due != 200*ms || l.full {
		t.Errorf("one is due: %v, woke at %v, %d in flight, %+v", now, l.pace.woke, l.flight.n, conn.op)
	}
	l.max, sys.at = 1, 250*ms
	if l.sendDue(250 * ms); !l.full || l.freed || l.blocked != 250*ms || !l.claimed || l.claim.Due != 200*ms {
		t.Errorf("no connection is free: full %v, blocked %v, %+v", l.full, l.blocked, l.claim)
	}
}

// The round trip is measured on the first connections of a loop.
func TestLoopMeasuresPaths(t *testing.T) {
	l, in := mailLoop(t, 1, Options{Loops: 1})
	sys := &post{mail: *in}
	l.sys = sys
	for i := range pathsMeasured + 5 {
		sys.rtt = time.Duration(100 - i)
		l.measurePath(&lconn{fd: 3})
	}
	if got := l.m.observed.rtt.Load(); got != 100-pathsMeasured+1 {
		t.Errorf("the shortest round trip is %d ns, want that of connection %d", got, pathsMeasured)
	}
}

// At the cut what is in flight, or dialled, is unfinished, and all sockets are closed.
func TestLoopCut(t *testing.T) {
	l, sys := mailLoop(t, 1, Options{Loops: 1})
	busy, idle := l.grow(), l.grow()
	busy.conn.fd, busy.state, busy.op.Due, busy.sent, idle.conn.fd = 3, pbusy, 20*ms, 30*ms, 4
	l.m.enter()
	l.take(0)
	if l.cut(25 * ms); !slices.Equal(sys.fds, []int{3, 4}) || l.m.busy != 0 || l.m.claims != 0 || l.freeFrom != forever {
		t.Errorf("closed %v, %d in flight, %d claims, room %v", sys.fds, l.m.busy, l.m.claims, l.freeFrom)
	}
	rep := l.m.rec.Report(record.End{Scheduled: 2, Stop: time.Second})
	if want := (takt.Counts{Scheduled: 2, Sent: 1, Unfinished: 2}); rep.Counts != want || rep.Latency["service"].Max > 0.002 || rep.Latency["response"].Max < 24.9e3 {
		t.Errorf("%+v, want %+v; %+v", rep.Counts, want, rep.Latency["response"])
	}
}

// A loop that could open another connection says so at the cut.
func TestLoopCutWithRoom(t *testing.T) {
	l, _ := mailLoop(t, 1, Options{Loops: 1})
	l.grow()
	l.take(0)
	if l.cut(25 * ms); l.freeFrom != 0 || l.m.claims != 0 {
		t.Errorf("free from %v, %d claims", l.freeFrom, l.m.claims)
	}
}

// A connection that became free just before the cut was free from then on.
func TestRoomSince(t *testing.T) {
	early, late := &place{idle: 10 * ms}, &place{idle: 5 * ms}
	for name, c := range map[string]struct {
		l    *loop
		want time.Duration
	}{
		"none":                {&loop{max: 2, links: links{places: []*place{early, late}}}, forever},
		"another can be made": {&loop{max: 3, links: links{places: []*place{early, late}}}, 0},
		"one idle":            {&loop{max: 2, links: links{places: []*place{early, late}, idle: places{list: []*place{early}}}}, 10 * ms},
		"one to dial, too":    {&loop{max: 2, links: links{places: []*place{early, late}, idle: places{list: []*place{early}}, spare: places{list: []*place{late}}}}, 5 * ms},
	} {
		if got := c.l.roomSince(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A closed loop leaves its poller if it has not waited there for a while, and nothing needs it.
func TestLoopUnwatches(t *testing.T) {
	for name, c := range map[string]struct {
		change func(l *loop)
		want   bool
	}{
		"it has not waited":   {func(*loop) {}, true},
		"it has just waited":  {func(l *loop) { l.waited = 1 }, false},
		"an open loop":        {func(l *loop) { l.closed = false }, false},
		"a dial":              {func(l *loop) { l.dialing.n = 1 }, false},
		"a part of a request": {func(l *loop) { l.partial = 1 }, false},
		"most connections":    {func(l *loop) { l.conns = slices.Repeat([]*lconn{{fd: -1}}, blindMost) }, true},
		"one more":            {func(l *loop) { l.conns = slices.Repeat([]*lconn{{fd: -1}}, blindMost+1) }, false},
	} {
		l, in := mailLoop(t, 1, Options{Loops: 1})
		sys := &post{mail: *in}
		l.sys, l.closed = sys, true
		l.grow().conn.fd = 3
		l.grow()
		c.change(l)
		if l.unwatch(unwatchAfter); l.unwatched != c.want || c.want && l.conns[0].fd == 3 && !slices.Equal(sys.removed, []int{3}) {
			t.Errorf("%s: unwatched %v, removed %v", name, l.unwatched, sys.removed)
		}
		if lost := l.watch(); lost || l.unwatched || len(sys.added) != len(sys.removed) || c.want && l.waited != sys.at {
			t.Errorf("%s: watched again: lost %v, added %v, waited at %v", name, lost, sys.added, l.waited)
		}
	}
}

// A loop that is short of connections waits a little for answers, and longer for a closed loop's
// target that has more than half of the connections.
func TestLoopGathers(t *testing.T) {
	for name, c := range map[string]struct {
		closed   bool
		inFlight int // of 100 connections
		want     time.Duration
	}{
		"an open loop": {false, 60, gatherTime}, "a closed loop": {true, 51, gatherTimeSlow}, "a fast target": {true, 50, gatherTime}, "nothing in flight": {true, 0, 0},
	} {
		l, _ := mailLoop(t, 1, Options{Loops: 1})
		sys := &ticking{}
		sys.errno = sock.Again
		l.sys, l.wall = sys, sock.NewWall(sys, time.Time{})
		l.closed, l.full, l.max = c.closed, true, 100
		for range c.inFlight {
			l.flight.add(&place{conn: &lconn{fd: 3}, state: pbusy})
		}
		begun := sys.at
		if l.gather(begun, begun) {
			t.Errorf("%s: answers came", name)
		}
		if took := sys.at - begun; took < c.want || took > c.want+5*time.Microsecond {
			t.Errorf("%s: it waits %v, want %v", name, took, c.want)
		}
		if len(sys.waited) > 0 && slices.Max(sys.waited) > 0 {
			t.Errorf("%s: it rests in the poller: %v", name, sys.waited)
		}
	}
	l, sys := mailLoop(t, 1, Options{Loops: 1})
	sys.in, sys.stamp, sys.errno, l.full = "a.", 14*ms, 0, true
	conn := l.grow()
	conn.conn.fd, conn.state = 3, pbusy
	l.flight.add(conn)
	if l.m.enter(); !l.gather(15*ms, 15*ms) || conn.state != pidle {
		t.Errorf("one answer is nothing to do: %+v", conn)
	}
}

// A connection that the poller refuses is closed, and its operation has failed.
func TestLoopWatchLoses(t *testing.T) {
	l, in := mailLoop(t, 1, Options{Loops: 1})
	l.sys = &refusing{post{mail: *in}}
	busy, idle := l.grow(), l.grow()
	busy.conn.fd, busy.state, idle.conn.fd, l.unwatched = 3, pbusy, 4, true
	l.flight.add(busy)
	l.m.enter()
	if !l.watch() || busy.conn.fd != -1 || idle.conn.fd != -1 || l.unwatched || l.flight.n != 0 {
		t.Errorf("%+v, %+v, %d in flight", busy, idle, l.flight.n)
	}
	if got := l.m.rec.Report(record.End{Scheduled: 1, Stop: time.Second}).Counts.Failed; got != 1 {
		t.Errorf("%d failed", got)
	}
}

// refusing is post whose poller accepts no socket.
type refusing struct{ post }

func (*refusing) Add(int, int32, bool) error { return syscall.EBADF }
