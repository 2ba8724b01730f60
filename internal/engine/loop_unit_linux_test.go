package engine

import (
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/record"
	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

// quiet is a system in which nothing comes, and whose time passes only in rests.
type quiet struct {
	sock.System
	at            time.Duration
	waited, slept []time.Duration
	woken         int
}

func (s *quiet) Since(time.Time) time.Duration { return s.at }
func (s *quiet) Wake()                         { s.woken++ }
func (s *quiet) Sleep(d time.Duration) {
	s.at += d
	s.slept = append(s.slept, d)
}
func (s *quiet) Wait(d time.Duration, _ []sock.Event) int {
	s.at += d
	s.waited = append(s.waited, d)
	return 0
}

// quietLoop is a loop that has nothing to do.
func quietLoop(t *testing.T) (*loop, *quiet) {
	sys := &quiet{}
	m := newLoops(flowOf(t, tenths(), 0), &still{}, &takt.Loop{Timeout: 30 * ms, ConnectTimeout: 20 * ms}, Options{Loops: 1, MaxInFlight: 1})
	l := newLoop(m, 0, 4, sys)
	l.dropAt = forever
	return l, sys
}

// A loop rests until the first instant at which there is something to do: in the poller for 1 ms and
// more, asleep for less.
func TestLoopRests(t *testing.T) {
	inFlight := func(f *flight, sent time.Duration) { f.add(&place{sent: sent}) }
	for name, c := range map[string]struct {
		change        func(l *loop)
		waited, slept time.Duration // 0: it does not
	}{
		"nothing":                     {func(*loop) {}, forever, 0},
		"an operation":                {func(l *loop) { l.claimed, l.claim.Due = true, 3*ms }, 3 * ms, 0},
		"in 1 ms":                     {func(l *loop) { l.claimed, l.claim.Due = true, ms }, ms, 0},
		"sooner":                      {func(l *loop) { l.claimed, l.claim.Due = true, ms-1 }, 0, ms - 1},
		"in the next grid":            {func(l *loop) { l.claimed, l.claim.Due, l.pace.woke, l.pace.grid = true, ms/4, ms/8, ms/2 }, 0, ms * 5 / 8},
		"an operation past the end":   {func(l *loop) { l.claimed, l.claim.Due = true, 2*time.Second }, forever, 0},
		"no connection for it":        {func(l *loop) { l.claimed, l.claim.Due, l.full = true, 3*ms, true }, forever, 0},
		"a source without operations": {func(l *loop) { l.starved = true }, starvedPause, 0},
		"a drop":                      {func(l *loop) { l.dropAt = 7 * ms }, 7 * ms, 0},
		"pauses":                      {func(l *loop) { l.pausing = []*place{{pauses: 5 * ms}, {pauses: 4 * ms}, {pauses: 6 * ms}} }, 4 * ms, 0},
		"a timeout of a dial":         {func(l *loop) { inFlight(&l.dialing, 2*ms) }, 22 * ms, 0},
		"a part of a request":         {func(l *loop) { l.partial, l.claimed, l.claim.Due = 1, true, ms/2 }, ms / 2, 0},
		"answers in parts":            {func(l *loop) { l.parts = true; inFlight(&l.flight, 0) }, partsBeat, 0},
		"no answer in parts yet":      {func(l *loop) { l.parts, l.dropAt = true, 7*ms }, 7 * ms, 0},
		"precise beside parts": {func(l *loop) {
			l.pace.name, l.claimed, l.claim.Due, l.parts = pacingPrecise, true, ms, true
			inFlight(&l.flight, 0)
		}, ms - spinWindow, 0},
		"a precise loop": {func(l *loop) { l.pace.name, l.claimed, l.claim.Due = pacingPrecise, true, ms }, ms - spinWindow, 0},
	} {
		l, sys := quietLoop(t)
		if c.change(l); l.claimed {
			l.m.claims++
		}
		if name == "an operation past the end" {
			l.m.end(time.Second)
		}
		l.rest(0)
		if waited, slept := slices.Concat(sys.waited, []time.Duration{0})[0], slices.Concat(sys.slept, []time.Duration{0})[0]; waited != c.waited || slept != c.slept || len(sys.waited)+len(sys.slept) != 1 {
			t.Errorf("%s: waits %v, sleeps %v, want %v and %v", name, sys.waited, sys.slept, c.waited, c.slept)
		}
	}
}

// A loop counts the time that it rests.
func TestLoopRested(t *testing.T) {
	l, sys := quietLoop(t)
	sys.at, l.dropAt = 50*ms, 52*ms
	l.rest(sys.at)
	l.dropAt = sys.at + ms/2
	if l.rest(sys.at); l.rested != 2*ms+ms/2 || l.waited != 52*ms {
		t.Errorf("it rested for %v, and waited until %v", l.rested, l.waited)
	}
}

// ticking is mail whose clock goes on by 1 µs with each look.
type ticking struct{ mail }

func (s *ticking) Since(time.Time) time.Duration {
	s.at += time.Microsecond
	return s.at
}

// Just before an operation a precise loop spins until it is due or an answer comes.
func TestLoopSpins(t *testing.T) {
	const due = 50 * time.Microsecond
	l, _ := quietLoop(t)
	sys := &ticking{}
	sys.errno, l.sys, l.stamps, l.wall = sock.Again, sys, true, sock.NewWall(sys, time.Time{})
	sys.at = 0
	if l.restPrecise(0, due); sys.at != due || len(sys.waited)+len(sys.slept) != 0 {
		t.Errorf("it spins until %v", sys.at)
	}
	sys.at, sys.in, sys.errno = 0, "a", 0
	c := &lconn{fd: 3, codec: until{end: "."}}
	c.own.conn, c.own.state = c, pbusy
	l.flight.add(&c.own)
	if l.restPrecise(0, due); sys.at >= due/2 {
		t.Errorf("with an answer it spins until %v", sys.at)
	}
	if l.restPrecise(0, spinWindow+ms); !slices.Equal(sys.waited, []time.Duration{ms}) {
		t.Errorf("longer before it waits %v", sys.waited)
	}
}

// A closed loop over plain HTTP/1.1 reads the kernel's stamp only of an answer that may have come
// while its thread was away. Else the answer came when the thread read it.
func TestSparingLoopReads(t *testing.T) {
	const stamp, read = 12 * ms, 15 * ms
	for name, c := range map[string]struct{ wrote, looked, want time.Duration }{
		"sent after a stop":      {14*ms + 1, 14 * ms, read},
		"stopped in the sending": {14 * ms, 14 * ms, stamp},
		"sent before a stop":     {11 * ms, 14 * ms, stamp},
		"stopped in the reading": {11 * ms, 11*ms + ms/2, stamp},
	} {
		sys := &mail{in: "a.", stamp: stamp}
		l, _ := quietLoop(t)
		l.sys, l.stamps, l.sparing, l.wall = sys, true, true, sock.NewWall(sys, time.Time{})
		for _, sys.at = range []time.Duration{10 * ms, 11 * ms, c.looked} {
			l.now()
		}
		sys.at = read
		conn := &lconn{fd: 3}
		conn.own.wrote = c.wrote
		if _, at, _ := l.read(conn); at != c.want {
			t.Errorf("%s: it came at %v, want %v", name, at, c.want)
		}
	}
}

// The next timeout is that of the oldest dial or operation.
func TestLoopExpiry(t *testing.T) {
	l, _ := quietLoop(t)
	if got := l.expiry(); got != forever {
		t.Errorf("nothing in flight: %v", got)
	}
	l.flight.add(&place{sent: 5 * ms})
	l.flight.add(&place{sent: 4 * ms})
	if got := l.expiry(); got != 34*ms {
		t.Errorf("an operation in flight: %v", got)
	}
	l.dialing.add(&place{sent: 13 * ms})
	if got := l.expiry(); got != 33*ms {
		t.Errorf("a dial: %v", got)
	}
	l.dialing.add(&place{sent: 15 * ms})
	l.dialing.remove(l.dialing.head)
	if got := l.expiry(); got != 34*ms || l.dialing.n != 1 || l.flight.n != 2 {
		t.Errorf("a later dial: %v", got)
	}
}

// A flight is in the order of sending, whatever comes and goes.
func TestFlight(t *testing.T) {
	var f flight
	c := make([]*place, 5)
	for i, sent := range []time.Duration{1, 3, 2, 3, 0} {
		c[i] = &place{sent: sent, tag: i}
		f.add(c[i])
	}
	order := func() (forth, back []int) {
		for at := f.head; at != nil; at = at.after {
			forth = append(forth, at.tag)
		}
		for at := f.tail; at != nil; at = at.before {
			back = append([]int{at.tag}, back...)
		}
		return forth, back
	}
	for _, s := range []struct {
		remove int
		want   []int
	}{{-1, []int{4, 0, 2, 1, 3}}, {2, []int{4, 0, 1, 3}}, {4, []int{0, 1, 3}}, {3, []int{0, 1}}, {0, []int{1}}, {1, nil}} {
		if s.remove >= 0 {
			f.remove(c[s.remove])
		}
		if forth, back := order(); !slices.Equal(forth, s.want) || !slices.Equal(back, s.want) || f.n != len(s.want) {
			t.Errorf("%v forth, %v back, %d in all, want %v", forth, back, f.n, s.want)
		}
	}
}

// An operation that waited has the instant from which a connection was free for it.
func TestLoopFreeSince(t *testing.T) {
	at := func(fd int, idle time.Duration) *place { return &place{conn: &lconn{fd: fd}, idle: idle} }
	old, other := at(3, 10), at(-1, 30)
	for name, c := range map[string]struct {
		p           *place
		idle, spare []*place
		max         int
		due         time.Duration
		want        time.Duration
	}{
		"it did not wait":                       {at(3, 20), nil, nil, 1, 101, 0},
		"it waited":                             {at(3, 20), nil, nil, 1, 100, 20},
		"another is free for longer":            {at(3, 20), []*place{old}, nil, 1, 100, 10},
		"another is free later":                 {at(3, 5), []*place{old}, nil, 1, 100, 5},
		"all connections are open":              {at(3, 20), []*place{old}, nil, 0, 101, 10},
		"the last one, and it did not wait":     {at(-1, 20), nil, nil, 0, 101, 0},
		"a closed one, blocked":                 {at(-1, 20), nil, nil, 1, 100, 100},
		"a closed one, free after the blocking": {at(-1, 200), nil, nil, 1, 100, 200},
		"another closed one":                    {at(-1, 200), nil, []*place{other}, 1, 100, 100},
	} {
		l := &loop{max: c.max, links: links{idle: places{list: c.idle}, spare: places{list: c.spare}}, upcoming: upcoming{blocked: 100}}
		if got := l.freeSince(c.p, c.due); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// At the cut operations that are due and not sent had a connection if a loop had one.
func TestLoopsCut(t *testing.T) {
	for from, free := range map[time.Duration]time.Duration{0: 0, 490 * ms: 490 * ms, forever: 500 * ms} {
		sys := &quiet{}
		m := newLoops(flowOf(t, tenths(), 0), &still{}, &takt.Loop{}, Options{})
		m.all = []*loop{{sys: sys, upcoming: upcoming{freeFrom: forever}}, {sys: sys, upcoming: upcoming{freeFrom: from}}}
		m.cut(500 * ms)
		if want := (record.Event{Free: free, Done: 500 * ms, Outcome: record.UnfinishedQueued}); m.rest != want || m.cutAt.Load() != int64(500*ms) || sys.woken != 2 {
			t.Errorf("free from %v: %+v, want %+v; %d loops woken", from, m.rest, want, sys.woken)
		}
	}
}

// An instant of an answer is believed if the clocks' doubt explains it, and lies within the operation.
func TestArrivalBounds(t *testing.T) {
	begun := time.Unix(100, 0)
	for _, c := range []struct {
		at, want    time.Duration
		disbelieved uint64
	}{
		{15 * ms, 15 * ms, 0}, {10 * ms, 10 * ms, 0}, {20 * ms, 20 * ms, 0},
		{10*ms - sock.Doubt, 10 * ms, 0}, {10*ms - sock.Doubt - 1, 20 * ms, 1},
		{20*ms + sock.Doubt, 20 * ms, 0}, {20*ms + sock.Doubt + 1, 20 * ms, 1},
	} {
		var f flow
		if got := f.arrival(&takt.Result{Arrived: begun.Add(c.at)}, begun, 10*ms, 20*ms); got != c.want || f.disbelieved.Load() != c.disbelieved {
			t.Errorf("an answer at %v: %v, %d disbelieved, want %v", c.at, got, f.disbelieved.Load(), c.want)
		}
	}
	if got := new(flow).arrival(&takt.Result{}, begun, 10*ms, 20*ms); got != 20*ms {
		t.Errorf("without an instant: %v", got)
	}
}

// The pacer makes a worker for an operation that is more than 200 µs late, unless one is idle or the
// pool is full.
func TestPoolLate(t *testing.T) {
	const us = time.Microsecond
	for name, c := range map[string]struct {
		idle, workers int
		due, now      time.Duration
		want          bool
	}{
		"late": {0, 1, ms, ms + 201*us, true}, "just not late": {0, 1, ms, ms + 200*us, false}, "an idle worker": {1, 1, 0, ms, false},
		"a full pool": {0, 2, 0, ms, false}, "a closed loop": {0, 1, takt.Asap, math.MaxInt64 - 1, false},
	} {
		p := &pool{flow: &flow{next: takt.Op{Due: c.due}}, max: 2, idle: make([]*worker, c.idle), workers: make([]*worker, c.workers)}
		if got := p.late(c.now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// mail is a quiet system that has received bytes.
type mail struct {
	quiet
	in    string
	stamp time.Duration // since the start
	errno syscall.Errno
	fds   []int // closed
}

const epoch = 1 << 60 // ns since 1970 at the start

func (s *mail) Both(time.Time) (time.Duration, int64) { return s.at, epoch + int64(s.at) }
func (s *mail) Close(fd int)                          { s.fds = append(s.fds, fd) }
func (s *mail) Resent(int) uint64                     { return 0 }
func (s *mail) Receive(_ int, b []byte) (int, syscall.Errno) {
	return copy(b, s.in), s.errno
}
func (s *mail) ReceiveStamped(_ int, b []byte) (int, int64, syscall.Errno) {
	return copy(b, s.in), epoch + int64(s.stamp), s.errno
}

// until is a codec whose answers end with these bytes.
type until struct {
	takt.Codec
	end  string
	then takt.Progress
}

func (until) Reset()                               {}
func (until) Append(dst []byte, _ *takt.Op) []byte { return append(dst, "abc"...) }
func (u until) Parse(in []byte, _ bool, _ *takt.Result) (int, takt.Progress) {
	if i := strings.Index(string(in), u.end); i >= 0 {
		return i + len(u.end), u.then
	}
	return 0, takt.More
}

// What comes for a request that was sent at 9 ms, and written at 10 ms, is its answer if it came after
// that. Its instant is the kernel's, and the connection stays unless something is wrong with it.
func TestLoopReceives(t *testing.T) {
	wall := sock.NewWall(&mail{}, time.Time{})
	doubt := wall.Error()
	for name, c := range map[string]struct {
		in          string
		stamp       time.Duration
		errno       syscall.Errno
		then        takt.Progress
		done        time.Duration // 0: the operation goes on
		first       time.Duration
		failed      bool
		closed      bool
		alarmed     bool
		unsolicited bool // and counted
	}{
		"an answer":                  {in: "a.", stamp: 12 * ms, then: takt.Done, done: 12 * ms, first: 3 * ms},
		"at the writing":             {in: "a.", stamp: 10 * ms, then: takt.Done, done: 10 * ms, first: ms},
		"just before, by the clocks": {in: "a.", stamp: 10*ms - doubt, then: takt.Done, done: 10 * ms, first: ms},
		"a part":                     {in: "a", stamp: 12 * ms, first: 3 * ms},
		"before the request":         {in: "a.", stamp: 10*ms - doubt - 1, done: 15 * ms, failed: true, closed: true, alarmed: true},
		"the last":                   {in: "a.", stamp: 12 * ms, then: takt.Last, done: 12 * ms, first: 3 * ms, closed: true},
		"more than an answer":        {in: "a.b", stamp: 12 * ms, then: takt.Done, done: 12 * ms, first: 3 * ms, closed: true, alarmed: true, unsolicited: true},
		"more than the last answer":  {in: "a.b", stamp: 12 * ms, then: takt.Last, done: 12 * ms, first: 3 * ms, closed: true},
		"the end":                    {in: "", stamp: 12 * ms, done: 15 * ms, failed: true, closed: true, alarmed: true},
		"an error":                   {errno: syscall.ECONNRESET, done: 15 * ms, failed: true, closed: true, alarmed: true},
		"nothing":                    {errno: sock.Again},
	} {
		sys := &mail{quiet: quiet{at: 15 * ms}, in: c.in, stamp: c.stamp, errno: c.errno}
		rec := record.New(record.Config{Window: time.Second, Phases: []string{"a", "b", "c", "first_byte"}})
		m := newLoops(newFlow(Plan{Source: &nothing{}}, rec), &still{}, &takt.Loop{}, Options{Loops: 1, MaxInFlight: 1})
		m.enter()
		l := newLoop(m, 0, 1, sys)
		l.stamps, l.wall = true, sock.NewWall(sys, time.Time{})
		conn := &lconn{fd: 3, codec: until{end: ".", then: c.then}}
		conn.own = place{conn: conn, state: pbusy, op: takt.Op{Due: 9 * ms}, sent: 9 * ms, wrote: 10 * ms}
		l.flight.add(&conn.own)
		if came := l.receive(conn); came != (c.errno != sock.Again) {
			t.Errorf("%s: bytes came: %v", name, came)
		}
		rep := rec.Report(record.End{Scheduled: 1, Stop: time.Second})
		if open := l.flight.n == 1; open != (c.done == 0) || open != (m.busy == 1) || (rep.Counts.Failed == 1) != c.failed || (rep.Counts.OK == 1) == (c.failed || open) {
			t.Errorf("%s: in flight %v, %+v", name, open, rep.Counts)
		}
		if conn.own.idle != c.done || (conn.fd < 0) != c.closed || (len(sys.fds) == 1) != c.closed || l.caution.alarmed.Load() != c.alarmed || (m.observed.n == 1) != c.unsolicited {
			t.Errorf("%s: done at %v, socket %d, closed %v, alarmed %v, %d unsolicited", name, conn.own.idle, conn.fd, sys.fds, l.caution.alarmed.Load(), m.observed.n)
		}
		if open := conn.own.res.Phases[phaseFirstByte]; c.done == 0 && open != c.first {
			t.Errorf("%s: the first byte took %v, want %v", name, open, c.first)
		}
		if got := rep.Latency["first_byte"].Max; c.done > 0 && got != float64(c.first)/1e3 && !(got > float64(c.first)/1e3 && got < 1.001*float64(c.first)/1e3) {
			t.Errorf("%s: the first byte took %v µs, want %v", name, got, c.first)
		}
	}
}
