package amqp

import (
	"context"
	"errors"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
	"github.com/taktload/takt/internal/test/amqptest"
)

// framed is a frame with a list of a descriptor and what add gives it.
func framed(is uint64, add func(l *wire.Compound)) []byte {
	l := wire.OpenList(wire.OpenFrame(nil, wire.FrameAMQP, 0), is)
	add(&l)
	return wire.CloseFrame(l.Close(), 0)
}

// piece is a transfer of the receiver of a rig. id: nil if it has none.
func piece(id *uint32, settled, more, aborted bool, payload string) []byte {
	b := framed(wire.IsTransfer, func(l *wire.Compound) {
		l.Uint(1)
		if id == nil {
			l.Skip(1)
		} else {
			l.Uint(*id)
		}
		l.Skip(2)
		l.Bool(settled)
		l.Bool(more)
		l.Skip(3)
		l.Bool(aborted)
	})
	return wire.CloseFrame(append(b, payload...), 0)
}

func TestNonsense(t *testing.T) {
	nothing := func(*wire.Compound) {}
	one, two := uint32(1), uint32(2)
	tests := map[string][]byte{
		"a short frame":             {0, 0, 0, 7, 2, 0, 0, 0},
		"a body within the header":  {0, 0, 0, 8, 1, 0, 0, 0},
		"a body behind the end":     {0, 0, 0, 8, 3, 0, 0, 0},
		"a long frame":              {0x7f, 0, 0, 0, 2, 0, 0, 0},
		"another type":              wire.CloseFrame((&wire.Ending{Is: wire.IsEnd}).Append(wire.OpenFrame(nil, wire.FrameSASL, 0)), 0),
		"no list":                   {0, 0, 0, 9, 2, 0, 0, 0, wire.CodeNull},
		"half a value":              {0, 0, 0, 12, 2, 0, 0, 0, 0, wire.CodeSmallUlong, wire.IsFlow, wire.CodeList8},
		"more members than bytes":   {0, 0, 0, 14, 2, 0, 0, 0, 0, wire.CodeSmallUlong, wire.IsFlow, wire.CodeList8, 1, 9},
		"an unknown constructor":    {0, 0, 0, 12, 2, 0, 0, 0, 0, wire.CodeSmallUlong, wire.IsFlow, 0x10},
		"a second open":             wire.AppendFrame(nil, 0, &wire.Open{}),
		"another channel":           wire.AppendFrame(nil, 9, &wire.Flow{}),
		"another performative":      framed(0x19, nothing),
		"a begin of its own":        wire.AppendFrame(nil, 0, &wire.Begin{}),
		"a begin of no session":     wire.AppendFrame(nil, 0, &wire.Begin{Answers: true, Remote: 7}),
		"a second begin":            wire.AppendFrame(nil, 1, &wire.Begin{Answers: true}),
		"a link of its own":         wire.AppendFrame(nil, 0, &wire.Attach{Name: "x"}),
		"a link as a second one":    wire.AppendFrame(nil, 0, &wire.Attach{Name: "r"}),
		"a source that is a number": framed(wire.IsAttach, func(l *wire.Compound) { l.Text("r"); l.Uint(1); l.Skip(3); l.Uint(1) }),
		"a flow of nothing":         framed(wire.IsFlow, nothing),
		"a flow of no link":         wire.AppendFrame(nil, 0, &wire.Flow{OfLink: true, Handle: 9}),
		"text in place of a number": framed(wire.IsFlow, func(l *wire.Compound) { l.Text("x") }),
		"a number in place of yes":  framed(wire.IsDisposition, func(l *wire.Compound) { l.Uint(1); l.Uint(1) }),
		"a number in place of text": framed(wire.IsAttach, func(l *wire.Compound) { l.Uint(1) }),
		"a disposition of nothing":  framed(wire.IsDisposition, nothing),
		"a detach of no link":       wire.AppendFrame(nil, 0, &wire.Detach{Handle: 9}),
		"a transfer of nothing":     framed(wire.IsTransfer, nothing),
		"a transfer of no link":     framed(wire.IsTransfer, func(l *wire.Compound) { l.Uint(9) }),
		"a transfer to a sender":    framed(wire.IsTransfer, func(l *wire.Compound) { l.Uint(0); l.Uint(0) }),
		"a transfer without number": piece(nil, true, false, false, ""),
		"pieces of two messages":    append(piece(&one, true, true, false, "x"), piece(&two, true, true, false, "y")...),
	}
	for name, frames := range tests {
		r := newRig(t, nil)
		if err := r.try(frames); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A message in pieces is settled if one of them says so, and forgotten if one
// says that it is aborted; what comes for a link that leaves is nobody's.
func TestPieces(t *testing.T) {
	r := newRig(t, nil)
	var bodies []string
	settled := 0
	r.rcv.opt.OnDelivery = accepting(t, func(d *Delivery) {
		bodies = append(bodies, string(d.Body()))
		if d.Settled() {
			settled++
		}
		if d.Receiver() != r.rcv {
			t.Errorf("a delivery at %v", d.Receiver())
		}
	})
	text := string(append([]byte{0, wire.CodeSmallUlong, wire.IsData, wire.CodeBin8, 3}, "abc"...))
	for id, feed := range [][][]byte{
		{piece(new(uint32(0)), false, true, false, text[:4]), piece(nil, true, true, false, text[4:6]), piece(new(uint32(0)), false, false, false, text[6:])},
		{piece(new(uint32(1)), false, true, false, text), piece(nil, false, false, true, "")},
		{piece(new(uint32(2)), false, true, false, text[:7]), {0, 0, 0, 8, 2, 0, 0, 0}, piece(nil, false, false, false, text[7:])},
	} {
		r.c.out.waits = nil
		for _, frame := range feed {
			r.feed(frame)
		}
		is, l := r.said()
		if accepts := is == wire.IsDisposition; accepts != (id == 2) {
			t.Errorf("message %d: said 0x%x", id, is)
		} else if accepts {
			if l.Skip(1); l.Must() != 2 {
				t.Error("accepted another message")
			}
		}
	}
	r.rcv.leave(true)
	r.feed(piece(new(uint32(3)), false, false, false, text))
	if got := strings.Join(bodies, " "); got != "abc abc" || settled != 1 {
		t.Errorf("delivered %q, %d of them settled", got, settled)
	}
}

func TestDrainAndEcho(t *testing.T) {
	r := newRig(t, nil)
	r.said() // what it said to attach
	granted := []uint32{}
	r.snd.opt.OnCredit = func(n uint32) { granted = append(granted, n) }
	for _, w := range []*wire.Flow{
		{OfLink: true, Credit: 5, Begun: true, Incoming: 9},
		{OfLink: true, Credit: 5, Drain: true, Incoming: 9},
		{OfLink: true, Credit: 2, DeliveryCount: 1, Counted: true, Incoming: 9}, // of before the drain
		{Echo: true, Incoming: 100},
		{OfLink: true, Credit: 1, DeliveryCount: 5, Counted: true, Echo: true, Incoming: 9},
	} {
		r.feed(wire.AppendFrame(nil, 0, w))
		is, l := r.said()
		if is == wire.IsFlow != (w.Drain || w.Echo) {
			t.Fatalf("after %+v the client says 0x%x", w, is)
		}
		if is != wire.IsFlow {
			continue
		}
		var said wire.Flow
		if said.Read(&l); w.Drain && (said.DeliveryCount != 5 || said.Credit != 0) || said.OfLink != w.OfLink || said.Incoming != incomingWindow {
			t.Errorf("after %+v the client says %+v", w, said)
		}
	}
	if want := []uint32{5, 0, 0, 0, 1}; !slices.Equal(granted, want) {
		t.Errorf("credit %v, want %v", granted, want)
	}
}

// What the broker has not seen yet of what was sent comes off its window.
func TestWindowUnderway(t *testing.T) {
	r := newRig(t, nil)
	s := r.snd.s
	s.nextOutgoing = 2 // wrapped around
	for _, test := range []struct {
		w    wire.Flow
		want uint32
	}{
		{wire.Flow{Begun: true, NextIncoming: 2, Incoming: 10}, 10},
		{wire.Flow{Begun: true, NextIncoming: math.MaxUint32, Incoming: 10}, 7},
		{wire.Flow{Begun: true, NextIncoming: math.MaxUint32, Incoming: 2}, 0},
		{wire.Flow{Incoming: 10}, 8},
	} {
		if s.widen(&test.w); s.window != test.want {
			t.Errorf("%+v leaves a window of %d, want %d", test.w, s.window, test.want)
		}
	}
}

// A link that the broker ends: its messages are lost, its end is answered and
// told once; the session goes on.
func TestBrokerDetaches(t *testing.T) {
	why := &Error{Condition: "amqp:resource-deleted", Description: "the queue was deleted"}
	var lost []Outcome
	var told []error
	r := newRig(t, func(_ uint64, o Outcome) { lost = append(lost, o) })
	r.snd.onDetach = func(err error) { told = append(told, err) }
	r.feed(wire.AppendFrame(nil, 0, &wire.Flow{OfLink: true, Credit: 5, Incoming: 9}))
	for range 2 {
		if err := r.snd.Send(r.tpl, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	r.feed(wire.AppendFrame(nil, 0, &wire.Detach{Closed: true, Err: why}))
	var answer wire.Detach
	is, l := r.said()
	if answer.Read(&l); is != wire.IsDetach || !answer.Closed || answer.Handle != 0 || answer.Err != nil {
		t.Errorf("answered 0x%x %+v", is, answer)
	}
	if len(lost) != 2 || lost[1].State != Lost || !isReason(lost[1].Err, why) || len(told) != 1 || !isReason(told[0], why) {
		t.Errorf("outcomes %v, told %v", lost, told)
	}
	if err := r.snd.Detach(t.Context(), true); !isReason(err, why) {
		t.Error(err)
	}
	if err := r.rcv.Accept(1, 1, nil); err != nil {
		t.Errorf("the other link: %v", err)
	}
	r.feed(wire.AppendFrame(nil, 0, &wire.Ending{Is: wire.IsEnd, Err: why}))
	if err := r.rcv.Accept(1, 1, nil); !isReason(err, why) || !isReason(r.rcv.s.Err(), why) {
		t.Error(err, r.rcv.s.Err())
	}
	if is, _ = r.said(); is != wire.IsEnd {
		t.Errorf("the end was answered by 0x%x", is)
	}
}

// Who no longer waits for a link gets none: an answer that comes late is followed
// by the link's end, and no credit is given.
func TestLateAnswer(t *testing.T) {
	r := newRig(t, nil)
	late := &Receiver{link: newLink(r.rcv.s, "late"), opt: ReceiverOptions{Credit: 10, OnDelivery: func(*Delivery) { t.Error("a delivery") }}}
	late.link.receiver, late.delivery.r = late, late
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := late.attach(ctx, wire.Attach{Source: &wire.Terminus{}, Target: &wire.Terminus{}}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if is, _ := r.said(); is != wire.IsDetach {
		t.Errorf("said 0x%x", is)
	}
	r.feed(wire.AppendFrame(nil, 0, &wire.Attach{Name: "late", Handle: 2, Source: &wire.Terminus{}, Target: &wire.Terminus{}}))
	r.feed(wire.AppendFrame(nil, 0, &wire.Detach{Handle: 2}))
	if is, _ := r.said(); is != 0 || !errors.Is(late.Err(), ErrClosed) {
		t.Errorf("said 0x%x, ended by %v", is, late.Err())
	}
}

func TestNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := amqptest.New(t, amqptest.Script{Mute: true})
		c, err := Dial(t.Context(), Options{Addr: "broker:1", Dial: piped(b.Handle)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Session(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		start := time.Now()
		ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// A broker that reads nothing any more holds up neither Send nor Flush, until the
// buffer is full; in the end the idle timeout frees the writer.
func TestBrokerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := amqptest.New(t, amqptest.Script{Credit: 1000, AtTransfer: func(*amqptest.Conn, int) { <-t.Context().Done() }})
		done := make(chan struct{})
		handle := func(nc net.Conn) { b.Handle(nc); close(done) }
		c, err := Dial(t.Context(), Options{Addr: "broker:1", IdleTimeout: 4 * time.Second, Buffer: 100_000, Dial: piped(handle)})
		if err != nil {
			t.Fatal(err)
		}
		lost := 0
		snd := sender(t, session(t, c), SenderOptions{Address: "q", OnSettled: func(uint64, Outcome) { lost++ }})
		waitCredit(t, snd)
		tpl, sent := template(t), 0
		for err = nil; err == nil; sent++ {
			err = snd.Send(tpl, make([]byte, 1000), 0)
			c.Flush()
		}
		if !errors.Is(err, ErrBusy) {
			t.Error(err)
		}
		<-c.Done()
		if err := c.Err(); !errors.Is(err, errSilent) && !strings.HasPrefix(err.Error(), "cannot write to the broker") {
			t.Error(err)
		}
		hangUp(t, c)
		if lost != sent-1 {
			t.Errorf("%d outcomes for %d messages", lost, sent-1)
		}
	})
}
