package amqp

import (
	"bytes"
	"testing"

	"github.com/taktload/takt/internal/amqp/wire"
)

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
			_, _ = m.Application("time"), m.Annotation("x")
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
	for _, p := range []wire.Performative{
		&wire.Begin{Remote: 3, Answers: true, NextOutgoing: 1, Incoming: 2, Outgoing: 3, HandleMax: 4},
		&wire.Attach{Name: "n", Handle: 300, ByReceiver: true, Source: &wire.Terminus{Address: "a"}, Target: &wire.Terminus{}, Max: 1 << 40},
		&wire.Flow{NextIncoming: 1, Begun: true, Incoming: 2, NextOutgoing: 3, Outgoing: 4, OfLink: true, DeliveryCount: 1 << 31, Counted: true, Credit: 7, Drain: true, Echo: true},
		&wire.Disposition{ByReceiver: true, First: 1, Last: 1<<32 - 1, Settled: true, State: wire.State{Is: wire.IsAccepted, Txn: []byte("tx")}},
		&wire.Detach{Closed: true, Err: &Error{Condition: "amqp:not-found", Description: "no such queue"}},
		&wire.Ending{Is: wire.IsEnd},
		&wire.Open{Container: "c", MaxFrame: 512},
	} {
		all = wire.AppendFrame(all, 0, p)
		f.Add(wire.AppendFrame(nil, 0, p))
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
		r.feed(wire.AppendFrame(nil, 0, &wire.Flow{Incoming: 100, OfLink: true, Credit: 50}))
		r.c.in.From = bytes.NewReader(b)
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
