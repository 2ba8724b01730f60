package amqptest

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
)

// Conn is the broker's end of a connection.
type Conn struct {
	*Broker
	nc        net.Conn
	wake      chan struct{} // a queue has new messages; capacity one
	in        wire.Inbox
	state     sync.Mutex // guards the fields below
	out       []byte
	clientMax uint32
	sessions  map[uint16]*session // by the client's channel
	transfers int
	attaches  int
	over      bool
}

// release returns unsettled messages to the queues.
func (c *Conn) release() {
	for _, s := range c.sessions {
		for _, l := range s.links {
			l.release()
		}
	}
}

// serve handles a burst of frames; false when there are no more.
func (c *Conn) serve() bool {
	f, err := c.in.Wait()
	if err != nil {
		return false
	}
	c.state.Lock()
	defer c.state.Unlock()
	if !c.frame(f) {
		return false
	}
	for !c.over && c.in.At < c.in.End { // the rest of the burst
		f, need, err := c.in.Frame()
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
func (c *Conn) pumpWhenWoken(done <-chan struct{}) {
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

// Close ends the connection, with a reason unless why is nil. Script.AtTransfer may call it.
func (c *Conn) Close(why *wire.Error) {
	c.out = wire.AppendFrame(c.out, 0, &wire.Ending{Is: wire.IsClose, Err: why})
	c.over = true
}

// Say sends a frame on the channel of the client's first session. The script's functions may call it.
func (c *Conn) Say(p wire.Performative) { c.out = wire.AppendFrame(c.out, firstChannel, p) }

// SayRaw sends any bytes.
func (c *Conn) SayRaw(b []byte) { c.out = append(c.out, b...) }

// The broker's names for the client's first session and its first links.
const (
	firstChannel = 1
	FirstHandle  = handleShift
)

// Hang ends the connection after what was said, without a close.
func (c *Conn) Hang() { c.over = true }

func (c *Conn) write() {
	_, _ = c.nc.Write(c.out) // if the client has closed, the reader notices
	c.out = c.out[:0]
}

func (c *Conn) greet() bool {
	if h, err := c.in.Header(); err != nil || h != wire.ProtocolSASL {
		return false
	}
	mechanisms := c.script.Mechanisms
	if mechanisms == nil {
		mechanisms = []string{"PLAIN", "ANONYMOUS"}
	}
	c.out = append(c.out, wire.ProtocolSASL...)
	l := wire.OpenList(wire.OpenFrame(c.out, wire.FrameSASL, 0), wire.IsMechanisms)
	l.SymbolsSet(mechanisms)
	c.out = wire.CloseFrame(l.Close(), wire.ProtocolBytes)
	c.write()
	f, err := c.in.Wait()
	if err != nil {
		return false
	}
	_, init, _, _ := f.Performative()
	c.note("sasl " + init.Text() + " " + strings.ReplaceAll(init.Text(), "\x00", "/"))
	l = wire.OpenList(wire.OpenFrame(c.out, wire.FrameSASL, 0), wire.IsOutcome)
	l.Ubyte(c.script.SASLCode)
	c.out = wire.CloseFrame(l.Close(), 0)
	c.write()
	if h, err := c.in.Header(); err != nil || h != wire.ProtocolAMQP {
		return false
	}
	c.out = append(c.out, wire.ProtocolAMQP...)
	c.write() // go-amqp waits for this header
	return true
}

// frame handles one frame; false ends the connection.
func (c *Conn) frame(f wire.Frame) bool {
	if len(f.Body) == 0 {
		c.note("heartbeat")
		return true
	}
	is, l, rest, err := f.Performative()
	if err != nil {
		c.t.Errorf("the client sends nonsense: %v", err)
		return false
	}
	s := c.sessions[f.Channel]
	switch {
	case is == wire.IsOpen:
		c.opened(&l)
		return !l.Bad
	case c.script.Mute:
		return true
	}
	switch is {
	case wire.IsClose:
		c.note("close")
		c.release() // before the client continues
		c.Close(nil)
	case wire.IsBegin:
		c.begun(f.Channel, &l)
	case wire.IsEnd:
		c.note("end")
		c.out = wire.AppendFrame(c.out, s.channel, &wire.Ending{Is: wire.IsEnd})
		delete(c.sessions, f.Channel)
	case wire.IsAttach:
		s.attached(&l)
	case wire.IsFlow:
		s.flowed(&l)
	case wire.IsTransfer:
		s.received(&l, rest)
	case wire.IsDisposition:
		s.disposed(&l)
	case wire.IsDetach:
		s.detached(&l)
	}
	if l.Bad {
		c.t.Errorf("the client sends a malformed performative 0x%x", is)
	}
	return !l.Bad
}

func (c *Conn) opened(l *wire.Fields) {
	var o wire.Open
	o.Read(l)
	c.clientMax = o.MaxFrame
	c.note("open " + o.Container + " " + o.Host + " " + strings.Join(o.Desired, ","))
	mine := wire.Open{
		Container: "broker", MaxFrame: cmp.Or(c.script.MaxFrame, 64<<10), ChannelMax: 100,
		Idle: uint32(c.script.Idle / time.Millisecond), Offered: []string{"ANONYMOUS-RELAY"},
		Properties: map[string]string{"product": "test"},
	}
	maps.Copy(mine.Properties, c.script.Properties)
	if c.script.Open != nil {
		c.script.Open(&mine)
	}
	c.out = wire.AppendFrame(c.out, 0, &mine)
	if _, refused := mine.Properties[wire.Refusal]; refused {
		c.out = wire.AppendFrame(c.out, 0, &wire.Ending{Is: wire.IsClose, Err: &wire.Error{Condition: "amqp:not-allowed", Description: "container is in use"}})
	}
}

func (c *Conn) begun(channel uint16, l *wire.Fields) {
	var p wire.Begin
	p.Read(l)
	s := &session{
		c: c, channel: channel ^ 1, incoming: p.NextOutgoing, outgoing: 7, next: c.script.First,
		links: map[uint32]*link{}, flight: map[uint32]flight{}, held: map[string][]func(){},
	}
	c.sessions[channel] = s
	c.out = wire.AppendFrame(c.out, s.channel, &wire.Begin{
		Remote: channel, Answers: true, NextOutgoing: s.outgoing, Incoming: s.window(), Outgoing: 100, HandleMax: 20,
	})
}

// pump sends queued messages to receivers with credit.
func (c *Conn) pump() {
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
