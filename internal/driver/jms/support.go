package jms

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/internal/value"
)

// dialect is how a broker without prefixes in its open names its nodes.
type dialect struct {
	product, version string // beginnings of what the open says
	queues, topics   string // prefixes
	escaped          bool   // names are percent-encoded
	noSubscriptions  bool   // nobody can receive from a topic
	declares         bool   // a link says whether its queue is durable, and must be right
}

// dialects are those of brokers that take a bare name for a queue, or for nothing.
func dialects() []dialect {
	return []dialect{
		{product: "RabbitMQ", version: "3.", topics: "/topic/", declares: true},
		{product: "RabbitMQ", queues: "/queues/", topics: "/exchanges/amq.topic/", escaped: true, noSubscriptions: true},
		{product: "Apache Qpid Broker-J", topics: "amq.topic/"},
	}
}

// dialectOf returns the zero value for brokers that need no prefix, or announce one.
func dialectOf(p amqp.Peer) dialect {
	for _, d := range dialects() {
		if strings.HasPrefix(p.Properties["product"], d.product) && strings.HasPrefix(p.Properties["version"], d.version) {
			return d
		}
	}
	return dialect{}
}

// address is the broker's address of a destination. The default prefix is the one in the
// broker's open, as in qpid-jms: without it ActiveMQ Classic treats every topic as a queue. A
// broker that announces none may have a dialect. A name with a slash in front is an address in it.
func (c *conn) address(d destination) string {
	prefix, property := c.run.o.QueuePrefix, "queue-prefix"
	if d.topic {
		prefix, property = c.run.o.TopicPrefix, "topic-prefix"
	}
	peer := c.Peer()
	if prefix = cmp.Or(prefix, peer.Properties[property]); prefix != "" {
		return prefix + d.name
	}
	return dialectOf(peer).address(d)
}

func (k dialect) address(d destination) string {
	prefix := k.queues
	if d.topic {
		prefix = k.topics
	}
	switch {
	case prefix == "" || strings.HasPrefix(d.name, "/"):
		return d.name
	case k.escaped:
		return prefix + url.PathEscape(d.name)
	}
	return prefix + d.name
}

// declare calls attach with the durability that the link declares for the node. Where the broker
// compares it with a queue that exists, it is that of this queue; takt makes durable queues for
// persistent messages.
func (c *conn) declare(d destination, attach func(durable uint32) error) error {
	if d.topic || !dialectOf(c.Peer()).declares {
		return attach(0)
	}
	var durable uint32
	if c.run.o.Persistent {
		durable = 1
	}
	err := attach(durable)
	var e *amqp.Error
	if errors.As(err, &e) && e.Condition == "amqp:precondition-failed" {
		err = attach(1 - durable)
	}
	return err
}

// unfit names requested features that the broker accepts but does not support: the run would
// measure something else.
func (o *Options) unfit(p amqp.Peer) error {
	name := strings.TrimSpace(cmp.Or(p.Properties["product"], "the broker") + " " + p.Properties["version"])
	rabbit := strings.HasPrefix(name, "RabbitMQ 3.")
	var flags []string
	for _, f := range []struct {
		name   string
		lacked bool
	}{
		{"--shared", o.Shared > 0 && !slices.Contains(p.Capabilities, "SHARED-SUBS")},
		{"--durable", o.Durable && rabbit},
		{"--selector", o.Selector != "" && rabbit},
	} {
		if f.lacked {
			flags = append(flags, f.name)
		}
	}
	if len(flags) > 0 {
		return fmt.Errorf("%s does not support %s; leave that out", name, strings.Join(flags, " and "))
	}
	topic := slices.IndexFunc(o.destinations, func(d destination) bool { return d.topic })
	if o.receives && topic >= 0 && o.TopicPrefix == "" && dialectOf(p).noSubscriptions {
		return value.Faultf("%s lets nobody receive from %s; bind a queue to the exchange amq.topic there, and receive from queue://NAME", name, o.destinations[topic])
	}
	return nil
}
