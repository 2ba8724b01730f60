package amqp

import "math"

// The performatives of each message, or of each few messages (part 2, section 2.7). Reading
// and appending them does not allocate.

type flow struct {
	nextIncoming                     uint32
	begun                            bool   // nextIncoming is set
	incoming, nextOutgoing, outgoing uint32 // windows, in transfers
	ofLink                           bool   // the fields below are valid
	handle, deliveryCount, credit    uint32
	counted                          bool // deliveryCount is set
	drain, echo                      bool
}

func (w *flow) append(b []byte) []byte {
	l := openList(b, isFlow)
	if w.begun {
		l.uint(w.nextIncoming)
	} else {
		l.skip(1)
	}
	l.uint(w.incoming)
	l.uint(w.nextOutgoing)
	l.uint(w.outgoing)
	if w.ofLink {
		l.uint(w.handle)
		l.uint(w.deliveryCount)
		l.uint(w.credit)
		l.skip(1) // available
		l.bool(w.drain)
	} else {
		l.skip(5)
	}
	l.bool(w.echo)
	return l.close()
}

func (w *flow) read(f *fields) {
	next, ok := f.maybe(math.MaxUint32)
	w.nextIncoming, w.begun = uint32(next), ok
	w.incoming, w.nextOutgoing, w.outgoing = f.must(), f.must(), f.must()
	handle, ok := f.maybe(math.MaxUint32)
	w.handle, w.ofLink = uint32(handle), ok
	count, ok := f.maybe(math.MaxUint32)
	w.deliveryCount, w.counted = uint32(count), ok
	w.credit = f.uint(0)
	f.skip(1)
	w.drain, w.echo = f.bool(), f.bool()
}

type transfer struct {
	handle  uint32
	id      uint32
	first   bool // id is set, which a delivery's first transfer requires
	settled bool
	more    bool
	aborted bool
}

func (t *transfer) read(f *fields) {
	t.handle = f.must()
	id, ok := f.maybe(math.MaxUint32)
	t.id, t.first = uint32(id), ok
	f.skip(2) // tag, message format
	t.settled, t.more = f.bool(), f.bool()
	f.skip(3) // settle mode, state, resume
	t.aborted = f.bool()
}

type disposition struct {
	byReceiver  bool // the sender of the frame is the receiver
	first, last uint32
	settled     bool
	state       state
}

func (p *disposition) append(b []byte) []byte {
	l := openList(b, isDisposition)
	l.b = appendBool(l.next(), p.byReceiver)
	l.uint(p.first)
	l.uint(p.last)
	l.bool(p.settled)
	if p.state.is != 0 {
		l.b = p.state.append(l.next())
	}
	return l.close()
}

func (p *disposition) read(f *fields) {
	p.byReceiver, p.first = f.bool(), f.must()
	p.last = f.uint(p.first)
	p.settled = f.bool()
	p.state = readState(f.next())
}

// state is the state of a delivery (part 3, section 3.4; part 4, section 4.5).
type state struct {
	is  uint64 // isAccepted and so on; 0: no state
	txn []byte // transaction of the delivery, or the declared one
	why Value  // error of isRejected
}

func (s *state) append(b []byte) []byte {
	switch {
	case s.is == isDeclared:
		l := openList(b, isDeclared)
		l.binary(s.txn)
		return l.close()
	case s.txn != nil:
		l := openList(b, isTransactional)
		l.binary(s.txn)
		l.b = append(appendDescriptor(l.next(), s.is), codeList0)
		return l.close()
	}
	return append(appendDescriptor(b, s.is), codeList0)
}

// readState reads a state. For a transactional state it unpacks the outcome.
func readState(v Value) state {
	is, l := v.composite()
	if is != isTransactional {
		return readOutcome(is, &l)
	}
	txn := l.bytes()
	is, l = l.next().composite()
	s := readOutcome(is, &l)
	s.txn = txn
	return s
}

func readOutcome(is uint64, l *fields) state {
	switch is {
	case isDeclared:
		return state{is: is, txn: l.bytes()}
	case isRejected:
		return state{is: is, why: l.next()}
	}
	return state{is: is}
}
