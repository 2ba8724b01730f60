package amqptest

import (
	"cmp"
	"strings"

	"github.com/taktload/takt/internal/amqp/wire"
)

// session is the broker's end of a session.
type session struct {
	c        *Conn
	channel  uint16 // broker's channel
	incoming uint32 // number of the next transfer that comes
	outgoing uint32 // number of the next transfer that goes
	next     uint32 // number of the next delivery
	links    map[uint32]*link
	flight   map[uint32]flight // sent and not settled
	held     map[string][]func()
	declared byte
}

func (s *session) window() uint32 { return cmp.Or(s.c.script.Window, 2048) }

func (s *session) attached(f *wire.Fields) {
	var a wire.Attach
	a.Read(f)
	l := &link{s: s, name: a.Name, handle: a.Handle, receives: a.ByReceiver, settled: a.Settle == 1, count: s.c.script.First}
	answer := wire.Attach{
		Name: a.Name, Handle: a.Handle + handleShift, ByReceiver: !a.ByReceiver, Settle: a.Settle,
		Source: a.Source, Target: a.Target, First: s.c.script.First, Max: s.c.script.MaxMessage,
	}
	switch {
	case a.ByReceiver && a.Source != nil:
		if a.Source.Dynamic {
			a.Source.Address = s.c.temporary()
		}
		l.address = a.Source.Address
		s.c.note("attach receiver " + l.address + " " + strings.Join(a.Source.Capabilities, ",") + " " + a.Source.Selector)
	case !a.ByReceiver && a.Target != nil:
		l.address, l.coordinator = a.Target.Address, a.Target.Coordinator
		s.c.note("attach sender " + l.address + " " + strings.Join(a.Target.Capabilities, ","))
	default:
		s.c.note("attach nothing " + a.Name)
	}
	if s.c.script.Refuse != nil && (s.c.script.Refused == "" || s.c.script.Refused == l.address) {
		answer.Source, answer.Target = nil, nil
		s.c.out = wire.AppendFrame(s.c.out, s.channel, &answer)
		s.c.out = wire.AppendFrame(s.c.out, s.channel, &wire.Detach{Handle: answer.Handle, Closed: true, Err: s.c.script.Refuse})
		return
	}
	if a.ByReceiver && a.Source == nil { // a durable subscription, which this broker always has
		answer.Source = &wire.Terminus{Address: "subscribed", Durable: 2}
	}
	s.links[a.Handle] = l
	s.c.out = wire.AppendFrame(s.c.out, s.channel, &answer)
	if !a.ByReceiver && !s.c.script.NoCredit {
		l.grant()
	}
	if s.c.attaches++; s.c.script.AtAttach != nil {
		s.c.script.AtAttach(s.c, s.c.attaches)
	}
}

func (s *session) flow(w wire.Flow) {
	w.Begun, w.NextIncoming, w.Incoming, w.NextOutgoing, w.Outgoing = true, s.incoming, s.window(), s.outgoing, 100
	s.c.out = wire.AppendFrame(s.c.out, s.channel, &w)
}

func (s *session) flowed(f *wire.Fields) {
	var w wire.Flow
	w.Read(f)
	if l := s.links[w.Handle]; w.OfLink && l != nil && l.receives {
		l.credit = w.DeliveryCount + w.Credit - l.count
	}
	s.c.note("flow")
}

func (s *session) detached(f *wire.Fields) {
	var d wire.Detach
	d.Read(f)
	l := s.links[d.Handle]
	if l == nil {
		return // answer to the broker's detach
	}
	s.c.note("detach " + l.name + map[bool]string{true: " closed"}[d.Closed])
	delete(s.links, d.Handle)
	l.release()
	s.c.out = wire.AppendFrame(s.c.out, s.channel, &wire.Detach{Handle: d.Handle + handleShift, Closed: d.Closed})
}

type link struct {
	s            *session
	name         string
	handle       uint32 // client's handle
	address      string
	coordinator  bool
	receives     bool // the client receives
	settled      bool
	credit       uint32
	count, taken uint32
	id           uint32 // id of the message in parts
	parts        []byte
}

func (l *link) release() {
	for id, f := range l.s.flight {
		if f.l == l {
			l.s.c.Push(l.address, f.message)
			delete(l.s.flight, id)
		}
	}
}

func (l *link) grant() {
	l.credit = cmp.Or(l.s.c.script.Credit, 100)
	l.s.flow(wire.Flow{OfLink: true, Handle: l.handle + handleShift, DeliveryCount: l.taken, Credit: l.credit})
}
