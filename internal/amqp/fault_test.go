package amqp

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// framed is a frame with a list of a descriptor and what add gives it.
func framed(is uint64, add func(l *compound)) []byte {
	l := openList(openFrame(nil, frameAMQP, 0), is)
	add(&l)
	return closeFrame(l.close(), 0)
}

// piece is a transfer of the receiver of a rig. id: nil if it has none.
func piece(id *uint32, settled, more, aborted bool, payload string) []byte {
	b := framed(isTransfer, func(l *compound) {
		l.uint(1)
		if id == nil {
			l.skip(1)
		} else {
			l.uint(*id)
		}
		l.skip(2)
		l.bool(settled)
		l.bool(more)
		l.skip(3)
		l.bool(aborted)
	})
	return closeFrame(append(b, payload...), 0)
}

func TestNonsense(t *testing.T) {
	nothing := func(*compound) {}
	one, two := uint32(1), uint32(2)
	tests := map[string][]byte{
		"a short frame":             {0, 0, 0, 7, 2, 0, 0, 0},
		"a body within the header":  {0, 0, 0, 8, 1, 0, 0, 0},
		"a body behind the end":     {0, 0, 0, 8, 3, 0, 0, 0},
		"a long frame":              {0x7f, 0, 0, 0, 2, 0, 0, 0},
		"another type":              closeFrame((&ending{is: isEnd}).append(openFrame(nil, frameSASL, 0)), 0),
		"no list":                   {0, 0, 0, 9, 2, 0, 0, 0, codeNull},
		"half a value":              {0, 0, 0, 12, 2, 0, 0, 0, 0, codeSmallUlong, isFlow, codeList8},
		"more members than bytes":   {0, 0, 0, 14, 2, 0, 0, 0, 0, codeSmallUlong, isFlow, codeList8, 1, 9},
		"an unknown constructor":    {0, 0, 0, 12, 2, 0, 0, 0, 0, codeSmallUlong, isFlow, 0x10},
		"a second open":             appendFrame(nil, 0, &open{}),
		"another channel":           appendFrame(nil, 9, &flow{}),
		"another performative":      framed(0x19, nothing),
		"a begin of its own":        appendFrame(nil, 0, &begin{}),
		"a begin of no session":     appendFrame(nil, 0, &begin{answers: true, remote: 7}),
		"a second begin":            appendFrame(nil, 1, &begin{answers: true}),
		"a link of its own":         appendFrame(nil, 0, &attach{name: "x"}),
		"a link as a second one":    appendFrame(nil, 0, &attach{name: "r"}),
		"a source that is a number": framed(isAttach, func(l *compound) { l.string("r"); l.uint(1); l.skip(3); l.uint(1) }),
		"a flow of nothing":         framed(isFlow, nothing),
		"a flow of no link":         appendFrame(nil, 0, &flow{ofLink: true, handle: 9}),
		"text in place of a number": framed(isFlow, func(l *compound) { l.string("x") }),
		"a number in place of yes":  framed(isDisposition, func(l *compound) { l.uint(1); l.uint(1) }),
		"a number in place of text": framed(isAttach, func(l *compound) { l.uint(1) }),
		"a disposition of nothing":  framed(isDisposition, nothing),
		"a detach of no link":       appendFrame(nil, 0, &detach{handle: 9}),
		"a transfer of nothing":     framed(isTransfer, nothing),
		"a transfer of no link":     framed(isTransfer, func(l *compound) { l.uint(9) }),
		"a transfer to a sender":    framed(isTransfer, func(l *compound) { l.uint(0); l.uint(0) }),
		"a transfer without number": piece(nil, true, false, false, ""),
		"pieces of two messages":    append(piece(&one, true, true, false, "x"), piece(&two, true, true, false, "y")...),
	}
	for name, frames := range tests {
		r := newRig(t, nil)
		if err := r.try(frames); !errors.Is(err, errMalformed) {
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
	r.rcv.opt.OnDelivery = func(d *Delivery) {
		bodies = append(bodies, string(d.Body()))
		if d.Settled() {
			settled++
		}
		if d.Receiver() != r.rcv || d.Size() == 0 {
			t.Errorf("a delivery of %d bytes at %v", d.Size(), d.Receiver())
		}
	}
	text := string(append([]byte{0, codeSmallUlong, isData, codeBin8, 3}, "abc"...))
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
		if accepts := is == isDisposition; accepts != (id == 2) {
			t.Errorf("message %d: said 0x%x", id, is)
		} else if accepts {
			if l.skip(1); l.must() != 2 {
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
	for _, w := range []*flow{
		{ofLink: true, credit: 5, begun: true, incoming: 9},
		{ofLink: true, credit: 5, drain: true, incoming: 9},
		{ofLink: true, credit: 2, deliveryCount: 1, counted: true, incoming: 9}, // of before the drain
		{echo: true, incoming: 100},
		{ofLink: true, credit: 1, deliveryCount: 5, counted: true, echo: true, incoming: 9},
	} {
		r.feed(appendFrame(nil, 0, w))
		is, l := r.said()
		if is == isFlow != (w.drain || w.echo) {
			t.Fatalf("after %+v the client says 0x%x", w, is)
		}
		if is != isFlow {
			continue
		}
		var said flow
		if said.read(&l); w.drain && (said.deliveryCount != 5 || said.credit != 0) || said.ofLink != w.ofLink || said.incoming != incomingWindow {
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
		w    flow
		want uint32
	}{
		{flow{begun: true, nextIncoming: 2, incoming: 10}, 10},
		{flow{begun: true, nextIncoming: math.MaxUint32, incoming: 10}, 7},
		{flow{begun: true, nextIncoming: math.MaxUint32, incoming: 2}, 0},
		{flow{incoming: 10}, 8},
	} {
		if s.widen(&test.w); s.window != test.want {
			t.Errorf("%+v leaves a window of %d, want %d", test.w, s.window, test.want)
		}
	}
}

// A link that the broker ends: its messages are lost, its end is answered and
// told once; the session goes on.
func TestBrokerDetaches(t *testing.T) {
	why := &Error{"amqp:resource-deleted", "the queue was deleted"}
	var lost []Outcome
	var told []error
	r := newRig(t, func(_ uint64, o Outcome) { lost = append(lost, o) })
	r.snd.onDetach = func(err error) { told = append(told, err) }
	r.feed(appendFrame(nil, 0, &flow{ofLink: true, credit: 5, incoming: 9}))
	for range 2 {
		if err := r.snd.Send(r.tpl, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	r.feed(appendFrame(nil, 0, &detach{closed: true, err: why}))
	var answer detach
	is, l := r.said()
	if answer.read(&l); is != isDetach || !answer.closed || answer.handle != 0 || answer.err != nil {
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
	r.feed(appendFrame(nil, 0, &ending{is: isEnd, err: why}))
	if err := r.rcv.Accept(1, 1, nil); !isReason(err, why) || !isReason(r.rcv.s.Err(), why) {
		t.Error(err, r.rcv.s.Err())
	}
	if is, _ = r.said(); is != isEnd {
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
	if err := late.attach(ctx, attach{source: &terminus{}, target: &terminus{}}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if is, _ := r.said(); is != isDetach {
		t.Errorf("said 0x%x", is)
	}
	r.feed(appendFrame(nil, 0, &attach{name: "late", handle: 2, source: &terminus{}, target: &terminus{}}))
	r.feed(appendFrame(nil, 0, &detach{handle: 2}))
	if is, _ := r.said(); is != 0 || !errors.Is(late.Err(), ErrClosed) {
		t.Errorf("said 0x%x, ended by %v", is, late.Err())
	}
}

func TestNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broker{t: t, script: script{mute: true}}
		c, err := Dial(t.Context(), Options{Addr: "broker:1", Dial: piped(b.handle)})
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
		b := &broker{t: t, script: script{credit: 1000, atTransfer: func(c *serving, _ int) { <-c.t.Context().Done() }}}
		done := make(chan struct{})
		handle := func(nc net.Conn) { b.handle(nc); close(done) }
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

func TestValues(t *testing.T) {
	type reading struct {
		n     int64
		f     float64
		yes   bool
		s     string
		which string // of int, float, bool, bytes
	}
	tests := []struct {
		b    []byte
		want reading
	}{
		{[]byte{codeNull}, reading{}},
		{[]byte{codeTrue}, reading{yes: true, which: "bool"}},
		{[]byte{codeFalse}, reading{which: "bool"}},
		{[]byte{codeBool, 1}, reading{yes: true, which: "bool"}},
		{[]byte{codeUint0}, reading{which: "int"}},
		{[]byte{codeUlong0}, reading{which: "int"}},
		{[]byte{codeUbyte, 0xff}, reading{n: 255, which: "int"}},
		{[]byte{codeByte, 0xff}, reading{n: -1, which: "int"}},
		{[]byte{codeSmallInt, 0x80}, reading{n: -128, which: "int"}},
		{[]byte{codeSmallLong, 0xfe}, reading{n: -2, which: "int"}},
		{[]byte{codeUshort, 0xff, 0xff}, reading{n: 65535, which: "int"}},
		{[]byte{codeShort, 0xff, 0xfe}, reading{n: -2, which: "int"}},
		{[]byte{codeUint, 0xff, 0xff, 0xff, 0xff}, reading{n: math.MaxUint32, which: "int"}},
		{[]byte{codeInt, 0xff, 0xff, 0xff, 0xfd}, reading{n: -3, which: "int"}},
		{appendLong(nil, codeLong, math.MinInt64), reading{n: math.MinInt64, which: "int"}},
		{appendLong(nil, codeTimestamp, 5), reading{n: 5, which: "int"}},
		{appendUlong(nil, math.MaxInt64), reading{n: math.MaxInt64, which: "int"}},
		{appendUlong(nil, math.MaxInt64+1), reading{}},
		{[]byte{codeFloat, 0x3f, 0, 0, 0}, reading{f: 0.5, which: "float"}},
		{appendLong(nil, codeDouble, int64(math.Float64bits(-2))), reading{f: -2, which: "float"}},
		{appendString(nil, "text"), reading{s: "text", which: "bytes"}},
		{appendSymbol(nil, strings.Repeat("s", 256)), reading{s: strings.Repeat("s", 256), which: "bytes"}},
		{bytes.Repeat([]byte{0x98}, 17), reading{}}, // a UUID
	}
	for _, test := range tests {
		d := decoder{b: test.b}
		v := d.value()
		var got reading
		if n, ok := v.Int(); ok {
			got.n, got.which = n, got.which+"int"
		}
		if f, ok := v.Float(); ok {
			got.f, got.which = f, got.which+"float"
		}
		if yes, ok := v.Bool(); ok {
			got.yes, got.which = yes, got.which+"bool"
		}
		if s, ok := v.Bytes(); ok {
			got.s, got.which = string(s), got.which+"bytes"
		}
		if got != test.want || d.bad || len(d.b) > 0 {
			t.Errorf("% x is read as %+v, want %+v; bad %v, %d bytes left", test.b, got, test.want, d.bad, len(d.b))
		}
	}
}
