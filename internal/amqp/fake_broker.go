package amqp

import (
	"net"
	"slices"
	"strings"
	"sync"
)

// broker is a small AMQP 1.0 broker with queues in memory. Its channels and handles differ
// from the client's, so a client that confuses the two sides fails. It is also tested against
// go-amqp, which is independent of this package: see peer_test.go.
type broker struct {
	t      TB
	script script

	mu      sync.Mutex
	queues  map[string][][]byte
	clients []*serving
	seen    []string // performatives that came, with their fields
}

// handleShift is the difference between the broker's and the client's handles. Channels
// differ in the lowest bit.
const handleShift = 5

// serve accepts connections until the test ends, and returns the address.
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

// handle serves one client until its connection ends.
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
		_ = c.nc.Close() // closed even with an error
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

// push adds messages to a queue; depth is their number.
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

// note records what came, for the test.
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
