package jms

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/permanent"
)

// line is a place for a connection. If the connection is lost, the line connects again, to any
// broker of the list, and makes the links of its producers and consumers again.
type line struct {
	run       *run
	broker    broker
	container string // client ID; "": none
	member    int    // index of the broker of the list that is connected
	producers []*producer
	consumers []*consumer
	part      *outage.Part
	dirty     bool // buffered frames wait for a flush; only for the pacer
	brief     int  // number of connections in a row that were lost within lastWait; only for tend

	now atomic.Pointer[conn] // the last connection, which may be lost
}

// line connects a new line to the first broker of the list that answers.
func (r *run) line(ctx context.Context, b broker, container string) (*line, error) {
	l := &line{run: r, broker: b, container: container}
	var faults []error
	for l.member = range b.members() {
		c, err := l.dial(ctx)
		switch {
		case err == nil:
			l.part = r.outages.Part("connection to " + b.members()[l.member].addr)
			r.lines = append(r.lines, l)
			l.now.Store(c)
			return l, r.o.unfit(c.Peer())
		case errors.Is(err, amqp.ErrSilent) && len(r.lines) > 0: // the broker answered an earlier connection
			return nil, context.Cause(ctx)
		}
		faults = append(faults, err)
	}
	return nil, errors.Join(faults...)
}

// dial connects to the current member of the list.
func (l *line) dial(ctx context.Context) (*conn, error) {
	c := &conn{run: l.run, line: l}
	ready := make(chan struct{})
	if len(l.broker.others) > 0 { // a silent broker must not use up the time of the others
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, memberTime)
		defer cancel()
	}
	var err error
	c.Conn, err = l.broker.members()[l.member].dial(ctx, amqp.Options{
		Container: l.container, SoleContainer: l.container != "", Eager: l.run.o.eager(), OnBurst: func() { <-ready; c.burst() },
	})
	if err != nil {
		return nil, err
	}
	close(ready)
	return c, nil
}

// memberTime limits an attempt to connect to one broker of several.
const memberTime = 3 * time.Second

func (l *line) conn() *conn { return l.now.Load() }

// flush sends what is buffered.
func (l *line) flush() {
	l.dirty = false
	l.conn().Flush()
}

// worked notes that a message, sent at that instant, was acknowledged.
func (l *line) worked(sent time.Duration) { l.part.Worked(sent, l.run.now()) }

// close ends the connection. tend has ended.
func (l *line) close(ctx context.Context) {
	c := l.conn()
	_ = c.Close(ctx) // the run is over; lost messages have their outcome
	c.report()
}

// report adds the bytes that no operation has. The reader has ended.
func (c *conn) report() {
	sent, received := c.bytes()
	c.run.wireSent.Add(sent)
	c.run.wireReceived.Add(received)
}

// tend connects again whenever the connection is lost, until the run is over.
func (l *line) tend() {
	defer l.giveUp()
	made := time.Now()
	for {
		c := l.conn()
		select {
		case <-c.Done():
		case <-l.run.ctx.Done():
			return
		}
		_ = c.Close(l.run.ctx) // waits for the last callbacks
		if l.run.ctx.Err() != nil {
			return
		}
		c.lost(c.Err())
		l.run.wake() // a message that waits for credit waits for a connection now
		c.report()
		l.brief++
		if time.Since(made) > lastWait {
			l.brief = 0
		}
		err := l.restore(c.Err())
		made = time.Now()
		switch {
		case l.run.ctx.Err() != nil:
			return // the run is over, and that is no reason to fail
		case err != nil:
			l.run.fail(err)
			return
		}
	}
}

// giveUp fails messages that wait to be sent again.
func (l *line) giveUp() {
	for _, p := range l.producers {
		p.giveUp()
	}
}

// lost notes that the connection was lost.
func (c *conn) lost(err error) {
	if !errors.Is(err, amqp.ErrClosed) && c.run.released.Load() && !c.run.over.Load() {
		now := c.run.now()
		c.line.part.Lost(c.line.oldest(now), now, err)
	}
}

// oldest is the instant at which the oldest message without an answer was sent; now: there is none.
func (l *line) oldest(now time.Duration) time.Duration {
	for _, p := range l.producers {
		p.mu.Lock()
		for i := range p.flight {
			if f := &p.flight[i]; f.open {
				now = min(now, f.sent)
			}
		}
		p.mu.Unlock()
	}
	return now
}

// The wait before an attempt to connect doubles from firstWait to lastWait, less up to a half by
// chance: many connections must not come at once.
const (
	firstWait = 10 * time.Millisecond
	lastWait  = 500 * time.Millisecond
)

// restore connects again after the error lost. It fails when --reconnect is over.
func (l *line) restore(lost error) error {
	r := l.run
	if r.o.Reconnect == 0 {
		return lost
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.o.Reconnect)
	defer cancel()
	wait := firstWait
	for range l.brief { // a broker that ends each connection must not be flooded with new ones
		wait = min(2*wait, lastWait)
	}
	if l.brief > 0 {
		pause.For(wait-rand.N(wait/2), ctx.Done())
	}
	for hopeless := 0; ; {
		err := l.again(ctx)
		if err == nil {
			return nil
		}
		if hopeless++; !permanent.Is(err) {
			hopeless = 0
		}
		if hopeless == len(l.broker.members()) {
			return err
		}
		l.member = (l.member + 1) % len(l.broker.members())
		if !pause.For(wait-rand.N(wait/2), ctx.Done()) {
			return fmt.Errorf("the connection was lost (%w), and no broker answered for %v (%w); raise --reconnect to wait longer", lost, r.o.Reconnect, err)
		}
		wait = min(2*wait, lastWait)
	}
}

// again connects to the current member and makes all links.
func (l *line) again(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.run.o.ConnectTimeout)
	defer cancel()
	c, err := l.dial(ctx)
	if err != nil {
		return err
	}
	l.now.Store(c)
	for _, k := range l.consumers {
		if err == nil {
			err = k.attach(ctx, c)
		}
	}
	for _, p := range l.producers {
		if err == nil {
			err = p.attach(ctx, c)
		}
	}
	if err != nil {
		_ = c.Close(ctx) // the reason is known
		c.report()
		return err
	}
	if len(l.producers) == 0 {
		l.part.Back(l.run.now()) // no acknowledgement will show it
	}
	for _, p := range l.producers {
		p.countRetried() // of all before the first acknowledgement, which ends the outage
	}
	for _, p := range l.producers {
		p.resend()
	}
	l.run.wake()
	return nil
}

// lostLink is called when a link ends that this side did not end. If the connection is lost, the
// line makes a new one.
func (c *conn) lostLink(err error) {
	switch {
	case errors.Is(err, amqp.ErrClosed):
	case c.Err() == nil && !forced(err):
		c.run.fail(err)
	case c.Err() == nil:
		c.Drop(err)
	}
}

// forced reports whether a broker ended a link for its own sake, as one that shuts down does.
func forced(err error) bool {
	var e *amqp.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Condition {
	case "amqp:connection:forced", "amqp:link:detach-forced", "amqp:internal-error", "amqp:resource-limit-exceeded":
		return true
	}
	return false
}
