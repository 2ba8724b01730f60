// Package amqptest is a small AMQP 1.0 broker for tests of takt's client and of what uses it.
// No program contains it. It speaks with the codec of package wire, which it shares with the
// client; a test of package amqp lets it speak with go-amqp, which has nothing in common with
// either.
package amqptest

import (
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/amqp/wire"
)

// Broker is a small AMQP 1.0 broker with queues in memory; it treats topics as queues. Its
// channels and handles differ from the client's, so a client that confuses the two sides
// fails.
type Broker struct {
	t      testing.TB
	script Script

	mu      sync.Mutex
	port    net.Listener // of Serve
	queues  map[string][][]byte
	clients []*Conn
	made    int      // nodes that clients asked for
	seen    []string // performatives that came, with their fields
}

// Script is the behaviour of a broker. With the zero script the broker accepts everything.
type Script struct {
	Mechanisms []string          // SASL mechanisms; nil: PLAIN and ANONYMOUS
	SASLCode   byte              // code of the SASL outcome
	MaxFrame   uint32            // bytes; 0: 64 KiB
	Idle       time.Duration     // idle timeout that it announces
	Window     uint32            // window of a session, in transfers; 0: 2048
	Credit     uint32            // credit of a sender; 0: 100
	First      uint32            // number of the first delivery, and delivery-count of its senders
	MaxMessage uint64            // bytes; 0: no limit
	Mute       bool              // no frames are sent after open
	NoCredit   bool              // senders never get credit
	Properties map[string]string // additional properties of its open
	Refuse     *wire.Error       // error with which attaches are refused
	Refused    string            // address of the attaches that are refused; "": all

	// Answer answers a message to an address that names another one for the answer; nil: such
	// messages are like others.
	Answer func(address string, q Question) (ok bool, text string)
	// Open changes the open; nil: the open stays.
	Open func(o *wire.Open)
	// Outcome is the outcome of a link's n-th message, from 1; nil: all are accepted.
	Outcome func(n int) (is uint64, why *wire.Error, settled bool)
	// AtAttach is called after the n-th attach of a connection, from 1, was answered.
	AtAttach func(c *Conn, n int)
	// AtTransfer is called before the n-th transfer of a connection, from 1, is handled.
	AtTransfer func(c *Conn, n int)
}

// handleShift is the difference between the broker's and the client's handles. Channels
// differ in the lowest bit.
const handleShift = 5

// New returns a broker that behaves as the script says.
func New(t testing.TB, s Script) *Broker { return &Broker{t: t, script: s} }

// Serve accepts connections until the test ends, and returns the address.
func (b *Broker) Serve() string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	b.port = ln
	b.mu.Unlock()
	var all sync.WaitGroup
	b.t.Cleanup(func() { _ = ln.Close(); all.Wait() })
	all.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() { b.Handle(nc) })
		}
	})
	return ln.Addr().String()
}

// Handle serves one client until its connection ends.
func (b *Broker) Handle(nc net.Conn) {
	defer func() { _ = nc.Close() }()
	c := &Conn{Broker: b, nc: nc, in: wire.Inbox{From: nc, Max: 1 << 20}, sessions: map[uint16]*session{}, wake: make(chan struct{}, 1)}
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

// Die ends all connections at once.
func (b *Broker) Die() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.clients {
		_ = c.nc.Close() // closed even with an error
	}
}

// Stop ends all connections and accepts no further one, until Serve is called again.
func (b *Broker) Stop() {
	b.mu.Lock()
	_ = b.port.Close() // closed even with an error
	b.mu.Unlock()
	b.Die()
}

func (b *Broker) join(c *Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clients = append(b.clients, c)
}

func (b *Broker) leave(c *Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clients = slices.DeleteFunc(b.clients, func(o *Conn) bool { return o == c })
}

// Push adds encoded messages to a queue, for later receivers.
func (b *Broker) Push(queue string, messages ...[]byte) {
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

func (b *Broker) pop(queue string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queues[queue]
	if len(q) == 0 {
		return nil, false
	}
	b.queues[queue] = q[1:]
	return q[0], true
}

// Depth is the number of messages in a queue.
func (b *Broker) Depth(queue string) int { return len(b.Messages(queue)) }

// Messages are the encoded messages in a queue.
func (b *Broker) Messages(queue string) [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.queues[queue])
}

// note records what came, for the test.
func (b *Broker) note(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = append(b.seen, what)
}

// Seen are the performatives received, with their fields.
func (b *Broker) Seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.seen)
}

// Saw is the number of performatives received that begin with what, such as "attach sender
// Q".
func (b *Broker) Saw(what string) int {
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
