package jms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/amqp"
)

// connect makes all links, and reads the broker's counters.
func (r *run) connect(ctx context.Context) error {
	if err := r.connectAll(ctx); err != nil || !r.o.sends {
		return err
	}
	return r.readBefore(ctx)
}

// connectAll makes all links, consumers first, so that no message is missed. Consumers receive
// no message until release.
func (r *run) connectAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.ConnectTimeout,
		fmt.Errorf("not all links were made within %v; raise --connect-timeout, or ask for fewer", r.o.ConnectTimeout))
	defer cancel()
	if r.o.receives {
		if err := r.connectConsumers(ctx); err != nil {
			return err
		}
	}
	if !r.o.sends {
		return nil
	}
	return r.connectProducers(ctx)
}

func (r *run) connectConsumers(ctx context.Context) error {
	list, n := r.o.sources()
	var lines []*line
	for i := range n {
		l, err := r.line(ctx, r.o.Consume.broker, r.o.clientID(i, n))
		if err != nil {
			return err
		}
		lines = append(lines, l)
	}
	for _, s := range list {
		c := &consumer{run: r, line: lines[s.conn], source: s}
		if err := c.attach(ctx, c.line.conn()); err != nil {
			return err
		}
		c.line.consumers = append(c.line.consumers, c)
		r.consumers = append(r.consumers, c)
		r.o.follower.say("receiving from %s, address %s, link %s, client ID %q", s.dest, c.conn.address(s.dest), c.rcv.Name(), r.o.clientID(s.conn, n))
	}
	return nil
}

// attach makes the links of c on a connection. It replaces those of a lost connection.
func (c *consumer) attach(ctx context.Context, on *conn) error {
	return on.declare(c.source.dest, func(durable uint32) error { return c.attachTo(ctx, on, max(durable, c.source.durable)) })
}

func (c *consumer) attachTo(ctx context.Context, on *conn, durable uint32) error {
	session, err := on.Session(ctx)
	if err != nil {
		return err
	}
	var tx *acceptances
	if c.run.o.Tx {
		if tx, err = newAcceptances(ctx, c, on, session); err != nil {
			return err
		}
	}
	s := &c.source
	rcv, err := session.Receiver(ctx, amqp.ReceiverOptions{
		Name: s.name, Address: on.address(s.dest), Capabilities: s.capabilities, Durable: durable, Expiry: s.expiry,
		Distribution: s.distribution, Selector: c.run.o.Selector, Credit: uint32(c.run.o.Credit), Held: true,
		OnDelivery: func(d *amqp.Delivery) { c.deliver(on, d) }, OnDetach: on.lostLink,
	})
	if err != nil {
		return explain(err, s.dest)
	}
	c.mu.Lock()
	c.conn, c.rcv, c.tx, c.waits = on, rcv, tx, false
	c.mu.Unlock()
	on.add(c)
	if c.run.released.Load() {
		c.release()
	}
	return nil
}

func (r *run) connectProducers(ctx context.Context) error {
	total := r.o.Producers * len(r.o.destinations)
	n := r.o.producerConns(total)
	var lines []*line
	for range n {
		l, err := r.line(ctx, r.o.Broker.broker, "")
		if err != nil {
			return err
		}
		lines = append(lines, l)
	}
	for _, d := range r.o.destinations {
		for range r.o.Producers {
			i := len(r.producers)
			p := r.newProducer(lines[i%n], d, i)
			if err := p.attach(ctx, p.line.conn()); err != nil {
				return err
			}
			p.line.producers = append(p.line.producers, p)
			r.producers = append(r.producers, p)
			r.o.follower.say("sending to %s, address %s", d, p.conn.address(d))
		}
	}
	return nil
}

func (r *run) newProducer(l *line, d destination, i int) *producer {
	p := &producer{run: r, line: l, dest: d, stream: i % (1 << streamBits), most: r.o.window.pending}
	if r.o.receives {
		p.copies = r.o.copies(d)
	}
	return p
}

// attach makes the links of p on a connection. It replaces those of a lost connection.
func (p *producer) attach(ctx context.Context, on *conn) error {
	return on.declare(p.dest, func(durable uint32) error { return p.attachTo(ctx, on, durable) })
}

func (p *producer) attachTo(ctx context.Context, on *conn, durable uint32) error {
	session, err := on.Session(ctx)
	if err != nil {
		return err
	}
	tpl, at, err := p.run.o.template(p.dest, on.address(p.dest), p.run.id, p.stream)
	if err != nil {
		return err
	}
	snd, err := session.Sender(ctx, amqp.SenderOptions{
		Address: on.address(p.dest), Capabilities: []string{p.dest.kind()}, Durable: durable,
		OnSettled: func(token uint64, o amqp.Outcome) { p.settled(on, token, o) },
		OnCredit:  func(uint32) { p.credited(on) }, OnDetach: func(err error) { p.detached(on, err) },
	})
	if err != nil {
		return explain(err, p.dest)
	}
	var tx *transactions
	if p.run.o.CommitInterval > 0 {
		if tx, err = p.transact(ctx, on, session, snd); err != nil {
			return err
		}
	}
	p.mu.Lock()
	p.conn, p.snd, p.tpl, p.at, p.tx = on, snd, tpl, at, tx
	p.mu.Unlock()
	return nil
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
	if !r.shut() {
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
	for _, l := range r.lines {
		l.close(ctx)
	}
	return faults
}

// close implements takt.Driver.Close, for runs that did not start.
func (r *run) close() error {
	r.over.Store(true)
	r.disconnect(context.Background())
	return nil
}
