package engine

import (
	"net"
	"testing"
	"time"

	"github.com/taktload/takt/internal/record"
)

// tale is a connection whose reads and writes last as long as the test says.
type tale struct {
	net.Conn
	now  time.Time
	came time.Time // arrival of the last bytes read; zero: no stamp
	here bool      // bytes are here, unread
}

func (c *tale) Read([]byte) (int, error)  { return 1, nil }
func (c *tale) Write([]byte) (int, error) { c.now = c.now.Add(time.Hour); return 1, nil } // frozen at its end
func (c *tale) Close() error              { return nil }
func (c *tale) Arrived() (time.Time, time.Duration) {
	return c.came, 0
}

// The wait for a handshake belongs to whoever had not moved.
func TestTurns(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		do   func(c *tale, turns *Turns)
		want time.Duration // waits for the other side
	}{
		"nothing":       {func(*tale, *Turns) {}, 10 * ms},
		"takt computes": {func(c *tale, _ *Turns) { c.now = c.now.Add(time.Second) }, 10 * ms},
		"an answer late": {func(c *tale, s *Turns) {
			_, _ = s.Write(nil)
			c.came = c.now.Add(3 * ms)
			c.now = c.now.Add(5 * ms)
			_, _ = s.Read(nil)
		}, time.Hour + 13*ms},
		"an answer in two parts, of which takt needs both": {func(c *tale, s *Turns) {
			_, _ = s.Write(nil)
			c.came = c.now.Add(3 * ms)
			_, _ = s.Read(nil)
			c.came = c.now.Add(8 * ms)
			_, _ = s.Read(nil)
		}, time.Hour + 18*ms},
		"two flights": {func(c *tale, s *Turns) {
			for range 2 {
				c.now = c.now.Add(time.Second) // takt's
				_, _ = s.Write(nil)
				c.came = c.now.Add(-time.Hour + ms)
				_, _ = s.Read(nil)
			}
		}, 12 * ms},
		"a stamp from before the wait": {func(c *tale, s *Turns) { _, _ = s.Write(nil); c.came = c.now.Add(-2 * time.Hour); _, _ = s.Read(nil) }, 10 * ms},
		"no stamps":                    {func(c *tale, s *Turns) { _, _ = s.Write(nil); c.now = c.now.Add(5 * ms); _, _ = s.Read(nil) }, time.Hour + 15*ms},
		"the last flight is takt's":    {func(c *tale, s *Turns) { _, _ = s.Write(nil); c.now = c.now.Add(5 * ms) }, 10 * ms},
	} {
		socket := &tale{now: time.Unix(1000, 0)}
		turns := NewTurns(func() time.Time { return socket.now })
		turns.Waits()
		socket.now = socket.now.Add(10 * ms)
		turns.Connected(socket)
		c.do(socket, turns)
		if got := turns.Made(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		_, _ = turns.Write(nil) // the request
		socket.came = socket.now
		_, _ = turns.Read(nil)
		if got := turns.GivenUp(); got != c.want {
			t.Errorf("%s: %v after the handshake, want %v", name, got, c.want)
		}
	}
}

// A handshake that nobody completes was the other side's turn, unless its bytes are here.
func TestTurnsOfAnUnmadeConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	now := time.Unix(1000, 0)
	turns := NewTurns(func() time.Time { return now })
	if now = now.Add(time.Second); turns.SoFar() != 0 {
		t.Errorf("before takt asked for anything: %v", turns.SoFar())
	}
	turns.Waits() // for the address of a name
	now = now.Add(time.Second)
	turns.Waits()
	if now = now.Add(time.Second); turns.SoFar() != 2*time.Second {
		t.Errorf("connecting: %v", turns.SoFar())
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	theirs, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	turns.Connected(c)
	_, _ = turns.Write([]byte("hello"))
	before := turns.theirs // as the kernel says it
	now = now.Add(time.Second)
	if got := turns.SoFar(); got != before+time.Second {
		t.Errorf("no answer: %v, want %v", got, before+time.Second)
	}
	_, _ = theirs.Write([]byte("hello"))
	for look := (looker{}); ; time.Sleep(time.Millisecond) {
		if look.attach(c); func() bool { _, err := look.look(); return err == ErrUnsolicited }() {
			break
		}
	}
	if got := turns.SoFar(); got != before {
		t.Errorf("an unread answer: %v, want %v", got, before)
	}
	_ = turns.Close()
	if now = now.Add(time.Hour); turns.GivenUp() != before {
		t.Errorf("closed: %v, want %v", turns.GivenUp(), before)
	}
}

// Operations that wait for a connection to be made wait for whom the attempts of that time waited.
func TestDialTime(t *testing.T) {
	const ms = time.Millisecond
	var d dialTime
	if got := d.wait(0, ms); got != (record.Slot{Service: ms}) {
		t.Errorf("without attempts: %+v", got)
	}
	d.ended(10*ms, record.Slot{Service: 10 * ms}, true)               // theirs
	d.ended(20*ms, record.Slot{Service: 10 * ms, Own: 10 * ms}, true) // takt's
	d.ended(30*ms, record.Slot{Service: 20 * ms, Own: 10 * ms}, true) // half
	d.ended(30*ms, record.Slot{Service: 40 * ms, Own: 40 * ms}, true) // no time since the last
	for _, c := range []struct{ from, to, own time.Duration }{
		{0, 10 * ms, 0}, {0, 15 * ms, 5 * ms}, {5 * ms, 30 * ms, 15 * ms}, {12 * ms, 25 * ms, 8*ms + 2500*time.Microsecond}, {25 * ms, 40 * ms, 2500 * time.Microsecond}, {40 * ms, 50 * ms, 0},
	} {
		if got := d.wait(c.from, c.to); got != (record.Slot{Service: c.to - c.from, Own: c.own}) {
			t.Errorf("%v to %v: %+v, want %v", c.from, c.to, got, c.own)
		}
	}
	d.since = 45 * ms // before, takt did not begin to make a connection
	if got := d.wait(40*ms, 50*ms); got.Own != 5*ms {
		t.Errorf("a wait that began late: %+v", got)
	}
	for i := range time.Duration(1000) {
		d.ended(50*ms+i, record.Slot{Service: ms}, false)
	}
	if len(d.points) > 2 {
		t.Errorf("%d points are kept for nobody", len(d.points))
	}
}
