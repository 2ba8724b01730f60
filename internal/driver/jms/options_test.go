package jms

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/engine"
)

func TestDestinations(t *testing.T) {
	for _, c := range []struct {
		args    string
		durable bool
		each    int
		want    string
		faults  int
	}{
		{"", false, 1, "queue://TEST", 0},
		{"", true, 1, "topic://TEST", 0},
		{"Q topic://T foo://X a::q", false, 1, "queue://Q topic://T queue://X queue://a::q", 0},
		{"topic://T", false, 3, "topic://T0 topic://T1 topic://T2", 0},
		{"Q topic://Q", false, 1, "queue://Q topic://Q", 0},
		{"Q Q", false, 1, "queue://Q queue://Q", 1},
		{"topic://", false, 1, "topic://", 1},
	} {
		list, faults := parseDestinations(strings.Fields(c.args), c.durable, c.each)
		if got := strings.Join(names(list), " "); got != c.want || len(faults) != c.faults {
			t.Errorf("%q: %s %v, want %s", c.args, got, faults, c.want)
		}
	}
}

func TestURL(t *testing.T) {
	for _, c := range []struct{ url, want, ignored, user, fault string }{
		{"tcp://localhost:61616", "localhost:61616", "", "", ""},
		{"tcp://h", "h:61616", "", "", ""},
		{"amqp://u:p@h", "h:5672", "", "u", ""},
		{"amqps://h", "h:5671 tls", "", "", ""},
		{"tcp://[::1]:7?sslEnabled=true&confirmationWindowSize=20000&a=1", "[::1]:7 tls", "a confirmationWindowSize", "", ""},
		{"http://h:1", "", "", "", "bad --url"},
		{"tcp://:1", "", "", "", "bad --url"},
		{"tcp://h:0", "", "", "", "bad port"},
		{"(tcp://a:1,tcp://b:1)", "a:1 b:1", "", "", ""},
		{"(tcp://a:1,tcp://b)?ha=true&reconnectAttempts=-1", "a:1 b:61616", "reconnectAttempts", "", ""},
		{"failover:(amqp://u:p@a:1,amqp://u:p@b:1)?failover.maxReconnectAttempts=20", "a:1 b:1", "failover.maxReconnectAttempts", "u", ""},
		{"failover:(amqp://a)", "a:5672", "", "", ""},
		{"failover:amqp://a,amqp://b", "a:5672 b:5672", "", "", ""},
		{"failover://(amqp://a,amqp://b)", "a:5672 b:5672", "", "", ""},
		{"tcp://a:1, tcp://b:1", "a:1 b:1", "", "", ""},
		{"(tcp://a,tcp://b)?sslEnabled=true", "a:61616 b:61616 tls", "", "", ""},
		{"tcp://a,amqps://b", "", "", "", "--url has brokers with and without TLS"},
		{"failover:(tcp://a", "", "", "", "bad --url"},
		{"failover:(tcp://a)b", "", "", "", "bad --url"},
		{"failover:()", "", "", "", "bad --url"},
		{"tcp://a,", "", "", "", "bad --url"},
		{"(tcp://a)?%zz", "", "", "", "bad options"},
	} {
		b := newBroker()
		err := b.parse(c.url)
		got := b.broker.addr
		for _, other := range b.broker.others {
			got += " " + other.addr
		}
		if err != nil {
			got = "" // a run does not begin
		}
		if b.broker.tls != nil && err == nil {
			got += " tls"
		}
		if err != nil && (c.fault == "" || !strings.HasPrefix(err.Error(), c.fault)) || err == nil && c.fault != "" ||
			got != c.want || strings.Join(b.broker.ignored, " ") != c.ignored || b.broker.user != c.user {
			t.Errorf("%s: %q %v %v %v", c.url, got, b.broker.ignored, b.broker.user, err)
		}
	}
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{defaultURL, "amqps://u:p@[::1]:1?a=b&sslEnabled=true", "tcp://", "://", "tcp://h:99999", "failover:(tcp://a,amqp://b)?a=b", "(tcp://a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := newBroker()
		if err := b.parse(s); err == nil && (b.broker.addr == "" || strings.HasPrefix(b.broker.addr, ":")) {
			t.Errorf("%q has no host, and no fault", s)
		}
	})
}

// The URL of an instance's acceptor, as artemis create writes it.
func TestAcceptor(t *testing.T) {
	t.Chdir(t.TempDir())
	b := newBroker()
	b.Acceptor = "artemis"
	if _, err := b.url(); err == nil {
		t.Error("there is no instance, and no fault")
	}
	text := `<configuration xmlns="urn:activemq"><core xmlns="urn:activemq:core"><acceptors>
		<acceptor name="amqp">tcp://0.0.0.0:5672?protocols=AMQP</acceptor>
		<acceptor name="artemis">tcp://0.0.0.0:61617?tcpSendBufferSize=1048576</acceptor></acceptors></core></configuration>`
	if err := errors.Join(os.Mkdir("etc", 0o700), os.WriteFile(filepath.Join("etc", "broker.xml"), []byte(text), 0o600), os.Mkdir("bin", 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".", "bin"} {
		t.Chdir(dir)
		if url, err := b.url(); url != "tcp://localhost:61617" || err != nil {
			t.Error(url, err)
		}
	}
	b.Acceptor = "mqtt"
	if _, err := b.url(); err == nil {
		t.Error("an acceptor that is not there")
	}
}

// Every fault is reported, all at once.
func TestFaults(t *testing.T) {
	o := NewClient()
	o.URL, o.Protocol, o.Producers, o.Durable, o.MessageSize, o.Password = "ftp://h", "CORE", 0, true, -1, "p"
	e := engine.Defaults()
	e.Connections = 3
	o.Shape(&e)
	faults := o.Validate([]string{"Q"})
	for _, want := range []string{
		"bad --url", "takt speaks AMQP 1.0", "--producers is 0", "--message-size is -1", "client ID has not been set: add --clientID PREFIX",
		"Q is a queue", "--connections says nothing here", "--password is given without --user",
	} {
		if !slices.ContainsFunc(faults, func(err error) bool { return strings.HasPrefix(err.Error(), want) }) {
			t.Errorf("no fault begins with %q: %v", want, faults)
		}
	}
	if len(faults) != 8 {
		t.Errorf("%d faults: %v", len(faults), faults)
	}
}

// In flight may be what all producers together may have pending.
func TestShape(t *testing.T) {
	for _, c := range []struct{ producers, destinations, pending, commit, want int }{
		{1, 1, 1, 0, 1}, {3, 10, 100, 0, 3000}, {1, 1, 0, 0, mostInFlight}, {2, 1, 5, 20, 40},
	} {
		o, e := NewProducer(), engine.Defaults()
		o.Producers, o.NumDestinations, o.MaxPending, o.CommitInterval = c.producers, c.destinations, c.pending, c.commit
		o.Shape(&e)
		if e.MaxInFlight != c.want || len(o.shapeFault) > 0 {
			t.Errorf("%+v: %d in flight, %v", c, e.MaxInFlight, o.shapeFault)
		}
	}
}

// Links and client IDs are those of qpid-jms in the same place.
func TestSources(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(o *Options)
		want   string // of each consumer: address, client ID, link, durable, expiry, capabilities
	}{
		{"queue", func(o *Options) { o.Consumers, o.ClientID = 2, "c" }, "TEST c0  0  queue; TEST c1  0  queue"},
		{"one connection", func(o *Options) { o.Consumers, o.ClientID, o.Consume.Connections = 2, "c", 1 }, "TEST c  0  queue; TEST c  0  queue"},
		{"durable", func(o *Options) { o.Durable, o.Consumers, o.ClientID = true, 2, "c" }, "TEST c0 TEST0 2 never topic; TEST c1 TEST1 2 never topic"},
		{"shared", func(o *Options) { o.Shared, o.Consumers = 1, 2 },
			"TEST  TEST0|global-volatile1 0 link-detach topic,shared,global; TEST  TEST0|global-volatile1 0 link-detach topic,shared,global"},
		{"shared, one connection", func(o *Options) { o.Shared, o.Consumers, o.Consume.Connections = 1, 2, 1 },
			"TEST  TEST0|global-volatile1 0 link-detach topic,shared,global; TEST  TEST0|global-volatile2 0 link-detach topic,shared,global"},
		{"shared with a client ID", func(o *Options) { o.Shared, o.Consumers, o.ClientID = 2, 2, "c" },
			"TEST c0 TEST0|volatile1 0 link-detach topic,shared; TEST c0 TEST0|volatile2 0 link-detach topic,shared; " +
				"TEST c1 TEST1|volatile1 0 link-detach topic,shared; TEST c1 TEST1|volatile2 0 link-detach topic,shared"},
		{"shared and durable", func(o *Options) { o.Shared, o.Consumers, o.ClientID, o.Durable = 1, 2, "c", true },
			"TEST c TEST0 2 never topic,shared; TEST c TEST0|2 2 never topic,shared"},
	} {
		o := NewClient()
		c.change(o)
		args := []string{"TEST"}
		if o.Durable || o.Shared > 0 {
			args[0] = "topic://TEST"
		}
		for _, fault := range o.Validate(args) {
			t.Error(fault)
		}
		list, n := o.sources()
		var got []string
		for _, s := range list {
			got = append(got, fmt.Sprintf("%s %s %s %d %s %s", s.dest.name, o.clientID(s.conn, n), s.name, s.durable, s.expiry, strings.Join(s.capabilities, ",")))
		}
		if all := strings.Join(got, "; "); all != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, all, c.want)
		}
	}
}

// Only who sends one message at a time, and receives none, spins for its acknowledgement.
func TestEager(t *testing.T) {
	for _, c := range []struct {
		o       *Options
		pending int
		want    bool
	}{{NewProducer(), 1, true}, {NewProducer(), 2, false}, {NewClient(), 1, false}, {NewConsumer(), 1, false}} {
		c.o.MaxPending = c.pending
		e := engine.Defaults()
		c.o.Defaults(&e)
		c.o.Shape(&e)
		if got := c.o.eager(); got != c.want {
			t.Errorf("sends %v, receives %v, %d pending: %v", c.o.sends, c.o.receives, c.pending, got)
		}
	}
}
