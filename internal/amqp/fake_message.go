package amqp

import "bytes"

// flight is a message in flight to a receiver.
type flight struct {
	l       *servedLink
	message []byte
}

// transferred is a transfer with the fields that the client never reads.
type transferred struct {
	transfer
	tag   []byte
	state state
}

func (t *transferred) read(f *fields) {
	t.handle = f.must()
	id, ok := f.maybe(1<<32 - 1)
	t.id, t.first = uint32(id), ok
	t.tag = f.bytes()
	f.skip(1)
	t.settled, t.more = f.bool(), f.bool()
	f.skip(1)
	t.state = readState(f.next())
	f.skip(1)
	t.aborted = f.bool()
}

func (s *served) received(f *fields, payload []byte) {
	var t transferred
	t.read(f)
	s.c.transfers++
	s.incoming++
	if s.c.script.atTransfer != nil {
		s.c.script.atTransfer(s.c, s.c.transfers)
	}
	l := s.links[t.handle]
	if l == nil || s.c.over {
		return
	}
	l.parts = append(l.parts, payload...)
	if t.first {
		l.id = t.id // go-amqp omits the id in later transfers
	}
	t.id = l.id
	if t.more {
		return
	}
	message := bytes.Clone(l.parts)
	l.parts = l.parts[:0]
	l.taken++
	l.credit--
	if l.credit == 0 {
		l.grant()
	} else if s.c.script.window > 0 {
		s.flow(flow{})
	}
	if l.coordinator {
		s.coordinate(t.id, message)
		return
	}
	s.c.take(l, &t, message)
}

// take settles a message and queues it, at the end of its transaction if it has one.
func (c *serving) take(l *servedLink, t *transferred, message []byte) {
	is, why, settled := uint64(isAccepted), (*Error)(nil), true
	if c.script.outcome != nil {
		is, why, settled = c.script.outcome(int(l.taken))
	}
	store := func() { c.push(l.address, message) }
	switch {
	case is != isAccepted:
	case t.state.txn != nil:
		c.note("transacted")
		l.s.held[string(t.state.txn)] = append(l.s.held[string(t.state.txn)], store)
	default:
		store()
	}
	if !t.settled {
		l.s.settle(t.id, settled, is, t.state.txn, why)
	}
}

// settle appends a disposition of the broker, with an error, which the client never sends.
func (s *served) settle(id uint32, settled bool, is uint64, txn []byte, why *Error) {
	at := len(s.c.out)
	l := openList(openFrame(s.c.out, frameAMQP, s.channel), isDisposition)
	l.b = appendBool(l.next(), true)
	l.uint(id)
	l.skip(1)
	l.bool(settled)
	if why != nil {
		inner := openList(l.next(), is)
		why.field(&inner)
		l.b = inner.close()
	} else {
		st := state{is: is, txn: txn}
		l.b = st.append(l.next())
	}
	s.c.out = closeFrame(l.close(), at)
}

// coordinate declares and discharges transactions.
func (s *served) coordinate(id uint32, message []byte) {
	d := decoder{b: message}
	_, v := d.described()
	is, l := v.composite()
	if is == isDeclare {
		s.declared++
		txn := []byte{'t', 'x', s.declared}
		s.held[string(txn)] = []func(){}
		s.settle(id, true, isDeclared, txn, nil)
		return
	}
	txn := string(l.bytes())
	failed := l.bool()
	held, known := s.held[txn]
	delete(s.held, txn)
	if !known {
		s.settle(id, true, isRejected, nil, &Error{"amqp:transaction:unknown-id", "no such transaction"})
		return
	}
	for _, do := range held {
		if !failed {
			do()
		}
	}
	s.settle(id, true, isAccepted, nil, nil)
}

// disposed handles the client's settlement of received messages. It ignores ids without a
// flight: a range may have gaps.
func (s *served) disposed(f *fields) {
	var p disposition
	p.read(f)
	if !p.byReceiver {
		s.c.note("settled by the sender")
		return
	}
	s.c.note("disposition")
	for id := p.first; int32(p.last-id) >= 0; id++ {
		forget := func() { delete(s.flight, id) }
		if p.state.txn == nil {
			forget()
		} else {
			s.held[string(p.state.txn)] = append(s.held[string(p.state.txn)], forget)
		}
	}
}

// send sends a message in as many frames as necessary; only the first frame has an id.
func (s *served) send(l *servedLink, message []byte) {
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

func (s *served) transfer(l *servedLink, id uint32, first, more bool, piece []byte) {
	at := len(s.c.out)
	list := openList(openFrame(s.c.out, frameAMQP, s.channel), isTransfer)
	list.uint(l.handle + handleShift)
	if first {
		list.uint(id)
		list.binary([]byte{byte(id)})
		list.uint(0)
	} else {
		list.skip(3)
	}
	list.bool(l.settled)
	list.bool(more)
	s.c.out = closeFrame(append(list.close(), piece...), at)
	s.outgoing++
}
