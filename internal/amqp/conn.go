// Package amqp is an AMQP 1.0 client for load generation. Messages are encoded once and
// patched. Sends are buffered and never wait. Outcomes and messages come in callbacks.
// Neither sending nor receiving a message allocates. It supports queues, topics and
// subscriptions as JMS maps them, and local transactions. Parts and sections in comments are
// those of the OASIS standard AMQP 1.0.
//
// The reading goroutine of a connection makes all callbacks, one after the other. Callbacks
// may send and accept, but must not wait: a call with a context would wait for its own
// goroutine.
package amqp

import (
	"context"
	"crypto/rand"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
	"github.com/taktload/takt/internal/sock"
)

// Conn is a connection to a broker. Any goroutine may call its methods and those of its
// sessions and links. It has two goroutines, which end with it.
type Conn struct {
	net    net.Conn
	direct prompt // net without sleeping; nil: TLS, or no socket
	opt    Options
	peer   Peer
	tag    string        // prefix for names of links without a name
	wake   chan struct{} // buffered bytes wait to be written; capacity one
	done   chan struct{} // closed when err is set
	both   sync.WaitGroup

	mu       sync.Mutex // guards the fields below, also in sessions and links; never held while waiting
	out      outbox
	sessions []*Session // by channel; nil: free
	err      error      // reason for the end
	asked    bool       // our close was sent
	messages uint64     // number of messages sent

	heard atomic.Bool // bytes arrived since the last tick

	sentBytes, receivedBytes atomic.Int64 // bytes since the open, without those of TLS

	// Only the reader uses the following fields.
	in      wire.Inbox
	remote  []*Session  // by the broker's channel
	pending []*Receiver // receivers with frames to send at the end of the burst
	eager   *eager      // reader of in that spins first; nil: in sleeps at once
}

// prompt is a connection with calls that do not sleep.
type prompt interface {
	TryWrite(b []byte) int
	Look(b []byte, most time.Duration) int
}

func newConn(nc net.Conn, o Options) *Conn {
	direct, _ := nc.(prompt)
	c := &Conn{
		net: nc, direct: direct, opt: o, tag: "takt-" + rand.Text()[:10], wake: make(chan struct{}, 1), done: make(chan struct{}),
		in: wire.Inbox{From: nc, Max: o.MaxFrame},
	}
	if o.Eager && direct != nil && runtime.GOMAXPROCS(0) > 1 {
		c.eager = &eager{Reader: nc, direct: direct}
		c.in.From = c.eager
	}
	return c
}

func (c *Conn) start() {
	c.both.Go(c.write)
	c.both.Go(c.read)
}

// Peer is what the broker's open says.
func (c *Conn) Peer() Peer { return c.peer }

// Done is closed when the connection has ended. Err returns the reason.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err is why the connection ended: ErrClosed after Close, nil while the connection is open.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Arrived is when the last bytes that were read came to this host; the zero time: unknown.
func (c *Conn) Arrived() time.Time { return sock.Arrived(c.net) }

// Bytes returns the bytes of AMQP sent and received since the open.
func (c *Conn) Bytes() (sent, received int64) { return c.sentBytes.Load(), c.receivedBytes.Load() }

// over returns why the connection is no longer usable; under mu.
func (c *Conn) over() error {
	if c.err == nil && c.asked {
		return ErrClosed
	}
	return c.err
}

// Close sends a close and waits for the broker's answer, at most until ctx ends. Then both
// goroutines have ended, and unsettled messages have the outcome Lost. A callback must not
// call Close.
func (c *Conn) Close(ctx context.Context) error {
	c.mu.Lock()
	if c.err == nil && !c.asked {
		c.asked = true
		c.append(0, &wire.Ending{Is: wire.IsClose})
		c.poke()
	}
	c.mu.Unlock()
	err := await(ctx, c.done)
	c.fail(ErrClosed)
	c.both.Wait()
	return err
}

// Drop ends the connection at once because of err, as if it had broken. A callback may call it.
func (c *Conn) Drop(err error) { c.fail(err) }

// append buffers a frame; under mu.
func (c *Conn) append(channel uint16, p wire.Performative) {
	c.out.waits = wire.AppendFrame(c.out.waits, channel, p)
}

// fail ends the connection at once.
func (c *Conn) fail(err error) {
	if c.end(err, nil) {
		_ = c.net.Close() // ends both goroutines; its error adds nothing to err
	}
}

// end sets err as the reason for the end, unless there is one, with a last frame for the
// writer to send.
func (c *Conn) end(err error, last wire.Performative) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	c.err = err
	if last != nil {
		c.append(0, last)
		_ = c.net.SetWriteDeadline(time.Now().Add(lastWrite))
	} else {
		c.out.waits = c.out.waits[:0]
	}
	close(c.done)
	return true
}

// await waits until the channel what is closed, or ctx ends.
func await(ctx context.Context, what <-chan struct{}) error {
	select {
	case <-what:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// closeOnce closes a channel that may be closed; under mu.
func closeOnce(c chan struct{}) {
	if !isClosed(c) {
		close(c)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
