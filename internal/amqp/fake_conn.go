package amqp

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// serving is the broker's end of a connection.
type serving struct {
	*broker
	nc        net.Conn
	wake      chan struct{} // a queue has new messages; capacity one
	in        inbox
	state     sync.Mutex // guards the fields below
	out       []byte
	clientMax uint32
	sessions  map[uint16]*served // by the client's channel
	transfers int
	over      bool
}

// release returns unsettled messages to the queues.
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
	if !c.over { // released messages belong to other clients now
		c.pump()
	}
	c.write()
	return !c.over
}

// pumpWhenWoken sends messages that other clients queue.
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

func (c *serving) write() {
	_, _ = c.nc.Write(c.out) // if the client has closed, the reader notices
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
	c.write() // go-amqp waits for this header
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
		c.release() // before the client continues
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

// pump sends queued messages to receivers with credit.
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
