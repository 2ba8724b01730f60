package amqptest

import (
	"bytes"

	"github.com/taktload/takt/internal/amqp/wire"
)

// flight is a message in flight to a receiver.
type flight struct {
	l       *link
	message []byte
}

// transferred is a transfer with the fields that the client never reads.
type transferred struct {
	wire.Transfer
	tag   []byte
	state wire.State
}

func (t *transferred) read(f *wire.Fields) {
	t.Handle = f.Must()
	id, ok := f.Maybe(1<<32 - 1)
	t.ID, t.First = uint32(id), ok
	t.tag = f.Bytes()
	f.Skip(1)
	t.Settled, t.More = f.Bool(), f.Bool()
	f.Skip(1)
	t.state = wire.ReadState(f.Next())
	f.Skip(1)
	t.Aborted = f.Bool()
}

func (s *session) received(f *wire.Fields, payload []byte) {
	var t transferred
	t.read(f)
	s.c.transfers++
	s.incoming++
	if s.c.script.AtTransfer != nil {
		s.c.script.AtTransfer(s.c, s.c.transfers)
	}
	l := s.links[t.Handle]
	if l == nil || s.c.over {
		return
	}
	l.parts = append(l.parts, payload...)
	if t.First {
		l.id = t.ID // go-amqp omits the id in later transfers
	}
	t.ID = l.id
	if t.More {
		return
	}
	message := bytes.Clone(l.parts)
	l.parts = l.parts[:0]
	l.taken++
	l.credit--
	if l.credit == 0 {
		l.grant()
	} else if s.c.script.Window > 0 {
		s.flow(wire.Flow{})
	}
	if l.coordinator {
		s.coordinate(t.ID, message)
		return
	}
	s.c.take(l, &t, message)
}

// take settles a message and queues it, at the end of its transaction if it has one.
func (c *Conn) take(l *link, t *transferred, message []byte) {
	is, why, settled := uint64(wire.IsAccepted), (*wire.Error)(nil), true
	if c.script.Outcome != nil {
		is, why, settled = c.script.Outcome(int(l.taken))
	}
	store := func() { c.Push(l.address, message) }
	if is == wire.IsAccepted && c.answer(l.address, message) {
		store = func() {}
	}
	switch {
	case is != wire.IsAccepted:
	case t.state.Txn != nil:
		c.note("transacted")
		l.s.held[string(t.state.Txn)] = append(l.s.held[string(t.state.Txn)], store)
	default:
		store()
	}
	if !t.Settled {
		l.s.settle(t.ID, settled, is, t.state.Txn, why)
	}
}

// settle appends a disposition of the broker, with an error, which the client never sends.
func (s *session) settle(id uint32, settled bool, is uint64, txn []byte, why *wire.Error) {
	at := len(s.c.out)
	l := wire.OpenList(wire.OpenFrame(s.c.out, wire.FrameAMQP, s.channel), wire.IsDisposition)
	l.B = wire.AppendBool(l.Next(), true)
	l.Uint(id)
	l.Skip(1)
	l.Bool(settled)
	if why != nil {
		inner := wire.OpenList(l.Next(), is)
		why.Field(&inner)
		l.B = inner.Close()
	} else {
		st := wire.State{Is: is, Txn: txn}
		l.B = st.Append(l.Next())
	}
	s.c.out = wire.CloseFrame(l.Close(), at)
}

// coordinate declares and discharges transactions.
func (s *session) coordinate(id uint32, message []byte) {
	d := wire.Decoder{B: message}
	_, v := d.Described()
	is, l := v.Composite()
	if is == wire.IsDeclare {
		s.declared++
		txn := []byte{'t', 'x', s.declared}
		s.held[string(txn)] = []func(){}
		s.settle(id, true, wire.IsDeclared, txn, nil)
		return
	}
	txn := string(l.Bytes())
	failed := l.Bool()
	held, known := s.held[txn]
	delete(s.held, txn)
	if !known {
		s.settle(id, true, wire.IsRejected, nil, &wire.Error{Condition: "amqp:transaction:unknown-id", Description: "no such transaction"})
		return
	}
	for _, do := range held {
		if !failed {
			do()
		}
	}
	s.settle(id, true, wire.IsAccepted, nil, nil)
}

// disposed handles the client's settlement of received messages. It ignores ids without a
// flight: a range may have gaps.
func (s *session) disposed(f *wire.Fields) {
	var p wire.Disposition
	p.Read(f)
	if !p.ByReceiver {
		s.c.note("settled by the sender")
		return
	}
	s.c.note("disposition")
	for id := p.First; int32(p.Last-id) >= 0; id++ {
		forget := func() { delete(s.flight, id) }
		if p.State.Txn == nil {
			forget()
		} else {
			s.held[string(p.State.Txn)] = append(s.held[string(p.State.Txn)], forget)
		}
	}
}

// send sends a message in as many frames as necessary; only the first frame has an id.
func (s *session) send(l *link, message []byte) {
	id := s.next
	s.next++
	if !l.settled {
		s.flight[id] = flight{l, message}
	}
	l.credit--
	l.count++
	for first := true; first || len(message) > 0; first = false {
		n := min(len(message), int(s.c.clientMax)-64)
		s.transfer(l, id, first, n < len(message), message[:n])
		message = message[n:]
	}
}

func (s *session) transfer(l *link, id uint32, first, more bool, piece []byte) {
	at := len(s.c.out)
	list := wire.OpenList(wire.OpenFrame(s.c.out, wire.FrameAMQP, s.channel), wire.IsTransfer)
	list.Uint(l.handle + handleShift)
	if first {
		list.Uint(id)
		list.Binary([]byte{byte(id)})
		list.Uint(0)
	} else {
		list.Skip(3)
	}
	list.Bool(l.settled)
	list.Bool(more)
	s.c.out = wire.CloseFrame(append(list.Close(), piece...), at)
	s.outgoing++
}
