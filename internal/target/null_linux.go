package target

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/sock"
)

const (
	// batchSize is how many bytes of answers to pipelined requests go out in one
	// call; at least one answer does.
	batchSize = 64 << 10
	// deafTime is how long no connection is taken after one could not be: file
	// descriptors come back when connections end.
	deafTime = 10 * time.Millisecond
)

// null is the null server. All but the counters belongs to its thread.
type null struct {
	answer   int    // length of one
	batch    []byte // answers one after the other
	poll     *sock.Poller
	listener int
	deaf     bool       // the listener is not watched
	conns    []nullConn // by file descriptor
	in       [64 << 10]byte
	events   [128]sock.Event
	served   uint64

	ending                            atomic.Bool
	requests, malformed, acceptErrors atomic.Uint64
}

func newNull(answer []byte) *null {
	n := &null{answer: len(answer), batch: answer}
	for len(n.batch)+len(answer) <= batchSize {
		n.batch = append(n.batch, answer...)
	}
	return n
}

// serve serves until ctx ends, in the calling thread. While the thread waits it
// keeps a P of the Go scheduler: the command raises GOMAXPROCS by one.
func (n *null) serve(ctx context.Context, l *net.TCPListener) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if n.listener, err = sock.Listener(l); err != nil {
		return fmt.Errorf("cannot take the listener over: %w", err)
	}
	defer sock.Close(n.listener)
	if n.poll, err = sock.NewPoller(); err != nil {
		return fmt.Errorf("cannot make the poller: %w; leave --null out", err)
	}
	defer n.poll.Close()
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		n.ending.Store(true)
		n.poll.Wake()
		close(woken)
	})
	err = n.loop()
	if !stop() {
		<-woken // the poller must not be closed under it
	}
	for fd := range n.conns {
		n.close(fd)
	}
	return err
}

// loop serves until the end.
func (n *null) loop() error {
	if err := n.poll.Add(n.listener, int32(n.listener), false); err != nil {
		return err
	}
	for !n.ending.Load() {
		wait := sock.MaxWait
		if n.deaf {
			wait = deafTime
		}
		got := n.poll.Wait(wait, n.events[:])
		for _, ev := range n.events[:got] {
			if int(ev.Token) != n.listener {
				n.ready(int(ev.Token), ev)
			}
		}
		n.requests.Store(n.served)
		// After the answers: who is connected goes before who wants to be.
		if err := n.accept(n.events[:got]); err != nil {
			return err
		}
	}
	return nil
}

// accept takes the connections that wait, if any do.
func (n *null) accept(events []sock.Event) error {
	waiting := n.deaf
	for _, ev := range events {
		waiting = waiting || int(ev.Token) == n.listener
	}
	if !waiting {
		return nil
	}
	for {
		fd, errno := sock.Accept(n.listener)
		switch {
		case errno == 0:
			n.welcome(fd)
		case errno == sock.Again:
			return n.listen(true)
		case passing(errno):
			n.acceptErrors.Add(1)
			return n.listen(false)
		default:
			return fmt.Errorf("cannot accept connections: %w", os.NewSyscallError("accept4", errno))
		}
	}
}

// listen says whether the listener is watched.
func (n *null) listen(on bool) error {
	if n.deaf == !on {
		return nil
	}
	n.deaf = !on
	if on {
		return n.poll.Watch(n.listener, int32(n.listener), false)
	}
	return n.poll.Mute(n.listener, int32(n.listener), false)
}

// welcome begins to serve a connection.
func (n *null) welcome(fd int) {
	if n.poll.Add(fd, int32(fd), false) != nil {
		n.acceptErrors.Add(1)
		sock.Close(fd)
		return
	}
	for fd >= len(n.conns) {
		n.conns = append(n.conns, nullConn{})
	}
	c := &n.conns[fd]
	*c = nullConn{open: true, watched: watched{read: true}, head: c.head[:0]}
}

func (n *null) close(fd int) {
	if n.conns[fd].open {
		n.conns[fd].open = false
		sock.Close(fd)
	}
}

func (n *null) truth() *Truth {
	served := n.requests.Load()
	return &Truth{
		Freezes: []Window{}, Records: []Record{}, Skipped: served,
		Counts: Counts{Requests: served, OK: served, Malformed: n.malformed.Load(), AcceptErrors: n.acceptErrors.Load()},
	}
}
