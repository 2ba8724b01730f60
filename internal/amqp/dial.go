package amqp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
)

// Peer is what the broker's open says.
type Peer struct {
	Container    string
	MaxFrame     uint32            // bytes
	IdleTimeout  time.Duration     // the broker needs a frame this often; 0: no limit
	ChannelMax   uint16            //
	Capabilities []string          //
	Properties   map[string]string // product, version, queue-prefix and so on
}

// Dial connects, authenticates and opens the connection. The context and the idle timeout
// limit only Dial. A refusal by the broker wraps an *Error.
func Dial(ctx context.Context, o Options) (*Conn, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.IdleTimeout)
	defer cancel()
	began := time.Now()
	attempt, fail := context.WithCancelCause(ctx)
	go o.suspect(attempt, fail)
	c, err := dial(attempt, o)
	if err != nil {
		switch {
		case ctx.Err() == context.DeadlineExceeded:
			err = fmt.Errorf("%w, within %v", ErrSilent, time.Since(began).Round(time.Millisecond))
		case attempt.Err() != nil:
			err = context.Cause(attempt)
		case hungUp(err):
			err = cmp.Or(o.tryOtherWay(ctx), err)
		}
		err = fmt.Errorf("cannot connect to %s: %w", o.Addr, err)
	}
	fail(nil) // ends suspect
	return c, err
}

func dial(ctx context.Context, o Options) (*Conn, error) {
	nc, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	c := newConn(nc, o)
	interrupt := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	err = c.greet()
	if !interrupt() {
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		_ = nc.Close() // no session is open yet
		return nil, err
	}
	c.start()
	return c, nil
}

// greet does the handshake: security layer, headers, open.
func (c *Conn) greet() error {
	if err := c.authenticate(); err != nil {
		return err
	}
	mine := wire.Open{
		Container: c.opt.Container, Host: c.opt.Hostname, MaxFrame: c.opt.MaxFrame, ChannelMax: c.opt.ChannelMax,
		// Half of it: one late heartbeat then does no harm (part 2, section 2.4.5).
		Idle:       uint32(min(c.opt.IdleTimeout/2, maxIdle) / time.Millisecond),
		Properties: map[string]string{"product": "takt"},
	}
	if c.opt.SoleContainer {
		mine.Desired = []string{"sole-connection-for-container"}
	}
	if _, err := c.net.Write(wire.AppendFrame([]byte(wire.ProtocolAMQP), 0, &mine)); err != nil {
		return err
	}
	if err := c.expect(wire.ProtocolAMQP); err != nil {
		return err
	}
	return c.readOpen()
}

// maxIdle is above any sensible idle timeout, and fits the field.
const maxIdle = 24 * time.Hour

func (c *Conn) expect(header string) error {
	got, err := c.in.Header()
	switch {
	case isTLS([]byte(got)) && c.opt.TLS == nil:
		return ErrWantsTLS
	case errors.Is(err, io.EOF) && c.opt.TLS == nil:
		return wire.Malformed("it ended the connection in place of the header %q, as a port for TLS does", header)
	case errors.Is(err, io.EOF):
		return wire.Malformed("it ended the connection in place of the header %q", header)
	case err != nil:
		return err
	case header == wire.ProtocolAMQP && got == wire.ProtocolSASL && c.opt.User == "": // RabbitMQ 3
		return fmt.Errorf("%w (SASL ANONYMOUS); it wants a user and a password", ErrRefused)
	case got != header:
		return wire.Malformed("it answered the header %q by %q", header, got)
	}
	return nil
}

func (c *Conn) readOpen() error {
	f, err := c.in.Wait()
	if err != nil {
		return err
	}
	is, l, _, err := f.Performative()
	switch {
	case err != nil:
		return err
	case is == wire.IsClose:
		return ended("the connection", wire.ReadError(l.Next()))
	case is != wire.IsOpen || f.Kind != wire.FrameAMQP:
		return wire.Malformed("performative 0x%x in place of open", is)
	}
	var o wire.Open
	if o.Read(&l); l.Bad || o.MaxFrame < wire.MinFrame {
		return wire.Malformed("an open with fields that make no sense")
	}
	c.peer = Peer{
		Container: o.Container, MaxFrame: o.MaxFrame, IdleTimeout: time.Duration(o.Idle) * time.Millisecond,
		ChannelMax: o.ChannelMax, Capabilities: o.Offered, Properties: o.Properties,
	}
	if o.Refused {
		return c.readRefusal()
	}
	return nil
}

func (c *Conn) readRefusal() error {
	for {
		f, err := c.in.Wait()
		if err != nil {
			return err
		}
		if is, l, _, err := f.Performative(); err == nil && is == wire.IsClose {
			return ended("the connection", wire.ReadError(l.Next()))
		}
	}
}
