package amqp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
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
	mine := open{
		container: c.opt.Container, host: c.opt.Hostname, maxFrame: c.opt.MaxFrame, channelMax: c.opt.ChannelMax,
		// Half of it: one late heartbeat then does no harm (part 2, section 2.4.5).
		idle:       uint32(min(c.opt.IdleTimeout/2, maxIdle) / time.Millisecond),
		properties: map[string]string{"product": "takt"},
	}
	if c.opt.SoleContainer {
		mine.desired = []string{"sole-connection-for-container"}
	}
	if _, err := c.net.Write(appendFrame([]byte(protocolAMQP), 0, &mine)); err != nil {
		return err
	}
	if err := c.expect(protocolAMQP); err != nil {
		return err
	}
	return c.readOpen()
}

// maxIdle is above any sensible idle timeout, and fits the field.
const maxIdle = 24 * time.Hour

func (c *Conn) expect(header string) error {
	got, err := c.in.header()
	switch {
	case isTLS([]byte(got)) && c.opt.TLS == nil:
		return ErrWantsTLS
	case errors.Is(err, io.EOF) && c.opt.TLS == nil:
		return malformed("it ended the connection in place of the header %q, as a port for TLS does", header)
	case errors.Is(err, io.EOF):
		return malformed("it ended the connection in place of the header %q", header)
	case err != nil:
		return err
	case got != header:
		return malformed("it answered the header %q by %q", header, got)
	}
	return nil
}

func (c *Conn) readOpen() error {
	f, err := c.in.wait()
	if err != nil {
		return err
	}
	is, l, _, err := f.performative()
	switch {
	case err != nil:
		return err
	case is == isClose:
		return ended("the connection", readError(l.next()))
	case is != isOpen || f.kind != frameAMQP:
		return malformed("performative 0x%x in place of open", is)
	}
	var o open
	if o.read(&l); l.bad || o.maxFrame < minFrame {
		return malformed("an open with fields that make no sense")
	}
	c.peer = Peer{
		Container: o.container, MaxFrame: o.maxFrame, IdleTimeout: time.Duration(o.idle) * time.Millisecond,
		ChannelMax: o.channelMax, Capabilities: o.offered, Properties: o.properties,
	}
	if o.refused {
		return c.readRefusal()
	}
	return nil
}

func (c *Conn) readRefusal() error {
	for {
		f, err := c.in.wait()
		if err != nil {
			return err
		}
		if is, l, _, err := f.performative(); err == nil && is == isClose {
			return ended("the connection", readError(l.next()))
		}
	}
}
