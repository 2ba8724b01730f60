package engine

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/pkg/takt"
)

// told is a codec that notes what it is told of parts. Its answers have no end.
type told struct {
	starts [][2]time.Duration // due, sent
	stops  []time.Duration
	came   [][2]time.Duration // from, at
}

func (c *told) Append(dst []byte, _ *takt.Op) []byte { return append(dst, "q"...) }
func (c *told) Reset()                               {}
func (c *told) Parse(in []byte, _ bool, _ *takt.Result) (int, takt.Progress) {
	return len(in), takt.More
}
func (c *told) Starts(_ int, due, sent time.Duration, _ *takt.Result) {
	c.starts = append(c.starts, [2]time.Duration{due, sent})
}
func (c *told) Came(in Coming) { c.came = append(c.came, [2]time.Duration{in.From, in.At}) }
func (c *told) Stops(_ int, at time.Duration, _ func(phase int, due, d time.Duration)) {
	c.stops = append(c.stops, at)
}

// A loop says of the bytes of each read from when to when they came: since the last ones, and since it saw that the socket was empty.
func TestLoopTellsWhenPartsCame(t *testing.T) {
	l, _ := quietLoop(t)
	sys := &mail{in: "a"}
	l.sys, l.stamps, l.wall = sys, true, sock.NewWall(sys, time.Time{})
	codec := &told{}
	c := &lconn{fd: 3, codec: codec}
	l.measuresParts(c, codec)
	c.own.conn, c.own.state = c, pbusy
	if !l.parts || l.blind() {
		t.Error("the loop reads blindly")
	}
	read := func(stamp, now time.Duration) {
		sys.stamp, sys.at = stamp, now
		l.receive(c)
	}
	read(10*ms, 11*ms)
	l.empty = 15 * ms
	read(20*ms, 21*ms)
	l.empty = 25 * ms // the loop looked, and the clock of the stamps is not exact
	read(24*ms, 26*ms)
	l.in, sys.in = l.in[:1], "b" // the socket may have more
	read(30*ms, 31*ms)
	l.empty = 35 * ms
	read(40*ms, 50*ms)
	want := [][2]time.Duration{{0, 10 * ms}, {15 * ms, 20 * ms}, {24 * ms, 24 * ms}, {25 * ms, 30 * ms}, {30 * ms, 40 * ms}}
	if !slices.Equal(codec.came, want) {
		t.Errorf("%v; want %v", codec.came, want)
	}
	sys.at = 60 * ms
	l.flight.add(&c.own)
	if l.fail(c, syscall.ECONNRESET, false); !slices.Equal(codec.stops, []time.Duration{60 * ms}) {
		t.Errorf("stops at %v", codec.stops)
	}
}

// A poll that had room for more events has seen all sockets.
func TestLoopSeesEmptySockets(t *testing.T) {
	l, sys := quietLoop(t)
	sys.at = 7 * ms
	l.now()
	sys.at = 9 * ms
	if l.serve(ms); l.empty != 7*ms {
		t.Errorf("empty at %v; want the instant before the poll", l.empty)
	}
}

// early is a poller that wakes the loop after some time.
type early struct {
	quiet
	after time.Duration
}

func (s *early) Wait(d time.Duration, events []sock.Event) int {
	n := s.quiet.Wait(min(d, s.after), events)
	s.waited[len(s.waited)-1] = d
	return n
}

// A loop that a part woke waits for the next one without another look at its sockets. After a longer wait it looks,
// and knows that they are empty.
func TestLoopLooksOnceForAPart(t *testing.T) {
	for after, want := range map[time.Duration][]time.Duration{
		partsBeat / 4: {0, partsBeat, partsBeat, partsBeat}, partsBeat / 2: {0, partsBeat, 0, partsBeat, 0, partsBeat},
	} {
		l, _ := quietLoop(t)
		sys := &early{after: after}
		l.sys, l.parts, l.claimed, l.claim.Due = sys, true, true, 20*ms
		l.flight.add(&place{})
		for range 3 {
			l.turn()
		}
		if !slices.Equal(sys.waited, want) {
			t.Errorf("woken after %v it waits for %v; want %v", after, sys.waited, want)
		}
	}
}

// In a closed loop an operation is due when it is sent.
func TestPartsStart(t *testing.T) {
	codec := &told{}
	c := &lconn{parted: codec}
	for _, due := range []time.Duration{takt.Asap, 3 * ms} {
		p := &place{conn: c, sent: 5 * ms}
		p.op.Due = due
		p.starts()
	}
	if want := [][2]time.Duration{{5 * ms, 5 * ms}, {3 * ms, 5 * ms}}; !slices.Equal(codec.starts, want) {
		t.Errorf("%v; want %v", codec.starts, want)
	}
}
