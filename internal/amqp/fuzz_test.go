package amqp

import (
	"bytes"
	"testing"
)

// performatives are all that are read, with what is appended for them to read.
func performatives() []performative {
	why := &Error{"amqp:not-found", "no such queue"}
	return []performative{
		&open{container: "c", host: "h", maxFrame: 512, channelMax: 7, idle: 1000, desired: []string{"d"}, offered: []string{"o", "p"}, properties: map[string]string{"product": "x"}},
		&begin{remote: 3, answers: true, nextOutgoing: 1, incoming: 2, outgoing: 3, handleMax: 4},
		&attach{name: "n", handle: 300, byReceiver: true, settle: 1, source: &terminus{address: "a", durable: 2, expiry: "never", distribution: "copy", selector: "n > 5", capabilities: []string{"topic", "shared"}}, target: &terminus{}, max: 1 << 40},
		&attach{name: "n", source: &terminus{}, target: &terminus{coordinator: true, capabilities: []string{"amqp:local-transactions"}}},
		&flow{nextIncoming: 1, begun: true, incoming: 2, nextOutgoing: 3, outgoing: 4, ofLink: true, handle: 5, deliveryCount: 1 << 31, counted: true, credit: 7, drain: true, echo: true},
		&flow{incoming: 2, nextOutgoing: 3, outgoing: 4},
		&disposition{byReceiver: true, first: 1, last: 1<<32 - 1, settled: true, state: state{is: isAccepted, txn: []byte("tx")}},
		&disposition{first: 1, last: 2, state: state{is: isDeclared, txn: []byte("tx")}},
		&detach{handle: 9, closed: true, err: why},
		&ending{is: isEnd, err: why},
	}
}

// reread reads what b holds and gives what that is appended as; false if b is
// nothing that can be read.
func reread(b []byte) ([]byte, bool) {
	f := frame{body: b}
	is, l, _, err := f.performative()
	if err != nil {
		return nil, false
	}
	var p performative
	switch is {
	case isOpen:
		o := &open{}
		o.read(&l)
		p = o
	case isBegin:
		o := &begin{}
		o.read(&l)
		p = o
	case isAttach:
		o := &attach{}
		o.read(&l)
		p = o
	case isFlow:
		o := &flow{}
		o.read(&l)
		p = o
	case isDisposition:
		o := &disposition{}
		o.read(&l)
		p = o
	case isDetach:
		o := &detach{}
		o.read(&l)
		p = o
	case isEnd, isClose:
		p = &ending{is: is, err: readError(l.next())}
	case isTransfer:
		var t transfer
		t.read(&l)
		return nil, false // what appends it is Sender.render
	default:
		return nil, false
	}
	return p.append(nil), !l.bad
}

func TestPerformativesReadBack(t *testing.T) {
	for _, p := range performatives() {
		want := p.append(nil)
		if got, ok := reread(want); !ok || !bytes.Equal(got, want) {
			t.Errorf("%T %+v\nappended % x\nreread   % x", p, p, want, got)
		}
	}
}

// FuzzPerformative: nothing that comes breaks the decoder, and what it can read
// it reads to the same again. Maps of several members have no order.
func FuzzPerformative(f *testing.F) {
	for _, p := range performatives() {
		f.Add(p.append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		once, ok := reread(b)
		if !ok {
			return
		}
		twice, ok := reread(once)
		if !ok || !bytes.Equal(once, twice) && once[2] != isOpen {
			t.Errorf("% x is read as\n% x, and that as\n% x", b, once, twice)
		}
	})
}

// FuzzSections: no message breaks the walk, which finds the same when it goes again.
func FuzzSections(f *testing.F) {
	tpl, err := NewTemplate(full())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(tpl.prefix(1), 'x'))
	f.Add(marshal(f, peerMessage([]byte("one"), []byte("two"))))
	f.Fuzz(func(t *testing.T, b []byte) {
		one, two := message{b: b}, message{b: bytes.Clone(b), joined: []byte("leftover")[:0]}
		for _, m := range []*message{&one, &two} {
			_, _, _ = m.Application("time"), m.Annotation("x"), m.Property(ReplyToGroup)
		}
		if !bytes.Equal(one.Body(), two.Body()) || one.Header() != two.Header() || one.Bad() != two.Bad() {
			t.Errorf("%+v is read as %+v the second time", one, two)
		}
	})
}

// FuzzBroker: whatever a broker sends, the client does not break, and every
// message that was sent has one outcome in the end.
func FuzzBroker(f *testing.F) {
	var all []byte
	for _, p := range performatives() {
		all = appendFrame(all, 0, p)
		f.Add(appendFrame(nil, 0, p))
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, b []byte) {
		outcomes := map[uint64]int{}
		r := newRig(t, func(token uint64, _ Outcome) { outcomes[token]++ })
		sent := uint64(0)
		r.snd.opt.OnCredit = func(uint32) {
			if sent < 100 && r.snd.Send(r.tpl, make([]byte, 600), sent) == nil {
				sent++
			}
		}
		r.feed(appendFrame(nil, 0, &flow{incoming: 100, ofLink: true, credit: 50}))
		r.c.in.from = bytes.NewReader(b)
		r.c.read()
		for token := range sent {
			if outcomes[token] != 1 {
				t.Errorf("message %d has %d outcomes", token, outcomes[token])
			}
		}
		if r.c.Err() == nil {
			t.Error("the connection has no end")
		}
	})
}
