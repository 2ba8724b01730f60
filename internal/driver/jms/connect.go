package jms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/amqp"
)

// connect makes all links, consumers first, so that no message is missed. Consumers receive
// no message until release.
func (r *run) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.ConnectTimeout,
		fmt.Errorf("not all links were made within %v; raise --connect-timeout, or ask for fewer", r.o.ConnectTimeout))
	defer cancel()
	if r.o.receives {
		if err := r.connectConsumers(ctx); err != nil {
			return err
		}
	}
	if r.o.sends {
		return r.connectProducers(ctx)
	}
	return nil
}

// dial connects to b. container is the client ID; "": none.
func (r *run) dial(ctx context.Context, b broker, container string) (*conn, error) {
	c := &conn{run: r}
	ready := make(chan struct{})
	var err error
	c.Conn, err = b.dial(ctx, amqp.Options{
		Container: container, SoleContainer: container != "", Eager: r.o.window.single, OnBurst: func() { <-ready; c.burst() },
	})
	switch {
	case errors.Is(err, amqp.ErrSilent) && len(r.conns) > 0: // the broker answered an earlier connection
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	close(ready)
	r.conns = append(r.conns, c)
	return c, r.o.unfit(c.Peer())
}

func (r *run) connectConsumers(ctx context.Context) error {
	list, n := r.o.sources()
	var conns []*conn
	for i := range n {
		c, err := r.dial(ctx, r.o.Consume.broker, r.o.clientID(i, n))
		if err != nil {
			return err
		}
		conns = append(conns, c)
	}
	for _, s := range list {
		c, err := r.consume(ctx, conns[s.conn], s)
		if err != nil {
			return err
		}
		r.consumers = append(r.consumers, c)
		r.o.follower.say("receiving from %s, link %s, client ID %q", s.dest, c.rcv.Name(), r.o.clientID(s.conn, n))
	}
	return nil
}

func (r *run) consume(ctx context.Context, on *conn, s source) (*consumer, error) {
	session, err := on.Session(ctx)
	if err != nil {
		return nil, err
	}
	c := &consumer{run: r, conn: on, source: s, session: session}
	if r.o.Tx {
		if c.tx, err = newAcceptances(ctx, c); err != nil {
			return nil, err
		}
	}
	c.rcv, err = session.Receiver(ctx, amqp.ReceiverOptions{
		Name: s.name, Address: on.address(s.dest), Capabilities: s.capabilities, Durable: s.durable, Expiry: s.expiry,
		Distribution: s.distribution, Selector: r.o.Selector, Credit: uint32(r.o.Credit), Held: true,
		OnDelivery: c.deliver, OnDetach: r.lostLink,
	})
	if err != nil {
		return nil, explain(err, s.dest)
	}
	on.add(c)
	return c, nil
}

func (r *run) connectProducers(ctx context.Context) error {
	total := r.o.Producers * len(r.o.destinations)
	n := r.o.producerConns(total)
	var conns []*conn
	for range n {
		c, err := r.dial(ctx, r.o.Broker.broker, "")
		if err != nil {
			return err
		}
		conns = append(conns, c)
	}
	for _, d := range r.o.destinations {
		for range r.o.Producers {
			i := len(r.producers)
			p, err := r.produce(ctx, conns[i%n], d, i)
			if err != nil {
				return err
			}
			r.producers = append(r.producers, p)
			r.o.follower.say("sending to %s", d)
		}
	}
	return nil
}

func (r *run) produce(ctx context.Context, on *conn, d destination, stream int) (*producer, error) {
	session, err := on.Session(ctx)
	if err != nil {
		return nil, err
	}
	p := &producer{run: r, conn: on, most: r.o.window.pending, copies: 0}
	if r.o.receives {
		p.copies = r.o.copies(d)
	}
	if p.tpl, p.at, err = r.o.template(d, on.address(d), r.id, stream%(1<<streamBits)); err != nil {
		return nil, err
	}
	p.snd, err = session.Sender(ctx, amqp.SenderOptions{
		Address: on.address(d), Capabilities: []string{d.kind()}, OnSettled: p.settled, OnCredit: func(uint32) { r.wake() }, OnDetach: p.detached,
	})
	if err == nil && r.o.CommitInterval > 0 {
		return p, p.transact(ctx, session)
	}
	return p, explain(err, d)
}

// coordinator attaches to the broker's transaction coordinator, which flag requires.
func coordinator(ctx context.Context, s *amqp.Session, flag string) (*amqp.Coordinator, error) {
	co, err := s.Coordinator(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; the broker may not support transactions: leave out %s", err, flag)
	}
	return co, nil
}

// explain adds a remedy to the broker's refusal.
func explain(err error, d destination) error {
	var e *amqp.Error
	if !errors.As(err, &e) {
		return err
	}
	hint := "see the broker's log"
	switch e.Condition {
	case "amqp:not-found", "amqp:invalid-field": // RabbitMQ 3 returns the second for an address that it cannot parse
		hint = "make it, or see --queue-prefix and --topic-prefix"
	case "amqp:unauthorized-access":
		hint = "give --user the right to"
	case "amqp:not-implemented", "amqp:precondition-failed", "amqp:not-allowed":
		hint = "the broker may not support what was asked for of " + d.String()
	}
	return fmt.Errorf("%w; %s", err, hint)
}

// closeTime is the time limit for ending the links.
const closeTime = 5 * time.Second

// disconnect ends the links, removes durable subscriptions unless they are to be kept, and
// returns the failures.
func (r *run) disconnect(ctx context.Context) (faults []error) {
	r.mu.Lock()
	before := r.closed
	r.closed = true
	r.mu.Unlock()
	if before {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	for _, c := range r.consumers {
		if c.source.durable == 0 || c.conn.Err() != nil {
			continue
		}
		// The broker removes a subscription only with its last link.
		if err := c.rcv.Detach(ctx, c.source.last && !r.o.KeepSubscriptions); err != nil {
			faults = append(faults, fmt.Errorf("the subscription %s could not be ended: %w", c.rcv.Name(), err))
		}
	}
	for _, c := range r.conns {
		_ = c.Close(ctx) // the run is over; lost messages have their outcome
	}
	return faults
}

// close implements takt.Driver.Close, for runs that did not start.
func (r *run) close() error {
	r.over.Store(true)
	r.disconnect(context.Background())
	return nil
}
