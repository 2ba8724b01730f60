package jms

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/internal/value"
)

// address is the broker's address of a destination. The default prefix is the one in the
// broker's open, as in qpid-jms: without it ActiveMQ Classic treats every topic as a queue.
func (c *conn) address(d destination) string {
	prefix, property := c.run.o.QueuePrefix, "queue-prefix"
	if d.topic {
		prefix, property = c.run.o.TopicPrefix, "topic-prefix"
	}
	return cmp.Or(prefix, c.Peer().Properties[property]) + d.name
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
	if rabbit && topic >= 0 && o.TopicPrefix == "" {
		return value.Faultf("%s would take %s for a queue; add --topic-prefix /topic/", name, o.destinations[topic])
	}
	return nil
}
