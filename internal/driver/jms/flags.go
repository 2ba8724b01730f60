package jms

import (
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

// AddFlags declares the flags on fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Broker.addFlags(fs)
	value.Declare(fs, value.GroupLoad, o.addCountFlags)
	if f := fs.Lookup("max-in-flight"); f != nil {
		f.Usage = "at most `N` messages in flight; 0: as many as all producers may have pending"
	}
	if o.sends {
		o.Produce.addFlags(fs)
		value.Declare(fs, value.GroupBroker, o.addManagementFlag)
	} else {
		value.Declare(fs, value.GroupMessages, o.addIdleFlags)
	}
	if o.receives {
		o.Consume.addFlags(fs, o.connectionsFlag())
	}
	if o.sends && !o.receives {
		value.Declare(fs, value.GroupMessages, o.addPlainFlag)
	}
	if o.sends && o.receives {
		value.Declare(fs, value.GroupBroker, o.addConsumerURLFlags)
	}
	value.AddFormer(fs, value.GroupMessages, value.Former{Of: "artemis perf", Name: "tx-size", Flag: "commit-interval", Usage: "`N`; --commit-interval by its old name"})
	value.Declare(fs, value.GroupOutput, o.Print.addFlags)
}

func (o *Options) addCountFlags(fs *pflag.FlagSet) {
	fs.Uint64Var(&o.MessageCount, "message-count", 0, "`N` messages in all, as --requests")
	fs.IntVar(&o.NumDestinations, "num-destinations", o.NumDestinations, "`N` destinations of each one named: NAME0, NAME1, …")
}

// addIdleFlags adds the flags of a sender that artemis perf also accepts where nothing is sent.
func (o *Options) addIdleFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.CommitInterval, "commit-interval", 0, "has no effect here: only producers use it")
}

func (o *Options) addPlainFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Plain, "plain", false, "send only the property time, as artemis perf does; takt cannot count lost messages then")
}

func (o *Options) addManagementFlag(fs *pflag.FlagSet) {
	fs.Var(value.Target(&o.Management), "management", "compare the counts with those of RabbitMQ's management at `URL`, such as http://HOST:15672; waits up to 28 s for them")
}

func (o *Options) addConsumerURLFlags(fs *pflag.FlagSet) {
	fs.Var(value.Target(&o.ConsumerURL), "consumer-url", "`URL` for the consumers; without it --url")
	fs.Var(value.Text(&o.ConsumerProtocol), "consumer-protocol", "`AMQP`, as --protocol")
}

func (b *Broker) addFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupBroker, b.addAddressFlags, "url")
	value.Declare(fs, value.GroupSecurity, b.addSecurityFlags, "user")
}

func (b *Broker) addAddressFlags(fs *pflag.FlagSet) {
	fs.Var(value.TargetOr(&b.URL, defaultURL), "url", "`URL` of the broker: tcp://, amqp://, amqps:// or failover:(URL,URL); without it "+defaultURL)
	fs.Var(value.Owned(&b.Acceptor, "it looks for a file above the folder of sessions; give --url"), "acceptor", "without --url that of the acceptor `NAME` in etc/broker.xml of an instance of Artemis, here or in the folder above")
	fs.Var(value.Text(&b.Protocol), "protocol", "`AMQP`, which is spoken anyway; there is no CORE")
	fs.Var(value.Text(&b.ClientID), "clientID", "`PREFIX` of the client IDs of the consumers' connections: PREFIX0, PREFIX1, …")
	fs.Var(value.Text(&b.QueuePrefix), "queue-prefix", "`TEXT` before the address of a queue, such as /amq/queue/; \"\": what the broker says, or needs")
	fs.Var(value.Text(&b.TopicPrefix), "topic-prefix", "`TEXT` before the address of a topic, such as /exchange/NAME/; \"\": what the broker says, or needs")
	fs.Var(value.Duration(&b.ConnectTimeout), "connect-timeout", "time limit for connecting, with all links, `TIME`")
	fs.Var(value.Duration(&b.Reconnect), "reconnect", "connect again for up to `TIME` when a connection is lost; 0: end the run")
}

func (b *Broker) addSecurityFlags(fs *pflag.FlagSet) {
	fs.Var(value.Text(&b.User), "user", "`NAME` to log in with; without it as nobody")
	fs.Var(value.Secret(&b.Password), "password", "`PASSWORD` of --user; better in the environment, as TAKT_PASSWORD")
	fs.Var(value.InFile(&b.CA), "tls-ca-cert", "verify the broker's certificate with the authorities in this PEM `FILE`")
	fs.BoolVar(&b.Insecure, "tls-insecure-skip-verify", false, "do not verify the broker's certificate")
}

func (p *Produce) addFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupMessages, p.addMessageFlags, "message-size", "persistent")
	value.Declare(fs, value.GroupConnections, p.addSenderFlags, "producers", "max-pending")
}

func (p *Produce) addMessageFlags(fs *pflag.FlagSet) {
	fs.Var(value.Size(&p.MessageSize), "message-size", "`BYTES` of the body, each 0x01")
	fs.BoolVar(&p.Persistent, "persistent", false, "the broker keeps messages on disk")
	fs.IntVar(&p.TTL, "ttl", 0, "time to live, `MS`; 0: for ever")
	fs.Var(value.Text(&p.Group), "group", "message group `ID`: JMSXGroupID of every message")
	fs.BoolVar(&p.EnableMsgID, "enable-msg-id", false, "messages have a JMSMessageID")
	fs.BoolVar(&p.EnableTimestamp, "enable-timestamp", false, "messages have a JMSTimestamp")
	fs.IntVar(&p.Priority, "priority", p.Priority, "JMSPriority of every message, 0 to 9: `N`")
	fs.IntVar(&p.CommitInterval, "commit-interval", 0, "send in transactions, and commit every `N` messages of a producer; a message ends with its commit")
	fs.Var(value.Choice(&p.InDoubt, doubtRetry, doubtFail), "in-doubt", "`retry|fail`: what becomes of a message whose connection is lost before its acknowledgement; retry may double it")
}

func (p *Produce) addSenderFlags(fs *pflag.FlagSet) {
	fs.IntVar(&p.Producers, "producers", p.Producers, "`N` producers for each destination")
	fs.IntVar(&p.MaxPending, "max-pending", p.MaxPending, "at most `N` messages of each producer wait for their acknowledgement; 0: as many as may be in flight")
	fs.BoolVar(&p.SharedConnections, "shared-connections", false, "one connection for each of --threads instead of one for each producer")
	fs.IntVar(&p.Threads, "threads", p.Threads, "with --shared-connections, `N` connections for all producers; otherwise without effect")
}

func (c *Consume) addFlags(fs *pflag.FlagSet, connections string) {
	value.Declare(fs, value.GroupConnections, func(fs *pflag.FlagSet) { c.addReceiverFlags(fs, connections) }, "consumers")
}

func (c *Consume) addReceiverFlags(fs *pflag.FlagSet, connections string) {
	fs.IntVar(&c.Consumers, "consumers", c.Consumers, "`N` consumers for each destination, or shared subscription")
	fs.IntVar(&c.Shared, "shared", 0, "`N` shared subscriptions of each topic")
	fs.BoolVar(&c.Durable, "durable", false, "durable subscriptions, which are removed at the end; needs --clientID")
	fs.BoolVar(&c.Tx, "tx", false, "receive in transactions: commit what was received since the last commit, or with --ack each every message on its own")
	fs.IntVar(&c.Connections, connections, 0, "`N` connections of all consumers; 0: one for each, or with --shared and --clientID for each subscription")
	fs.BoolVar(&c.KeepSubscriptions, "keep-subscriptions", false, "do not remove durable subscriptions at the end")
	fs.Var(value.Choice(&c.Ack, ackEach, ackBatch), "ack", "acknowledge `each|batch`: each message on its own as JMS does, or with one word what arrived at once")
	fs.Var(value.Text(&c.Selector), "selector", "receive only what this JMS `SELECTOR` chooses")
	fs.IntVar(&c.Credit, "credit", c.Credit, "the broker may send `N` messages to each consumer ahead")
}

func (p *Print) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&p.ShowLatency, "show-latency", false, "show latencies every second too, not in the summary alone")
	fs.BoolVar(&p.Silent, "silent", false, "print nothing but takt's report; takt never asks")
	fs.BoolVar(&p.Verbose, "verbose", false, "print the links that are made")
	fs.Var(value.OutFile(&p.JSON), "json", "write `FILE` as artemis perf does; takt's own report is -o json=FILE")
	fs.Var(value.OutFile(&p.HDR), "hdr", "write histograms to `FILE` as artemis perf does, in µs, but with tags without spaces")
	fs.BoolVar(&p.HDRSpaces, "hdr-spaces", false, "with the spaces: Tag=warmup delay send")
}
