package amqp

import (
	"net"
	"slices"
	"strings"
	"sync"
)

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
