package amqp

import (
	"errors"
	"fmt"
	"io"

	"github.com/taktload/takt/internal/amqp/wire"
)

// read is the reading goroutine. It makes all callbacks.
func (c *Conn) read() {
	c.fail(c.readAll())
	c.abandon()
}

// readAll handles received frames, a burst at a time. It ends with an error of its own or of
// the connection.
func (c *Conn) readAll() error {
	for {
		need, err := c.burst()
		if err != nil || isClosed(c.done) {
			return err
		}
		n, err := c.in.Fill(need)
		switch c.receivedBytes.Add(int64(n)); {
		case errors.Is(err, io.EOF):
			return errors.New("the broker ended the connection without a word")
		case err != nil:
			return fmt.Errorf("cannot read from the broker: %w", err)
		}
		c.heard.Store(true)
	}
}

// burst handles the received frames and then sends the replies at once. need is the number of
// bytes for the next frame.
func (c *Conn) burst() (need int, err error) {
	for {
		f, need, err := c.in.Frame()
		if err != nil {
			return 0, err
		}
		if need > 0 {
			c.reply()
			return need, nil
		}
		if err := c.handle(f); err != nil {
			return 0, err
		}
	}
}

func (c *Conn) reply() {
	var before uint64
	if c.eager != nil {
		c.mu.Lock()
		before = c.messages
		c.mu.Unlock()
	}
	if c.opt.OnBurst != nil {
		c.opt.OnBurst()
	}
	c.mu.Lock()
	if c.eager != nil {
		c.eager.expects = c.messages > before
	}
	for i, r := range c.pending {
		r.reply()
		c.pending[i] = nil
	}
	c.pending = c.pending[:0]
	c.mu.Unlock()
	c.Flush()
}

func (c *Conn) handle(f wire.Frame) error {
	if len(f.Body) == 0 {
		return nil // a heartbeat
	}
	is, l, rest, err := f.Performative()
	switch {
	case err != nil:
		return err
	case f.Kind != wire.FrameAMQP:
		return wire.Malformed("a frame of type %d", f.Kind)
	case is == wire.IsClose:
		c.closed(wire.ReadError(l.Next()))
		return nil
	case is == wire.IsBegin:
		return c.begun(f.Channel, &l)
	case int(f.Channel) >= len(c.remote) || c.remote[f.Channel] == nil:
		return wire.Malformed("performative 0x%x on channel %d, where no session is", is, f.Channel)
	}
	return c.remote[f.Channel].handle(is, &l, rest)
}

// closed handles the broker's close: the answer to ours, or a new one to answer.
func (c *Conn) closed(e *Error) {
	c.mu.Lock()
	asked := c.asked
	c.mu.Unlock()
	switch {
	case !asked:
		c.end(ended("the connection", e), &wire.Ending{Is: wire.IsClose})
	case e != nil:
		c.fail(ended("the connection", e))
	default:
		c.fail(ErrClosed)
	}
}

// abandon tells all sessions and callers that the connection has ended.
func (c *Conn) abandon() {
	c.mu.Lock()
	err, sessions := c.err, c.sessions
	c.sessions = nil
	c.mu.Unlock()
	for _, s := range sessions {
		if s != nil {
			s.abandon(err)
		}
	}
	if c.opt.OnBurst != nil {
		c.opt.OnBurst()
	}
}
