package wire

import (
	"bytes"
	"testing"
)

// performatives are all that are read, with what is appended for them to read.
func performatives() []Performative {
	why := &Error{Condition: "amqp:not-found", Description: "no such queue"}
	return []Performative{
		&Open{Container: "c", Host: "h", MaxFrame: 512, ChannelMax: 7, Idle: 1000, Desired: []string{"d"}, Offered: []string{"o", "p"}, Properties: map[string]string{"product": "x"}},
		&Begin{Remote: 3, Answers: true, NextOutgoing: 1, Incoming: 2, Outgoing: 3, HandleMax: 4},
		&Attach{Name: "n", Handle: 300, ByReceiver: true, Settle: 1, Source: &Terminus{Address: "a", Durable: 2, Expiry: "never", Distribution: "copy", Selector: "n > 5", Capabilities: []string{"topic", "shared"}}, Target: &Terminus{}, Max: 1 << 40},
		&Attach{Name: "n", Source: &Terminus{}, Target: &Terminus{Coordinator: true, Capabilities: []string{"amqp:local-transactions"}}},
		&Flow{NextIncoming: 1, Begun: true, Incoming: 2, NextOutgoing: 3, Outgoing: 4, OfLink: true, Handle: 5, DeliveryCount: 1 << 31, Counted: true, Credit: 7, Drain: true, Echo: true},
		&Flow{Incoming: 2, NextOutgoing: 3, Outgoing: 4},
		&Disposition{ByReceiver: true, First: 1, Last: 1<<32 - 1, Settled: true, State: State{Is: IsAccepted, Txn: []byte("tx")}},
		&Disposition{First: 1, Last: 2, State: State{Is: IsDeclared, Txn: []byte("tx")}},
		&Detach{Handle: 9, Closed: true, Err: why},
		&Ending{Is: IsEnd, Err: why},
	}
}

// reread reads what b holds and gives what that is appended as; false if b is
// nothing that can be read.
func reread(b []byte) ([]byte, bool) {
	f := Frame{Body: b}
	is, l, _, err := f.Performative()
	if err != nil {
		return nil, false
	}
	var p Performative
	switch is {
	case IsOpen:
		o := &Open{}
		o.Read(&l)
		p = o
	case IsBegin:
		o := &Begin{}
		o.Read(&l)
		p = o
	case IsAttach:
		o := &Attach{}
		o.Read(&l)
		p = o
	case IsFlow:
		o := &Flow{}
		o.Read(&l)
		p = o
	case IsDisposition:
		o := &Disposition{}
		o.Read(&l)
		p = o
	case IsDetach:
		o := &Detach{}
		o.Read(&l)
		p = o
	case IsEnd, IsClose:
		p = &Ending{Is: is, Err: ReadError(l.Next())}
	case IsTransfer:
		var t Transfer
		t.Read(&l)
		return nil, false // what appends it is Sender.render
	default:
		return nil, false
	}
	return p.Append(nil), !l.Bad
}

func TestPerformativesReadBack(t *testing.T) {
	for _, p := range performatives() {
		want := p.Append(nil)
		if got, ok := reread(want); !ok || !bytes.Equal(got, want) {
			t.Errorf("%T %+v\nappended % x\nreread   % x", p, p, want, got)
		}
	}
}

// FuzzPerformative: nothing that comes breaks the decoder, and what it can read
// it reads to the same again. Maps of several members have no order.
func FuzzPerformative(f *testing.F) {
	for _, p := range performatives() {
		f.Add(p.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		once, ok := reread(b)
		if !ok {
			return
		}
		twice, ok := reread(once)
		if !ok || !bytes.Equal(once, twice) && once[2] != IsOpen {
			t.Errorf("% x is read as\n% x, and that as\n% x", b, once, twice)
		}
	})
}
