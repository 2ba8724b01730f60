package amqp

import (
	"bytes"
	"net"
	"testing"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
)

// rig is a connection without goroutines and without a broker: the test says what
// arrives. It has a session with a sender, handle 0, and a receiver, handle 1 on
// both sides.
type rig struct {
	t   testing.TB
	c   *Conn
	tpl *Template
	snd *Sender
	rcv *Receiver
	in  bytes.Reader
}

// nowhere is where a rig writes.
type nowhere struct{ net.Conn }

func (nowhere) Write(b []byte) (int, error)      { return len(b), nil }
func (nowhere) Close() error                     { return nil }
func (nowhere) SetWriteDeadline(time.Time) error { return nil }

// newRig gives a rig whose links are attached.
func newRig(t testing.TB, onSettled func(uint64, Outcome)) *rig {
	return rigOf(t, nowhere{}, Options{Addr: "rig:1"}, onSettled)
}

func rigOf(t testing.TB, nc net.Conn, o Options, onSettled func(uint64, Outcome)) *rig {
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, c: newConn(nc, o)}
	r.c.peer = Peer{MaxFrame: 4096, ChannelMax: 10}
	r.c.in.From = &r.in
	s, err := r.c.begin()
	if err != nil {
		t.Fatal(err)
	}
	r.snd = &Sender{link: newLink(s, "s"), opt: SenderOptions{OnSettled: onSettled}}
	r.snd.link.sender = r.snd
	r.rcv = &Receiver{link: newLink(s, "r"), opt: ReceiverOptions{Credit: 10, OnDelivery: accepting(t, func(d *Delivery) {
		d.Application("time").Int()
		d.Body()
	})}}
	r.rcv.link.receiver, r.rcv.delivery.r = r.rcv, r.rcv
	for _, ask := range []func(wire.Attach) error{r.snd.ask, r.rcv.ask} {
		if err := ask(wire.Attach{Source: &wire.Terminus{}, Target: &wire.Terminus{}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []wire.Performative{
		&wire.Begin{Answers: true, Incoming: 1 << 30, Outgoing: 100, HandleMax: 10},
		&wire.Attach{Name: "s", ByReceiver: true, Source: &wire.Terminus{}, Target: &wire.Terminus{}},
		&wire.Attach{Name: "r", Handle: 1, Source: &wire.Terminus{}, Target: &wire.Terminus{}},
	} {
		r.feed(wire.AppendFrame(nil, 0, p))
	}
	if r.tpl, err = NewTemplate(Message{Priority: defaultPriority, Application: []Field{{"time", int64(0)}}}); err != nil {
		t.Fatal(err)
	}
	return r
}

// feed has frames arrive.
func (r *rig) feed(frames []byte) {
	r.t.Helper()
	if err := r.try(frames); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) try(frames []byte) error {
	r.in.Reset(frames)
	for r.in.Len() > 0 {
		if _, err := r.c.in.Fill(len(frames)); err != nil {
			return err
		}
	}
	_, err := r.c.burst()
	return err
}

// said takes what the client has buffered: its last frame, as fields.
func (r *rig) said() (is uint64, l wire.Fields) {
	in := wire.Inbox{From: bytes.NewReader(r.c.out.waits), Max: 1 << 20}
	r.c.out.waits = nil
	for {
		f, err := in.Wait()
		if err != nil {
			return is, l
		}
		if is, l, _, err = f.Performative(); err != nil {
			r.t.Fatal(err)
		}
	}
}

// round sends a message and gets its outcome, and receives one and accepts it.
func (r *rig) round(disposed, received []byte) {
	if err := r.snd.Send(r.tpl, nil, 1); err != nil {
		r.t.Fatal(err)
	}
	r.c.Flush()
	r.feed(disposed)
	r.feed(received)
	r.c.writeBatch(time.Second)
}

// frames are what a broker sends in a round: the outcome of all that was sent,
// credit for more, and a message.
func (r *rig) frames() (disposed, received []byte) {
	disposed = wire.AppendFrame(nil, 0, &wire.Disposition{ByReceiver: true, Last: 1<<31 - 1, Settled: true, State: wire.State{Is: wire.IsAccepted}})
	disposed = wire.AppendFrame(disposed, 0, &wire.Flow{Incoming: 1 << 30, OfLink: true, Credit: 1 << 30})
	l := wire.OpenList(wire.OpenFrame(nil, wire.FrameAMQP, 0), wire.IsTransfer)
	for _, v := range []uint32{1, 0} { // handle, id
		l.Uint(v)
	}
	l.Binary([]byte("tag"))
	return disposed, wire.CloseFrame(append(append(l.Close(), r.tpl.prefix(5)...), "12345"...), 0)
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	outcomes := 0
	r := newRig(t, func(uint64, Outcome) { outcomes++ })
	disposed, received := r.frames()
	r.feed(disposed)
	slot, err := r.tpl.Long("time")
	if err != nil {
		t.Fatal(err)
	}
	rounds := 0
	n := testing.AllocsPerRun(1000, func() {
		rounds++
		r.tpl.Set(slot, int64(rounds))
		r.tpl.Number(uint64(rounds))
		r.round(disposed, received)
	})
	if n != 0 {
		t.Errorf("%v allocations for a message sent and one received", n)
	}
	if outcomes != rounds || r.rcv.count != uint32(rounds) {
		t.Errorf("%d rounds, %d outcomes, %d messages", rounds, outcomes, r.rcv.count)
	}
}

func BenchmarkRound(b *testing.B) {
	r := newRig(b, func(uint64, Outcome) {})
	disposed, received := r.frames()
	r.feed(disposed)
	b.ReportAllocs()
	for b.Loop() {
		r.round(disposed, received)
	}
}

func TestOutbox(t *testing.T) {
	o := outbox{waits: []byte("first")}
	if got := o.take(); string(got) != "first" || o.take() != nil {
		t.Errorf("took %q", got)
	}
	o.waits = append(o.waits, " second"...)
	o.wrote(2)
	if o.take() != nil {
		t.Error("something overtakes the rest")
	}
	if got := o.resume(); string(got) != "rst" || o.resume() != nil {
		t.Errorf("resumed %q", got)
	}
	o.wrote(3)
	if got := o.resume(); string(got) != " second" {
		t.Errorf("resumed %q", got)
	}
}

// A ring gives each delivery back once, whatever ranges a broker names, and its
// numbers wrap around.
func TestRing(t *testing.T) {
	s, other := &Sender{}, &Sender{}
	r := ring{base: nearEnd, next: nearEnd}
	for i := range uint64(100) {
		d := sent{s, i}
		if i%10 == 3 {
			d.sender = other
		}
		if id := r.push(d); id != uint32(nearEnd+i) {
			t.Fatalf("delivery %d has number %d", i, id)
		}
	}
	tokens := func(all []sent) (sum, n uint64) {
		for _, d := range all {
			sum += d.token
			n++
		}
		return sum, n
	}
	first := uint32(nearEnd)
	for _, test := range []struct {
		first, last uint32
		sum, n      uint64
	}{
		{first + 5, first + 5, 5, 1},
		{first + 5, first + 5, 0, 0},
		{first - 1000, first + 9, 40, 9},     // 0 to 9 but 5
		{first + 200, first + 300, 0, 0},     // not sent yet
		{first + 95, first + 1<<30, 485, 5},  // 95 to 99, and beyond
		{first + 50, first + 40, 0, 0},       // the wrong way round
		{first - 1<<30, first - 1<<29, 0, 0}, // long settled
		{first + 1<<30, first - 1<<30, 0, 0}, // far ahead to far behind, over 2^31 numbers
	} {
		if sum, n := tokens(r.take(test.first, test.last, nil)); sum != test.sum || n != test.n {
			t.Errorf("take(%d, %d) gives %d deliveries, sum %d; want %d, %d", test.first-first, test.last-first, n, sum, test.n, test.sum)
		}
	}
	if sum, n := tokens(r.takeOf(other, nil)); n != 9 || sum != 13+23+33+43+53+63+73+83+93 {
		t.Errorf("of one sender: %d deliveries, sum %d", n, sum)
	}
	if _, n := tokens(r.take(first, first+99, nil)); n != 100-1-9-5-9 || r.base != r.next {
		t.Errorf("the rest: %d deliveries, and %d are left", n, r.next-r.base)
	}
}
