package amqp

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// TB is what a Fake wants of a test.
type TB interface {
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Cleanup(func())
	Context() context.Context
}

// Fake is a small AMQP 1.0 broker for the tests of other packages, with queues in
// memory; topics are queues to it. Set before Serve how it behaves.
type Fake struct {
	Outcome func(n int) (s State, settled bool) // of a link's n-th message; nil: all are accepted
	Credit  uint32                              // of a sender; 0: 100
	Die     int                                 // it ends the connection at its n-th transfer; 0: never
	Refuse  *Error                              // of every link
	Is      map[string]string                   // properties of its open, beside those of every fake
	b       *broker
}

// Serve gives the address of a broker that lives as long as the test.
func (f *Fake) Serve(t TB) string {
	f.b = &broker{t: t, script: script{credit: f.Credit, refuse: f.Refuse}}
	f.b.script.open = func(o *open) { maps.Copy(o.properties, f.Is) }
	if f.Die > 0 {
		f.b.script.atTransfer = func(c *serving, n int) {
			if n == f.Die {
				c.die()
			}
		}
	}
	if f.Outcome != nil {
		is := [...]uint64{Accepted: isAccepted, Rejected: isRejected, Released: isReleased, Modified: isModified}
		f.b.script.outcome = func(n int) (uint64, *Error, bool) {
			s, settled := f.Outcome(n)
			if s == Lost { // it never says
				return isReceived, nil, false
			}
			return is[s], nil, settled
		}
	}
	return f.b.serve()
}

// Depth is how many messages a queue has.
func (f *Fake) Depth(queue string) int { return len(f.b.messages(queue)) }

// Push puts encoded messages into a queue, for receivers that come later.
func (f *Fake) Push(queue string, messages ...[]byte) { f.b.push(queue, messages...) }

// Saw is how often a performative came that begins like what, such as "attach sender Q".
func (f *Fake) Saw(what string) int { return f.b.saw(what) }

// broker is a small AMQP 1.0 broker, with queues in memory. It numbers
// channels and handles in another way than the client, so that a client that
// mixes up the two sides fails. go-amqp, which knows nothing of this package,
// speaks with it too: see peer_test.go.
type broker struct {
	t      TB
	script script

	mu      sync.Mutex
	queues  map[string][][]byte
	clients []*serving
	seen    []string // performatives that came, and what they said
}

// script is how a broker behaves. The zero script is a friendly one.
type script struct {
	mechanisms []string      // nil: PLAIN and ANONYMOUS
	saslCode   byte          // of the outcome
	maxFrame   uint32        // 0: 64 KiB
	idle       time.Duration // that it announces
	window     uint32        // of a session, in transfers; 0: 2048
	credit     uint32        // of a sender; 0: 100
	first      uint32        // number of the first delivery, and delivery-count of its senders
	maxMessage uint64        //
	mute       bool          // it says nothing behind open
	open       func(o *open) // changes the broker's open
	refuse     *Error        // of every attach
	outcome    func(n int) (is uint64, why *Error, settled bool)
	atTransfer func(c *serving, n int) // before the n-th transfer, from 1, is handled
}

// handleShift is what the broker's handles are above the client's. Channels differ
// in the lowest bit.
const handleShift = 5

// serve accepts connections until the test ends, and gives the address.
func (b *broker) serve() string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	var all sync.WaitGroup
	b.t.Cleanup(func() { _ = ln.Close(); all.Wait() })
	all.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() { b.handle(nc) })
		}
	})
	return ln.Addr().String()
}

// handle speaks with one client until its connection ends.
func (b *broker) handle(nc net.Conn) {
	defer func() { _ = nc.Close() }()
	c := &serving{broker: b, nc: nc, in: inbox{from: nc, max: 1 << 20}, sessions: map[uint16]*served{}, wake: make(chan struct{}, 1)}
	if !c.greet() {
		return
	}
	b.join(c)
	done := make(chan struct{})
	var pumping sync.WaitGroup
	pumping.Go(func() { c.pumpWhenWoken(done) })
	for c.serve() {
	}
	b.leave(c)
	close(done)
	pumping.Wait()
	c.write()
	c.release()
}

// release gives what was not settled to others.
func (c *serving) release() {
	for _, s := range c.sessions {
		for _, l := range s.links {
			l.release()
		}
	}
}

// serve handles a burst of frames; false when there are no more.
func (c *serving) serve() bool {
	f, err := c.in.wait()
	if err != nil {
		return false
	}
	c.state.Lock()
	defer c.state.Unlock()
	if !c.frame(f) {
		return false
	}
	for !c.over && c.in.at < c.in.end { // the rest of the burst
		f, need, err := c.in.frame()
		if err != nil || need > 0 || !c.frame(f) {
			break
		}
	}
	if !c.over { // what was released is others' by now
		c.pump()
	}
	c.write()
	return !c.over
}

// pumpWhenWoken sends what others put into the queues.
func (c *serving) pumpWhenWoken(done <-chan struct{}) {
	for {
		select {
		case <-c.wake:
			c.state.Lock()
			if !c.over {
				c.pump()
				c.write()
			}
			c.state.Unlock()
		case <-done:
			return
		}
	}
}

// die ends all connections at once.
func (b *broker) die() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.clients {
		_ = c.nc.Close() // whatever it says, it is closed
	}
}

func (b *broker) join(c *serving) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clients = append(b.clients, c)
}

func (b *broker) leave(c *serving) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clients = slices.DeleteFunc(b.clients, func(o *serving) bool { return o == c })
}

// push puts messages into a queue; depth tells how many there are.
func (b *broker) push(queue string, messages ...[]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queues == nil {
		b.queues = map[string][][]byte{}
	}
	b.queues[queue] = append(b.queues[queue], messages...)
	for _, c := range b.clients {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

func (b *broker) pop(queue string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queues[queue]
	if len(q) == 0 {
		return nil, false
	}
	b.queues[queue] = q[1:]
	return q[0], true
}

func (b *broker) messages(queue string) [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.queues[queue])
}

// note remembers what came, for the test to look at.
func (b *broker) note(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = append(b.seen, what)
}

func (b *broker) saw(what string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, s := range b.seen {
		if strings.HasPrefix(s, what) {
			n++
		}
	}
	return n
}

// serving is the broker's end of a connection.
type serving struct {
	*broker
	nc        net.Conn
	wake      chan struct{} // a queue has got messages; holds one
	in        inbox
	state     sync.Mutex // of what follows
	out       []byte
	clientMax uint32
	sessions  map[uint16]*served // by the client's channel
	transfers int
	over      bool
}

// served is the broker's end of a session.
type served struct {
	c        *serving
	channel  uint16 // of the broker
	incoming uint32 // number of the next transfer that comes
	outgoing uint32 // number of the next transfer that goes
	next     uint32 // number of the next delivery
	links    map[uint32]*servedLink
	flight   map[uint32]flight // sent and not settled
	held     map[string][]func()
	declared byte
}

// flight is a message on its way to a receiver.
type flight struct {
	l       *servedLink
	message []byte
}

type servedLink struct {
	s            *served
	name         string
	handle       uint32 // of the client
	address      string
	coordinator  bool
	receives     bool // the client does
	settled      bool
	credit       uint32
	count, taken uint32
	id           uint32 // of the message that parts are of
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

func (c *serving) write() {
	_, _ = c.nc.Write(c.out) // the client may be gone: the reader notices
	c.out = c.out[:0]
}

func (c *serving) greet() bool {
	if h, err := c.in.header(); err != nil || h != protocolSASL {
		return false
	}
	mechanisms := c.script.mechanisms
	if mechanisms == nil {
		mechanisms = []string{"PLAIN", "ANONYMOUS"}
	}
	c.out = append(c.out, protocolSASL...)
	l := openList(openFrame(c.out, frameSASL, 0), isMechanisms)
	l.symbolsSet(mechanisms)
	c.out = closeFrame(l.close(), protocolBytes)
	c.write()
	f, err := c.in.wait()
	if err != nil {
		return false
	}
	_, init, _, _ := f.performative()
	c.note("sasl " + init.text() + " " + strings.ReplaceAll(init.text(), "\x00", "/"))
	l = openList(openFrame(c.out, frameSASL, 0), isOutcome)
	l.ubyte(c.script.saslCode)
	c.out = closeFrame(l.close(), 0)
	c.write()
	if h, err := c.in.header(); err != nil || h != protocolAMQP {
		return false
	}
	c.out = append(c.out, protocolAMQP...)
	c.write() // go-amqp waits for it
	return true
}

// frame handles one frame; false ends the connection.
func (c *serving) frame(f frame) bool {
	if len(f.body) == 0 {
		c.note("heartbeat")
		return true
	}
	is, l, rest, err := f.performative()
	if err != nil {
		c.t.Errorf("the client sends nonsense: %v", err)
		return false
	}
	s := c.sessions[f.channel]
	switch {
	case is == isOpen:
		c.opened(&l)
		return !l.bad
	case c.script.mute:
		return true
	}
	switch is {
	case isClose:
		c.note("close")
		c.release() // before the client goes on
		c.out = appendFrame(c.out, 0, &ending{is: isClose})
		c.over = true
	case isBegin:
		c.begun(f.channel, &l)
	case isEnd:
		c.note("end")
		c.out = appendFrame(c.out, s.channel, &ending{is: isEnd})
		delete(c.sessions, f.channel)
	case isAttach:
		s.attached(&l)
	case isFlow:
		s.flowed(&l)
	case isTransfer:
		s.received(&l, rest)
	case isDisposition:
		s.disposed(&l)
	case isDetach:
		s.detached(&l)
	}
	if l.bad {
		c.t.Errorf("the client sends a malformed performative 0x%x", is)
	}
	return !l.bad
}

func (c *serving) opened(l *fields) {
	var o open
	o.read(l)
	c.clientMax = o.maxFrame
	c.note("open " + o.container + " " + o.host + " " + strings.Join(o.desired, ","))
	mine := open{
		container: "broker", maxFrame: cmp.Or(c.script.maxFrame, 64<<10), channelMax: 100,
		idle: uint32(c.script.idle / time.Millisecond), offered: []string{"ANONYMOUS-RELAY"},
		properties: map[string]string{"product": "test"},
	}
	if c.script.open != nil {
		c.script.open(&mine)
	}
	c.out = appendFrame(c.out, 0, &mine)
	if _, refused := mine.properties[refusal]; refused {
		c.out = appendFrame(c.out, 0, &ending{is: isClose, err: &Error{"amqp:not-allowed", "container is in use"}})
	}
}

func (c *serving) begun(channel uint16, l *fields) {
	var p begin
	p.read(l)
	s := &served{
		c: c, channel: channel ^ 1, incoming: p.nextOutgoing, outgoing: 7, next: c.script.first,
		links: map[uint32]*servedLink{}, flight: map[uint32]flight{}, held: map[string][]func(){},
	}
	c.sessions[channel] = s
	c.out = appendFrame(c.out, s.channel, &begin{
		remote: channel, answers: true, nextOutgoing: s.outgoing, incoming: s.window(), outgoing: 100, handleMax: 20,
	})
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
	if a.byReceiver && a.source == nil { // a durable subscription, which every broker of tests has
		answer.source = &terminus{address: "subscribed", durable: 2}
	}
	s.links[a.handle] = l
	s.c.out = appendFrame(s.c.out, s.channel, &answer)
	if !a.byReceiver {
		l.grant()
	}
}

func (l *servedLink) grant() {
	l.credit = cmp.Or(l.s.c.script.credit, 100)
	l.s.flow(flow{ofLink: true, handle: l.handle + handleShift, deliveryCount: l.taken, credit: l.credit})
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

// transferred is a transfer with what the client itself never reads.
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
		l.id = t.id // go-amqp leaves it out of what follows
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

// take settles a message and puts it into the queue, at the end of its transaction if it has one.
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

// settle appends a disposition by the broker, with the error that the client never sends.
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

// disposed takes what the client settles of what it received, of ids without a
// flight too: a range may have holes.
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

func (s *served) detached(f *fields) {
	var d detach
	d.read(f)
	l := s.links[d.handle]
	if l == nil {
		return // the answer to a detach of the broker's
	}
	s.c.note("detach " + l.name + map[bool]string{true: " closed"}[d.closed])
	delete(s.links, d.handle)
	l.release()
	s.c.out = appendFrame(s.c.out, s.channel, &detach{handle: d.handle + handleShift, closed: d.closed})
}

// pump sends what there is to receivers that have credit.
func (c *serving) pump() {
	for _, s := range c.sessions {
		for _, handle := range slices.Sorted(maps.Keys(s.links)) {
			for l := s.links[handle]; l.receives && l.credit > 0; {
				message, ok := c.pop(l.address)
				if !ok {
					break
				}
				s.send(l, message)
			}
		}
	}
}

// send sends a message in as many frames as it needs, only the first of which has an id.
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
