package amqp

import (
	"cmp"
	"strings"
)

// served is the broker's end of a session.
type served struct {
	c        *serving
	channel  uint16 // broker's channel
	incoming uint32 // number of the next transfer that comes
	outgoing uint32 // number of the next transfer that goes
	next     uint32 // number of the next delivery
	links    map[uint32]*servedLink
	flight   map[uint32]flight // sent and not settled
	held     map[string][]func()
	declared byte
}

func (s *served) window() uint32 { return cmp.Or(s.c.script.window, 2048) }

func (s *served) attached(f *fields) {
	var a attach
	a.read(f)
	l := &servedLink{s: s, name: a.name, handle: a.handle, receives: a.byReceiver, settled: a.settle == 1, count: s.c.script.first}
	answer := attach{
		name: a.name, handle: a.handle + handleShift, byReceiver: !a.byReceiver, settle: a.settle,
		source: a.source, target: a.target, first: s.c.script.first, max: s.c.script.maxMessage,
	}
	switch {
	case a.byReceiver && a.source != nil:
		l.address = a.source.address
		s.c.note("attach receiver " + l.address + " " + strings.Join(a.source.capabilities, ",") + " " + a.source.selector)
	case !a.byReceiver && a.target != nil:
		l.address, l.coordinator = a.target.address, a.target.coordinator
		s.c.note("attach sender " + l.address + " " + strings.Join(a.target.capabilities, ","))
	default:
		s.c.note("attach nothing " + a.name)
	}
	if s.c.script.refuse != nil {
		answer.source, answer.target = nil, nil
		s.c.out = appendFrame(s.c.out, s.channel, &answer)
		s.c.out = appendFrame(s.c.out, s.channel, &detach{handle: answer.handle, closed: true, err: s.c.script.refuse})
		return
	}
	if a.byReceiver && a.source == nil { // a durable subscription, which this broker always has
		answer.source = &terminus{address: "subscribed", durable: 2}
	}
	s.links[a.handle] = l
	s.c.out = appendFrame(s.c.out, s.channel, &answer)
	if !a.byReceiver {
		l.grant()
	}
}

func (s *served) flow(w flow) {
	w.begun, w.nextIncoming, w.incoming, w.nextOutgoing, w.outgoing = true, s.incoming, s.window(), s.outgoing, 100
	s.c.out = appendFrame(s.c.out, s.channel, &w)
}

func (s *served) flowed(f *fields) {
	var w flow
	w.read(f)
	if l := s.links[w.handle]; w.ofLink && l != nil && l.receives {
		l.credit = w.deliveryCount + w.credit - l.count
	}
	s.c.note("flow")
}

func (s *served) detached(f *fields) {
	var d detach
	d.read(f)
	l := s.links[d.handle]
	if l == nil {
		return // answer to the broker's detach
	}
	s.c.note("detach " + l.name + map[bool]string{true: " closed"}[d.closed])
	delete(s.links, d.handle)
	l.release()
	s.c.out = appendFrame(s.c.out, s.channel, &detach{handle: d.handle + handleShift, closed: d.closed})
}

type servedLink struct {
	s            *served
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

func (l *servedLink) release() {
	for id, f := range l.s.flight {
		if f.l == l {
			l.s.c.push(l.address, f.message)
			delete(l.s.flight, id)
		}
	}
}

func (l *servedLink) grant() {
	l.credit = cmp.Or(l.s.c.script.credit, 100)
	l.s.flow(flow{ofLink: true, handle: l.handle + handleShift, deliveryCount: l.taken, credit: l.credit})
}
