package jms

import (
	"context"
	"fmt"
	"testing"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/internal/test/amqptest"
)

// A broker that announces no prefix has its own names for nodes, which takt knows.
func TestDialects(t *testing.T) {
	for _, c := range []struct{ product, version, queue, topic string }{
		{"RabbitMQ", "3.13.7", "a b", "/topic/a b"},
		{"RabbitMQ", "4.1.0", "/queues/a%20b", "/exchanges/amq.topic/a%20b"},
		{"Apache Qpid Broker-J Core", "9.2.1", "a b", "amq.topic/a b"},
		{"apache-activemq-artemis", "2.44.0", "a b", "a b"},
		{"", "", "a b", "a b"},
	} {
		k := dialectOf(amqp.Peer{Properties: map[string]string{"product": c.product, "version": c.version}})
		queue, topic, whole := k.address(destination{"a b", false}), k.address(destination{"a b", true}), k.address(destination{"/exchange/x", true})
		if queue != c.queue || topic != c.topic || whole != "/exchange/x" {
			t.Errorf("%s %s: %q, %q and %q", c.product, c.version, queue, topic, whole)
		}
	}
}

// Where a broker compares what a link declares with the queue that exists, the queue is used as it is.
func TestDurabilityOfQueues(t *testing.T) {
	for _, c := range []struct {
		persistent, exists bool
		want               string
	}{{false, false, "0"}, {true, false, "1"}, {false, true, "01"}, {true, true, "10"}} {
		o := NewProducer()
		o.Persistent = c.persistent
		on := dialled(t, o, map[string]string{"product": "RabbitMQ", "version": "3.10.8"})
		tries := ""
		err := on.declare(destination{"q", false}, func(durable uint32) error {
			tries += itoa(int(durable))
			if c.exists && len(tries) == 1 {
				return fmt.Errorf("no: %w", &amqp.Error{Condition: "amqp:precondition-failed"})
			}
			return nil
		})
		if err != nil || tries != c.want {
			t.Errorf("%+v: tries %s, %v", c, tries, err)
		}
	}
}

// dialled is a connection to a broker with these properties.
func dialled(t *testing.T, o *Options, properties map[string]string) *conn {
	t.Helper()
	addr := amqptest.New(t, amqptest.Script{Properties: properties}).Serve()
	c, err := amqp.Dial(t.Context(), amqp.Options{Addr: addr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return &conn{Conn: c, run: &run{o: o}}
}
