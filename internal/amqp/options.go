package amqp

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/sock"
)

// Options is how a connection is made. Only Addr is needed.
type Options struct {
	Addr          string        // host:port
	TLS           *tls.Config   // nil: plain TCP. Without ServerName the host of Addr is taken
	User          string        // with Password for SASL PLAIN; "": SASL ANONYMOUS
	Password      string        //
	Container     string        // container id, which JMS calls the client ID; "": a random one
	SoleContainer bool          // ask the broker to refuse a second connection with the same Container
	Hostname      string        // virtual host; "": the host of Addr
	IdleTimeout   time.Duration // without a byte from the broker the connection ends, also while it is made; 0: 60 s
	MaxFrame      uint32        // bytes of a frame that arrives, at least 512; 0: 128 KiB
	MaxMessage    int           // bytes of a message that arrives; 0: 128 MiB
	ChannelMax    uint16        // highest channel number, which is one less than the sessions; 0: 255
	Buffer        int           // bytes that may wait to be written before Send returns ErrBusy; 0: 1 MiB
	Eager         bool          // look for the answer to what callbacks sent before going to sleep, see eager; not over TLS

	// OnBurst is a callback too: all that had arrived at once was handled. What it
	// sends and accepts goes with the answer to the burst.
	OnBurst func()

	// Dial makes the connection; nil: reach.Dial.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// complete fills in what was left out and reports all faults.
func (o *Options) complete() error {
	var faults []error
	host, _, err := net.SplitHostPort(o.Addr)
	if err != nil {
		faults = append(faults, fmt.Errorf("address %q: %w; write host:port", o.Addr, err))
	}
	if o.IdleTimeout != 0 && o.IdleTimeout < 100*time.Millisecond {
		faults = append(faults, fmt.Errorf("idle timeout of %v; use at least 100ms, or 0 for 60s", o.IdleTimeout))
	}
	if o.MaxFrame != 0 && o.MaxFrame < wire.MinFrame {
		faults = append(faults, fmt.Errorf("frames of at most %d bytes; AMQP 1.0 needs at least %d", o.MaxFrame, wire.MinFrame))
	}
	if o.MaxMessage < 0 || o.Buffer < 0 {
		faults = append(faults, fmt.Errorf("messages of at most %d bytes, a buffer of %d; use 0 or more", o.MaxMessage, o.Buffer))
	}
	if o.User == "" && o.Password != "" {
		faults = append(faults, errors.New("a password is given without a user; add the user"))
	}
	if strings.Contains(o.User+o.Password, "\x00") {
		faults = append(faults, errors.New("user or password holds a NUL byte, which SASL PLAIN cannot send; take it out"))
	}
	o.Hostname = cmp.Or(o.Hostname, host)
	o.Container = cmp.Or(o.Container, "takt-"+rand.Text())
	o.IdleTimeout = cmp.Or(o.IdleTimeout, time.Minute)
	o.MaxFrame = cmp.Or(o.MaxFrame, 128<<10)
	o.MaxMessage = cmp.Or(o.MaxMessage, 128<<20)
	o.ChannelMax = cmp.Or(o.ChannelMax, 255)
	o.Buffer = cmp.Or(o.Buffer, 1<<20)
	if o.Dial == nil {
		o.Dial = reach.Dial
	}
	return errors.Join(faults...)
}

// connect dials, with TLS if asked.
func (o *Options) connect(ctx context.Context) (net.Conn, error) {
	nc, err := o.Dial(ctx, "tcp", o.Addr)
	if err != nil {
		return nil, err
	}
	nc = sock.Quiet(nc)
	if o.TLS == nil {
		return nc, nil
	}
	config := o.TLS.Clone()
	config.ServerName = cmp.Or(config.ServerName, o.Hostname)
	secure := tls.Client(nc, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = nc.Close() // the handshake's error is the one to tell
		return nil, handshakeFault(err)
	}
	return secure, nil
}
