package jms

// source describes how a consumer attaches.
type source struct {
	dest         destination
	conn         int    // index of its connection
	feed         int    // index of the queue or subscription, which several consumers may share
	name         string // name of the link; "": any
	capabilities []string
	durable      uint32
	expiry       string
	distribution string
	last         bool // last consumer of its subscription
}

// sources returns all consumers and their number of connections.
func (o *Options) sources() (list []source, conns int) {
	feeds := 0
	for _, d := range o.destinations {
		subscriptions, each := o.Consumers, 1
		switch {
		case !d.topic:
			subscriptions, each = 1, o.Consumers
		case o.Shared > 0:
			subscriptions, each = o.Shared, o.Consumers
		}
		for i := range subscriptions {
			for k := range each {
				s := source{dest: d, feed: feeds, capabilities: []string{d.kind()}, last: k == each-1}
				o.subscribe(&s, i)
				list = append(list, s)
			}
			feeds++
		}
	}
	conns = o.deal(list, feeds)
	o.number(list)
	return list, conns
}

// subscribe sets subscription number i of a topic. It follows qpid-jms, so a durable
// subscription is the same as that of a JMS client with the same client ID.
func (o *Options) subscribe(s *source, i int) {
	if !s.dest.topic {
		return
	}
	if o.Durable {
		s.name, s.durable, s.expiry, s.distribution = s.dest.name+itoa(i), 2, "never", "copy"
	}
	if o.Shared > 0 {
		s.name = s.dest.name + itoa(i)
		s.capabilities = append(s.capabilities, "shared")
		if !o.Durable {
			s.expiry = "link-detach"
		}
		if o.ClientID == "" {
			s.capabilities = append(s.capabilities, "global")
		}
	}
}

// deal assigns connections to consumers in turn. Consumers of a subscription that is shared
// within a client ID have one connection: another connection would have another subscription.
func (o *Options) deal(list []source, feeds int) (conns int) {
	together := o.Shared > 0 && o.ClientID != ""
	conns = len(list)
	if together {
		conns = feeds
	}
	if o.Consume.Connections > 0 {
		conns = min(conns, o.Consume.Connections)
	}
	for i := range list {
		list[i].conn = i % conns
		if together {
			list[i].conn = list[i].feed % conns
		}
	}
	return conns
}

// number numbers the links of shared subscriptions, whose names must differ within a
// connection.
func (o *Options) number(list []source) {
	if o.Shared == 0 {
		return
	}
	type place struct {
		conn int
		name string
	}
	seen := map[place]int{}
	for i := range list {
		s := &list[i]
		p := place{s.conn, s.name}
		seen[p]++
		switch n := seen[p]; {
		case s.durable == 0 && o.ClientID == "":
			s.name += "|global-volatile" + itoa(n)
		case s.durable == 0:
			s.name += "|volatile" + itoa(n)
		case n > 1:
			s.name += "|" + itoa(n)
		}
	}
}

// clientID is the client ID of the consumers' connection i of n.
func (o *Options) clientID(i, n int) string {
	if o.ClientID == "" || n == 1 {
		return o.ClientID
	}
	return o.ClientID + itoa(i)
}

// copies is the number of times that a message of d arrives.
func (o *Options) copies(d destination) uint64 {
	switch {
	case !d.topic:
		return 1
	case o.Shared > 0:
		return uint64(o.Shared)
	}
	return uint64(o.Consumers)
}

// producerConns is the number of connections for n producers.
func (o *Options) producerConns(n int) int {
	if o.SharedConnections {
		return min(n, o.Threads)
	}
	return n
}
