package jms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/taktload/takt/internal/amqp"
)

// Artemis answers questions about itself that messages to this address ask. Who asks needs the
// rights to manage, and to make a temporary queue.
const (
	managementAddress = "activemq.management"
	managementOK      = "_AMQ_OperationSucceeded"
	artemisProduct    = "apache-activemq-artemis"
)

// askTime limits what takt asks before the run, and what it asks after the run.
const askTime = 2 * time.Second

// reading is what a broker says of queues at one instant.
type reading struct {
	at     time.Time
	addr   string        // broker that answered
	node   string        // its id, which a pair shares
	uptime time.Duration // of the broker
	queues map[destination]counters
}

// counters are a queue's counters since the broker started, except for the depth.
type counters struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Routing   string `json:"routingType"`
	Filter    string `json:"filter"`
	LastValue string `json:"lastValue"`
	RingSize  string `json:"ringSize"`
	Consumers count  `json:"consumerCount"`
	Depth     count  `json:"messageCount"`
	Added     count  `json:"messagesAdded"`
	Delivered count  `json:"messagesAcked"`
	Expired   count  `json:"messagesExpired"`
	Dead      count  `json:"messagesKilled"`
}

// count is a number, which Artemis writes as a text.
type count uint64

func (c *count) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) != nil {
		s = string(text)
	}
	n, err := strconv.ParseUint(s, 10, 53)
	*c = count(n)
	return err
}

// plain reports whether the queue keeps every message that it gets.
func (c *counters) plain() bool {
	return c.Routing == "ANYCAST" && c.Filter == "" && c.LastValue == "false" && c.RingSize == "-1"
}

var errOtherBroker = errors.New("the broker is not Artemis")

// read asks the broker of a line about the destinations, on a connection of its own: a broker that
// refuses may end it.
func (l *line) read(ctx context.Context, list []destination) (*reading, error) {
	if l.conn().Peer().Properties["product"] != artemisProduct {
		return nil, errOtherBroker
	}
	member := l.broker.members()[l.member]
	c, err := member.dial(ctx, amqp.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close(ctx) }() // the answers are there
	session, err := c.Session(ctx)
	if err != nil {
		return nil, err
	}
	a, err := session.Asker(ctx, managementAddress, managementOK)
	if err != nil {
		return nil, err
	}
	m := manager{a}
	r := &reading{at: time.Now(), addr: member.addr, queues: map[destination]counters{}}
	var uptime int64
	if err := errors.Join(m.attribute(ctx, "uptimeMillis", &uptime), m.attribute(ctx, "nodeID", &r.node)); err != nil {
		return nil, err
	}
	r.uptime = time.Duration(uptime) * time.Millisecond
	for _, d := range list {
		if r.queues[d], err = m.queue(ctx, d.name); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// manager asks Artemis.
type manager struct{ *amqp.Asker }

// ask returns the result of an operation or the value of an attribute of the broker.
func (m manager) ask(ctx context.Context, kind, name, parameters string, result any) error {
	text, err := m.Ask(ctx, []amqp.Field{{Name: "_AMQ_ResourceName", Value: "broker"}, {Name: kind, Value: name}}, parameters)
	if err != nil {
		return err
	}
	list := []any{result} // an answer is a list of one
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("the broker answers %s with %.100q: %w", name, text, err)
	}
	return nil
}

func (m manager) attribute(ctx context.Context, name string, value any) error {
	return m.ask(ctx, "_AMQ_Attribute", name, "", value)
}

// queue returns the counters of the only queue of an address. A queue that does not exist yet has
// none.
func (m manager) queue(ctx context.Context, name string) (counters, error) {
	filter, err := json.Marshal(map[string]string{"field": "ADDRESS", "operation": "EQUALS", "value": name})
	if err != nil {
		return counters{}, err
	}
	parameters, err := json.Marshal([]any{string(filter), 1, 2})
	if err != nil {
		return counters{}, err
	}
	var text string
	if err := m.ask(ctx, "_AMQ_OperationName", "listQueues", string(parameters), &text); err != nil {
		return counters{}, err
	}
	var page struct {
		Data []counters `json:"data"`
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		return counters{}, fmt.Errorf("the broker lists the queues of %q in an unknown form: %w", name, err)
	}
	switch {
	case len(page.Data) == 0:
		return counters{}, nil
	case len(page.Data) > 1:
		return counters{}, fmt.Errorf("the address %q has several queues", name)
	case page.Data[0].Name != name || !page.Data[0].plain():
		return counters{}, fmt.Errorf("the queue of %q has another name, a filter, or does not keep every message", name)
	}
	return page.Data[0], nil
}

// maxAsked limits the queues that takt asks about: each is a request.
const maxAsked = 100

// askable returns an error if the broker's counters say nothing of this run.
func (r *run) askable() error {
	switch {
	case !r.o.sends:
		return errors.New("a consumer does not know what was sent")
	case len(r.o.destinations) > maxAsked:
		return fmt.Errorf("there are more than %d queues", maxAsked)
	}
	first := r.producers[0].line
	for _, p := range r.producers {
		if p.dest.topic {
			return errors.New("each subscription of a topic has its own queue")
		}
		if p.line.conn().address(p.dest) != p.dest.name {
			return errors.New("addresses have a prefix")
		}
		if p.line.addr() != first.addr() {
			return errors.New("the producers are connected to several brokers")
		}
	}
	return nil
}

// addr is the address of the member that is connected, or tried next. tend does not run.
func (l *line) addr() string { return l.broker.members()[l.member].addr }

// read asks the producers' broker.
func (r *run) read(ctx context.Context) (*reading, error) {
	if err := r.askable(); err != nil {
		return nil, err
	}
	return r.producers[0].line.read(ctx, r.o.destinations)
}

// readBefore reads the counters before the run. A broker that does not answer is none of the
// run's business.
func (r *run) readBefore(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTime, errors.New("the broker does not answer"))
	defer cancel()
	var err error
	if r.before, err = r.read(ctx); err != nil {
		r.before, r.unread = nil, err
		if ctx.Err() != nil { // a slow broker has counters, too
			r.unread, r.slow = context.Cause(ctx), true
		}
		r.o.follower.say("no ledger: %v", err)
	}
}
