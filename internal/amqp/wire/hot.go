package wire

import "math"

// The performatives of each message, or of each few messages (part 2, section 2.7). Reading
// and appending them does not allocate.

// Flow is the windows of a session, and the credit of a link.
type Flow struct {
	NextIncoming                     uint32
	Begun                            bool   // NextIncoming is set
	Incoming, NextOutgoing, Outgoing uint32 // windows, in transfers
	OfLink                           bool   // the fields below are valid
	Handle, DeliveryCount, Credit    uint32
	Counted                          bool // DeliveryCount is set
	Drain, Echo                      bool
}

func (w *Flow) Append(b []byte) []byte {
	l := OpenList(b, IsFlow)
	if w.Begun {
		l.Uint(w.NextIncoming)
	} else {
		l.Skip(1)
	}
	l.Uint(w.Incoming)
	l.Uint(w.NextOutgoing)
	l.Uint(w.Outgoing)
	if w.OfLink {
		l.Uint(w.Handle)
		l.Uint(w.DeliveryCount)
		l.Uint(w.Credit)
		l.Skip(1) // available
		l.Bool(w.Drain)
	} else {
		l.Skip(5)
	}
	l.Bool(w.Echo)
	return l.Close()
}

func (w *Flow) Read(f *Fields) {
	next, ok := f.Maybe(math.MaxUint32)
	w.NextIncoming, w.Begun = uint32(next), ok
	w.Incoming, w.NextOutgoing, w.Outgoing = f.Must(), f.Must(), f.Must()
	handle, ok := f.Maybe(math.MaxUint32)
	w.Handle, w.OfLink = uint32(handle), ok
	count, ok := f.Maybe(math.MaxUint32)
	w.DeliveryCount, w.Counted = uint32(count), ok
	w.Credit = f.Uint(0)
	f.Skip(1)
	w.Drain, w.Echo = f.Bool(), f.Bool()
}

// Transfer is a message or a part of one; the payload follows it in the frame.
type Transfer struct {
	Handle  uint32
	ID      uint32
	First   bool // id is set, which a delivery's first transfer requires
	Settled bool
	More    bool
	Aborted bool
}

func (t *Transfer) Read(f *Fields) {
	t.Handle = f.Must()
	id, ok := f.Maybe(math.MaxUint32)
	t.ID, t.First = uint32(id), ok
	f.Skip(2) // tag, message format
	t.Settled, t.More = f.Bool(), f.Bool()
	f.Skip(3) // settle mode, state, resume
	t.Aborted = f.Bool()
}

// Disposition is the state of a range of deliveries.
type Disposition struct {
	ByReceiver  bool // the sender of the frame is the receiver
	First, Last uint32
	Settled     bool
	State       State
}

func (p *Disposition) Append(b []byte) []byte {
	l := OpenList(b, IsDisposition)
	l.B = AppendBool(l.Next(), p.ByReceiver)
	l.Uint(p.First)
	l.Uint(p.Last)
	l.Bool(p.Settled)
	if p.State.Is != 0 {
		l.B = p.State.Append(l.Next())
	}
	return l.Close()
}

func (p *Disposition) Read(f *Fields) {
	p.ByReceiver, p.First = f.Bool(), f.Must()
	p.Last = f.Uint(p.First)
	p.Settled = f.Bool()
	p.State = ReadState(f.Next())
}

// State is the state of a delivery (part 3, section 3.4; part 4, section 4.5).
type State struct {
	Is  uint64 // IsAccepted and so on; 0: no state
	Txn []byte // transaction of the delivery, or the declared one
	Why Value  // error of IsRejected
}

// Append appends the state.
func (s *State) Append(b []byte) []byte {
	switch {
	case s.Is == IsDeclared:
		l := OpenList(b, IsDeclared)
		l.Binary(s.Txn)
		return l.Close()
	case s.Txn != nil:
		l := OpenList(b, IsTransactional)
		l.Binary(s.Txn)
		l.B = append(AppendDescriptor(l.Next(), s.Is), codeList0)
		return l.Close()
	}
	return append(AppendDescriptor(b, s.Is), codeList0)
}

// ReadState reads a state. For a transactional state it unpacks the outcome.
func ReadState(v Value) State {
	is, l := v.Composite()
	if is != IsTransactional {
		return readOutcome(is, &l)
	}
	txn := l.Bytes()
	is, l = l.Next().Composite()
	s := readOutcome(is, &l)
	s.Txn = txn
	return s
}

func readOutcome(is uint64, l *Fields) State {
	switch is {
	case IsDeclared:
		return State{Is: is, Txn: l.Bytes()}
	case IsRejected:
		return State{Is: is, Why: l.Next()}
	}
	return State{Is: is}
}
