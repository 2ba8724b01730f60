package manage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/amqp"
)

// Artemis answers questions about itself that messages to ArtemisAddress ask. Who asks needs the
// rights to manage, and to make a temporary queue. ArtemisProduct is what its open says.
const (
	ArtemisAddress = "activemq.management"
	managementOK   = "_AMQ_OperationSucceeded"
	ArtemisProduct = "apache-activemq-artemis"
)

// artemisQueue is what Artemis says of a queue.
type artemisQueue struct {
	Queue
	Name      string `json:"name"`
	Routing   string `json:"routingType"`
	Filter    string `json:"filter"`
	LastValue string `json:"lastValue"`
	RingSize  string `json:"ringSize"`
}

// plain reports whether the queue keeps every message that it gets.
func (q *artemisQueue) plain() bool {
	return q.Routing == "ANYCAST" && q.Filter == "" && q.LastValue == "false" && q.RingSize == "-1"
}

// Artemis asks over a connection about queues. addr is the broker's address.
func Artemis(ctx context.Context, c *amqp.Conn, addr string, queues []string) (*Reading, error) {
	session, err := c.Session(ctx)
	if err != nil {
		return nil, err
	}
	a, err := session.Asker(ctx, ArtemisAddress, managementOK)
	if err != nil {
		return nil, err
	}
	m := manager{a}
	r := &Reading{At: time.Now(), Addr: addr, Queues: map[string]Queue{}}
	var uptime int64
	if err := errors.Join(m.attribute(ctx, "uptimeMillis", &uptime), m.attribute(ctx, "nodeID", &r.Node)); err != nil {
		return nil, err
	}
	r.Uptime = time.Duration(uptime) * time.Millisecond
	for _, name := range queues {
		if r.Queues[name], err = m.queue(ctx, name); err != nil {
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
func (m manager) queue(ctx context.Context, name string) (Queue, error) {
	filter, err := json.Marshal(map[string]string{"field": "ADDRESS", "operation": "EQUALS", "value": name})
	if err != nil {
		return Queue{}, err
	}
	parameters, err := json.Marshal([]any{string(filter), 1, 2})
	if err != nil {
		return Queue{}, err
	}
	var text string
	if err := m.ask(ctx, "_AMQ_OperationName", "listQueues", string(parameters), &text); err != nil {
		return Queue{}, err
	}
	var page struct {
		Data []artemisQueue `json:"data"`
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		return Queue{}, fmt.Errorf("the broker lists the queues of %q in an unknown form: %w", name, err)
	}
	switch {
	case len(page.Data) == 0:
		return Queue{}, nil
	case len(page.Data) > 1:
		return Queue{}, fmt.Errorf("the address %q has several queues", name)
	case page.Data[0].Name != name || !page.Data[0].plain():
		return Queue{}, fmt.Errorf("the queue of %q has another name, a filter, or does not keep every message", name)
	}
	return page.Data[0].Queue, nil
}
