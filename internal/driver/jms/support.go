package jms

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/amqp"
)

// address is what the broker of the connection calls a destination. A prefix that was
// not given is the one that the broker says it has, as qpid-jms takes it too: without
// it ActiveMQ Classic takes every topic for a queue.
func (c *conn) address(d destination) string {
	prefix, property := c.run.o.QueuePrefix, "queue-prefix"
	if d.topic {
		prefix, property = c.run.o.TopicPrefix, "topic-prefix"
	}
	return cmp.Or(prefix, c.Peer().Properties[property]) + d.name
}

// unfit says what was asked for that the broker does not support, and would take all
// the same: the run would measure something else.
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
	if rabbit && topic >= 0 && o.TopicPrefix == "" {
		return fmt.Errorf("%s would take %s for a queue; add --topic-prefix /topic/", name, o.destinations[topic])
	}
	return nil
}
