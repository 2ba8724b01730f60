// Package jms is the driver of takt jms: what artemis perf does, for any broker that
// speaks AMQP 1.0. One operation is one message sent.
package jms

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/driver/jms/manage"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/value"
)

// Options are the flags of a command of takt jms beyond those of every load command.
// Those of artemis perf have its names and defaults.
type Options struct {
	sends, receives bool // which of its parts a command has

	Broker
	Produce
	Consume
	Print

	MessageCount    uint64
	NumDestinations int

	destinations []destination
	window       window
	shapeFault   value.Faults
	follower     *follower // nil: nobody wants to know of intervals
}

// Produce are the flags of whatever sends.
type Produce struct {
	Producers         int // of each destination
	Threads           int
	SharedConnections bool
	MaxPending        int // of each producer; 0: as many as may be in flight
	MessageSize       int
	Persistent        bool
	TTL               int // ms
	Group             string
	EnableMsgID       bool
	EnableTimestamp   bool
	CommitInterval    int // messages of a transaction; 0: none
	Priority          int
	Plain             bool // no stamps
	InDoubt           string
	Management        string // URL; "": Artemis is asked, and no other broker

	manager *manage.RabbitMQ // nil: without Management
}

// Consume are the flags of whatever receives.
type Consume struct {
	Consumers         int // of each destination or shared subscription
	Shared            int // subscriptions of each topic; 0: none are shared
	Durable           bool
	Tx                bool
	Connections       int // 0: see connectionsOf
	ConsumerURL       string
	ConsumerProtocol  string
	KeepSubscriptions bool
	Ack               string
	Selector          string
	Credit            int

	broker broker
}

// window is what the driver has to know of the schedule.
type window struct {
	rated    bool
	warmup   time.Duration
	pending  int  // of each producer
	inFlight int  // messages of all producers, as the engine bounds them
	single   bool // never is more than one message under way
	shard    bool // other processes send the rest of the schedule
}

// The names of Consume.Ack.
const (
	ackEach  = "each"
	ackBatch = "batch"
)

// mostInFlight bounds what is in flight where --max-pending does not: at 1 KiB and
// 100k/s that is one second.
const mostInFlight = 100_000

// The bounds of what one command asks for: each link and connection has goroutines and
// buffers of its own.
const (
	maxLinks = 10_000
	maxBytes = 100 << 20
)

func newOptions(sends, receives bool) *Options {
	return &Options{
		sends: sends, receives: receives,
		Broker:          newBroker(),
		Produce:         Produce{Producers: 1, Threads: 1, MaxPending: 1, MessageSize: 1024, Priority: 4, InDoubt: doubtRetry},
		Consume:         Consume{Consumers: 1, Ack: ackEach, Credit: 1000},
		NumDestinations: 1,
	}
}

// NewProducer are the options of takt jms producer with their defaults.
func NewProducer() *Options { return newOptions(true, false) }

// NewConsumer are those of takt jms consumer.
func NewConsumer() *Options { return newOptions(false, true) }

// NewClient are those of takt jms client, which does both in one process.
func NewClient() *Options { return newOptions(true, true) }

// Defaults is driver.Load.Defaults: 0 is what Shape fills in.
func (o *Options) Defaults(e *engine.Options) {
	if o.sends {
		e.MaxInFlight = 0
	}
}

// eager reports whether connections spin for acknowledgements. A consumer in this process needs
// the core, see docs/decisions/0019: with spinning, p90 of the transfer was 2 ms in place of 0.1 ms.
func (o *Options) eager() bool { return o.window.single && !o.receives }

// Unused is driver.Load.Unused; Shape refuses --connections of who sends.
func (o *Options) Unused() (flags []string, why string) {
	if o.sends {
		return engine.LoopFlags(), ""
	}
	return append(engine.SendFlags(), "run-group"), "a consumer sends nothing and takes what there is; say with --duration or --message-count when it ends"
}

// Shape fills in what the user left open: in flight may be what all producers together
// may have pending.
func (o *Options) Shape(e *engine.Options) {
	o.shapeFault = nil
	o.shapeFault.If(o.sends && e.Connections > 0, "--connections says nothing here; use --producers and --consumers, and --shared-connections")
	o.shapeFault.If(o.MessageCount > 0 && e.Requests > 0 && o.MessageCount != e.Requests, "both --message-count and --requests are given; keep one")
	e.Requests = cmp.Or(e.Requests, o.MessageCount)
	rated := !e.Closed()
	o.window = window{rated: rated, warmup: e.Warmup, pending: o.MaxPending, shard: e.Shard.IsPart()}
	if !o.sends {
		return
	}
	all := max(1, o.Producers*o.NumDestinations)
	if o.MaxPending > 0 {
		o.window.pending = max(o.MaxPending, o.CommitInterval)
		all = min(all*o.window.pending, mostInFlight)
	} else {
		o.window.pending, all = mostInFlight, mostInFlight
	}
	if e.MaxInFlight == engine.DefaultInFlight || e.MaxInFlight == 0 {
		e.MaxInFlight = all
	}
	o.window.inFlight, o.window.single = e.MaxInFlight, e.MaxInFlight == 1
	o.shapeFault.If(e.MaxInFlight < o.CommitInterval*o.Producers*o.NumDestinations,
		"at most %d messages in flight cannot fill transactions of %d in all producers; raise --max-in-flight", e.MaxInFlight, o.CommitInterval)
}

// Validate reports every fault at once.
func (o *Options) Validate(args []string) []error {
	faults := slices.Clone(o.shapeFault)
	o.Broker.managed = strings.HasPrefix(o.Management, "https:")
	faults.Add(o.Broker.validate()...)
	o.checkNumbers(&faults)
	list, bad := parseDestinations(args, o.Durable && o.sends, o.NumDestinations)
	o.destinations = list
	faults.Add(bad...)
	if o.receives {
		o.checkConsumers(&faults)
	}
	faults.Add(o.readManagement())
	return faults
}

func (o *Options) checkNumbers(faults *value.Faults) {
	for _, f := range []struct {
		on                 bool
		name               string
		value, least, most int
	}{
		{true, "num-destinations", o.NumDestinations, 1, maxLinks},
		{o.sends, "producers", o.Producers, 1, maxLinks}, {o.sends, "threads", o.Threads, 1, maxLinks},
		{o.sends, "max-pending", o.MaxPending, 0, mostInFlight}, {o.sends, "message-size", o.MessageSize, 0, maxBytes},
		{o.sends, "ttl", o.TTL, 0, 1<<32 - 1}, {o.sends, "priority", o.Priority, 0, 9},
		{o.sends, "commit-interval", o.CommitInterval, 0, mostInFlight},
		{o.receives, "consumers", o.Consumers, 1, maxLinks}, {o.receives, "shared", o.Shared, 0, maxLinks},
		{o.receives, o.connectionsFlag(), o.Consume.Connections, 0, maxLinks}, {o.receives, "credit", o.Credit, 1, 1 << 20},
	} {
		if f.on {
			faults.Range(f.name, f.value, f.least, f.most)
		}
	}
	faults.If(o.sends && o.Producers > 0 && o.NumDestinations > maxLinks/o.Producers,
		"more than %d producers in all; lower --producers or --num-destinations", maxLinks)
	faults.If(o.receives && o.Consumers > 0 && max(1, o.Shared) > maxLinks/o.Consumers/max(1, o.NumDestinations),
		"more than %d consumers in all; lower --consumers, --shared or --num-destinations", maxLinks)
}

// connectionsFlag is what a command calls the number of its consumers' connections.
func (o *Options) connectionsFlag() string {
	if o.sends {
		return "consumer-connections"
	}
	return "num-connections"
}

func (o *Options) checkConsumers(faults *value.Faults) {
	faults.If(o.Durable && o.ClientID == "", "client ID has not been set: add --clientID PREFIX")
	for _, d := range o.destinations {
		faults.If(!d.topic && (o.Durable || o.Shared > 0), "%s is a queue, and --durable and --shared are for subscriptions; name it topic://%s", d.name, d.name)
	}
	faults.If(o.window.shard && o.sends && o.shares(), "--shard makes several processes receive from one queue or subscription, so each would remove messages of the others and count them as lost; send with takt jms producer --shard and receive with takt jms consumer, or use topics without --durable and --shared")
	o.Consume.broker = o.Broker.broker
	if o.ConsumerURL != "" || o.ConsumerProtocol != "" {
		b := o.Broker
		b.URL, b.Protocol = cmp.Or(o.ConsumerURL, o.URL), cmp.Or(o.ConsumerProtocol, o.Protocol)
		b.flag = "--consumer-url"
		faults.Add(b.validate()...)
		o.Consume.broker = b.broker
	}
}

// shares reports whether consumers of other processes take messages from those of this one.
func (o *Options) shares() bool {
	return o.Durable || o.Shared > 0 || slices.ContainsFunc(o.destinations, func(d destination) bool { return !d.topic })
}

// Secrets implements takt.Secretive.
func (o *Options) Secrets() []string {
	list := append(o.Password.Secrets(), o.Broker.broker.secrets()...)
	if o.manager != nil {
		list = append(list, o.manager.Secrets()...)
	}
	return append(list, o.Consume.broker.secrets()...)
}

// NoAnswer is driver.Load.NoAnswer.
func (o *Options) NoAnswer() (why, instead string) {
	if o.sends {
		return "", ""
	}
	return "a consumer sends nothing, so there is no response time", "transfer.p99"
}

// Variables are the settings that shape the load or the target.
func (o *Options) Variables() map[string]any {
	v := map[string]any{"url": o.Broker.broker.shown(), "destinations": names(o.destinations), "reconnect_s": o.Reconnect.Seconds()}
	if o.sends {
		maps.Copy(v, map[string]any{
			"producers": o.Producers, "threads": o.Threads, "shared_connections": o.SharedConnections, "max_pending": o.MaxPending,
			"message_bytes": o.MessageSize, "persistent": o.Persistent, "ttl_ms": o.TTL, "priority": o.Priority, "group": o.Group,
			"message_id": o.EnableMsgID, "timestamp": o.EnableTimestamp, "commit_interval": o.CommitInterval, "stamps": !o.Plain, "in_doubt": o.InDoubt,
		})
	}
	if o.receives {
		maps.Copy(v, map[string]any{
			"consumers": o.Consumers, "shared": o.Shared, "durable": o.Durable, "tx": o.Tx, "ack": o.Ack, "selector": o.Selector,
			"credit": o.Credit, "consumer_connections": o.Consume.Connections, "consumer_url": o.Consume.broker.shown(),
		})
	}
	return v
}

func itoa(n int) string { return strconv.Itoa(n) }
