// Package amqp is an AMQP 1.0 client made for load: messages are encoded once and
// patched, sends are buffered and never wait, outcomes and messages come in
// callbacks, and neither sending nor receiving a message allocates. It knows
// queues, topics and subscriptions in the way of JMS, and local transactions.
// Parts and sections in comments are those of the OASIS standard AMQP 1.0.
//
// All callbacks of a connection come one after the other from its reading
// goroutine. They may send and accept, and must not wait: calls that take a
// context would wait for themselves.
package amqp

import (
	"context"
	"crypto/rand"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/sock"
)

// Conn is a connection to a broker. Its methods, and those of what it gives, may be
// called from any goroutine. It owns two goroutines, which end with it.
type Conn struct {
	net    net.Conn
	direct prompt // the same; nil: one of TLS, or no socket
	opt    Options
	peer   Peer
	tag    string        // begins the names of links that have none
	wake   chan struct{} // something waits to be written; holds one
	done   chan struct{} // closed when err is set
	both   sync.WaitGroup

	mu       sync.Mutex // of what follows, in sessions and links too; never held while waiting
	out      outbox
	sessions []*Session // by channel; nil: free
	err      error      // why it ended
	asked    bool       // a close was sent
	messages uint64     // that were sent

	heard atomic.Bool // something arrived since the last tick

	sentBytes, receivedBytes atomic.Int64 // bytes, from the open on; those of TLS are not counted

	// The reader's own.
	in      inbox
	remote  []*Session  // by the broker's channel
	pending []*Receiver // have something to say at the end of the burst
	eager   *eager      // what in reads from; nil: it sleeps at once
}

// prompt is a connection that can be used without sleeping.
type prompt interface {
	TryWrite(b []byte) int
	Look(b []byte, most time.Duration) int
}

func newConn(nc net.Conn, o Options) *Conn {
	direct, _ := nc.(prompt)
	c := &Conn{
		net: nc, direct: direct, opt: o, tag: "takt-" + rand.Text()[:10], wake: make(chan struct{}, 1), done: make(chan struct{}),
		in: inbox{from: nc, max: o.MaxFrame},
	}
	if o.Eager && direct != nil && runtime.GOMAXPROCS(0) > 1 {
		c.eager = &eager{Reader: nc, direct: direct}
		c.in.from = c.eager
	}
	return c
}

func (c *Conn) start() {
	c.both.Go(c.write)
	c.both.Go(c.read)
}

// Peer is what the broker said of itself.
func (c *Conn) Peer() Peer { return c.peer }

// Done is closed when the connection has ended; Err says why.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err is why the connection ended: ErrClosed after Close, nil as long as it lives.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Arrived is when the last bytes that were read came to this host; the zero time: not known.
func (c *Conn) Arrived() time.Time { return sock.Arrived(c.net) }

// Bytes tells how many bytes of AMQP were sent and received since the connection
// was opened.
func (c *Conn) Bytes() (sent, received int64) { return c.sentBytes.Load(), c.receivedBytes.Load() }

// over is why nothing can be done on the connection any more; under mu.
func (c *Conn) over() error {
	if c.err == nil && c.asked {
		return ErrClosed
	}
	return c.err
}

// Close ends the connection in the broker's knowledge and waits for its answer,
// at most until ctx ends. Then both goroutines are gone, and what was not settled
// has its outcome: Lost. Not to be called from a callback.
func (c *Conn) Close(ctx context.Context) error {
	c.mu.Lock()
	if c.err == nil && !c.asked {
		c.asked = true
		for _, s := range c.sessions {
			if s != nil {
				s.tellAccepted()
			}
		}
		c.append(0, &ending{is: isClose})
		c.poke()
	}
	c.mu.Unlock()
	err := await(ctx, c.done)
	c.fail(ErrClosed)
	c.both.Wait()
	return err
}

// append buffers a frame; under mu.
func (c *Conn) append(channel uint16, p performative) {
	c.out.waits = appendFrame(c.out.waits, channel, p)
}

// fail ends the connection at once.
func (c *Conn) fail(err error) {
	if c.end(err, nil) {
		_ = c.net.Close() // frees both goroutines, and has nothing to add to err
	}
}

// end makes err the reason of the end, if there is none yet, with a last frame
// for the writer to send.
func (c *Conn) end(err error, last performative) bool {
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
