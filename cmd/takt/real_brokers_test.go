//go:build real

package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The tests of this file run takt jms against brokers other than Artemis: RabbitMQ 3, ActiveMQ Classic and
// Qpid Broker-J of scripts/servers. docs/jms.md says what each of them can do.

// otherBroker is a running broker and what it can do.
type otherBroker struct {
	jmsBroker
	name                                     string
	management                               string // URL of RabbitMQ's management
	subscriptions, shared, selectors, commit bool
	slowDisk                                 bool // it stores some 50 persistent messages a second
}

// other is the broker of TAKT_BROKER.
func other(t *testing.T) otherBroker {
	t.Helper()
	where := strings.Fields(os.Getenv("TAKT_BROKER"))
	if len(where) < 4 {
		t.Fatal("TAKT_BROKER is not what scripts/servers start rabbitmq prints; run scripts/test-real --wide")
	}
	b := otherBroker{jmsBroker: jmsBroker{addr: where[1], secure: where[2], cert: where[3]}, name: where[0]}
	switch b.name {
	case "rabbitmq":
		b.management = where[4]
	case "activemq":
		b.subscriptions, b.selectors, b.commit = true, true, true
	case "qpid":
		b.subscriptions, b.shared, b.selectors, b.commit, b.slowDisk = true, true, true, true, true
	}
	return b
}

// TestRealBrokerWays: for every way to send and to receive that the broker has, all messages arrive. What it
// has not is refused before a message is sent, in words that name the flag.
func TestRealBrokerWays(t *testing.T) {
	b := other(t)
	for name, c := range map[string]struct {
		line   string
		can    bool
		copies int
		says   string
	}{
		"queue":          {"--message-count 1009 --max-pending 100 queue://WAYS.q", true, 1, ""},
		"one-pending":    {"--message-count 109 queue://WAYS.one", true, 1, ""},
		"persistent":     {"--message-count 60 --persistent --max-pending 20 queue://WAYS.p", true, 1, ""},
		"headers":        {"--message-count 209 --ttl 60000 --enable-msg-id --enable-timestamp --priority 7 --group g --max-pending 9 queue://WAYS.h", true, 1, ""},
		"large":          {"--message-count 60 --message-size 300000 --max-pending 10 queue://WAYS.l", true, 1, ""},
		"batch":          {"--message-count 5009 --ack batch --max-pending 0 queue://WAYS.b", true, 1, ""},
		"few-credits":    {"--message-count 209 --credit 1 --max-pending 9 queue://WAYS.c", true, 1, ""},
		"connections":    {"--message-count 1009 --producers 4 --threads 2 --shared-connections --consumers 4 --consumer-connections 2 --max-pending 9 queue://WAYS.n", true, 1, ""},
		"destinations":   {"--message-count 300 --num-destinations 3 --max-pending 9 topic://WAYS.d", true, 1, ""},
		"topic":          {"--message-count 1009 --consumers 2 --max-pending 20 topic://WAYS.t", true, 2, ""},
		"durable":        {"--message-count 209 --durable --clientID d --max-pending 20 topic://WAYS.du", b.subscriptions, 1, "does not support --durable"},
		"shared":         {"--message-count 209 --shared 2 --consumers 2 --max-pending 20 topic://WAYS.s", b.shared, 2, "does not support --shared"},
		"shared-durable": {"--message-count 209 --shared 2 --consumers 2 --durable --clientID s --max-pending 20 topic://WAYS.sd", b.shared, 2, "does not support --shared"},
		"tx":             {"--message-count 109 --tx --ack batch --max-pending 20 queue://WAYS.tx", b.commit, 1, "leave out --tx"},
		"commits":        {"--message-count 109 --commit-interval 10 --max-pending 20 queue://WAYS.ci", b.commit, 1, "leave out --commit-interval"},
	} {
		t.Run(name, func(t *testing.T) {
			s := b.run(t, append([]string{"client"}, strings.Fields(c.line)...)...)
			if !c.can {
				if s.code != 1 || !strings.Contains(s.stderr, c.says) {
					t.Errorf("exit code %d\n%s", s.code, s.stderr)
				}
				return
			}
			r := s.good(t)
			if received(t, r) != c.copies*sent(r) || r.Extra["lost"] != 0.0 || r.Extra["duplicate"] != 0.0 {
				t.Errorf("%d sent; %v", sent(r), r.Extra)
			}
		})
	}
}

// A selector chooses messages. ActiveMQ looks at only the first 200 of a queue, hence so few.
func TestRealBrokerSelector(t *testing.T) {
	b := other(t)
	s := b.run(t, strings.Fields("client --message-count 100 --max-pending 9 --drain 2s queue://SELECTED --selector takt_number<30")...)
	switch {
	case !b.selectors:
		if s.code != 1 || !strings.Contains(s.stderr, "does not support --selector") {
			t.Errorf("exit code %d\n%s", s.code, s.stderr)
		}
	case s.code != 0 || received(t, s.report) != 30 || number(s.report, "lost") != 70:
		t.Errorf("exit code %d, %v", s.code, s.report.Extra)
	}
}

// Messages whose time is over do not arrive.
func TestRealBrokerExpires(t *testing.T) {
	b := other(t)
	b.run(t, strings.Fields("producer --message-count 50 --max-pending 50 --ttl 50 EXPIRED")...).good(t)
	time.Sleep(time.Second)
	if s := b.run(t, strings.Fields("consumer --duration 1s EXPIRED")...); s.code != 0 || s.report.Counts.OK != 0 {
		t.Errorf("exit code %d, counts %+v", s.code, s.report.Counts)
	}
}

// A durable subscription that was kept gets what is sent while nobody listens.
func TestRealBrokerKeeps(t *testing.T) {
	b := other(t)
	if !b.subscriptions {
		t.Skip(b.name + " has no durable subscriptions")
	}
	line := "--durable --clientID kept --message-count 10 topic://KEEP"
	b.run(t, strings.Fields("client --keep-subscriptions "+line)...).good(t)
	b.run(t, strings.Fields("producer --message-count 25 topic://KEEP")...).good(t)
	b.run(t, strings.Fields("consumer --durable --clientID kept --message-count 25 --duration 20s topic://KEEP")...).good(t)
}

// Messages of a transaction that was rolled back are delivered again. ActiveMQ also counts messages that the
// consumer had not yet looked at.
func TestRealBrokerRedelivers(t *testing.T) {
	b := other(t)
	if !b.commit {
		t.Skip(b.name + " has no transactions")
	}
	queue := "AGAIN." + strconv.FormatInt(time.Now().UnixNano(), 36)
	b.run(t, strings.Fields("producer --message-count 50 --max-pending 50 "+queue)...).good(t)
	b.rollBack(t, queue, 20)
	r := b.run(t, strings.Fields("consumer --message-count 50 --duration 20s "+queue)...).good(t)
	if n := number(r, "redelivered"); n < 20 || number(r, "duplicate") != 0 {
		t.Errorf("extra %v", r.Extra)
	} else {
		t.Logf("%d are redelivered", n)
	}
}

// Who may not enter, or may do nothing, reads the broker's own words. takt verifies certificates, and finds
// out what a port speaks.
func TestRealBrokerSecurity(t *testing.T) {
	b := other(t)
	for _, c := range []struct{ line, says string }{
		{"--url amqps://" + b.secure + " --tls-ca-cert " + b.cert, ""},
		{"--url amqps://" + b.secure, "certificate signed by unknown authority"},
		{"--url amqps://" + b.addr, "the port speaks AMQP without TLS; write amqp://" + b.addr},
		{"--url amqp://" + b.secure, "the port wants TLS; write amqps://" + b.secure},
		{"--url failover:(amqp://127.0.0.1:1,amqp://" + b.addr + ")", ""},
		{"--url (tcp://127.0.0.1:1,tcp://" + b.addr + ")?ha=true", ""},
		{"--url amqp://nobody:wrong@" + b.addr, "the broker refuses the user or the password"},
		{"--url amqp://poor:poor@" + b.addr, "amqp:unauthorized-access"},
		{"--url amqp://" + b.addr, "a user and a password"},
	} {
		s := b.as(t, strings.Fields("client --message-count 109 --max-pending 10 queue://SECURE "+c.line)...)
		if c.says == "" {
			s.good(t)
		} else if s.code != 1 || !strings.Contains(s.stderr, c.says) && (c.says != "a user and a password" || !strings.Contains(s.stderr, "SASL ANONYMOUS")) {
			t.Errorf("%s: exit code %d\n%s", c.line, s.code, s.stderr)
		}
	}
}

// as is run with user and password takt only where the URL has none and the broker is reached.
func (b otherBroker) as(t *testing.T, words ...string) said {
	t.Helper()
	url := words[slices.Index(words, "--url")+1]
	if strings.Contains(url, "@") || url == "amqp://"+b.addr {
		return b.anonymous(t, words...)
	}
	return b.run(t, words...)
}

// The broker is killed and started again while messages are sent: the run goes on, messages in doubt are sent
// again, and persistent ones that the broker acknowledged are there.
func TestRealBrokerRestart(t *testing.T) {
	b := other(t)
	rate := "50/s"
	if b.slowDisk {
		rate = "10/s"
	}
	queue := "KEPT." + strconv.FormatInt(time.Now().UnixNano(), 36) // an earlier run may have left messages
	kept, more := make(chan said, 1), ""
	if b.management != "" {
		more = "--management " + b.management + " "
	}
	go func() {
		kept <- b.run(t, strings.Fields("producer --persistent --rate "+rate+" --duration 15s --max-pending 50 --drain 120s "+more+queue)...)
	}()
	s := b.run(t, append(strings.Fields("client --persistent --rate "+rate+" --duration 15s --max-pending 50 --drain 120s "+more+"RECEIVED"),
		"--fault", "../../scripts/servers restart "+b.name+"@3s")...)
	r := s.good(t)
	if len(r.Outages) == 0 || r.Outages[0].To == nil || r.Extra["lost"] != 0.0 {
		t.Errorf("outages %+v, extra %v", r.Outages, r.Extra)
	}
	k := (<-kept).good(t)
	if len(k.Outages) == 0 || k.Outages[0].Retried == 0 && !b.slowDisk {
		t.Errorf("outages %+v", k.Outages)
	}
	if l := k.Ledger; b.management != "" && (l.Source == "" || l.Missing > 0 || l.Stored == nil || warning(k, "ledger_unknown") != "") {
		t.Errorf("ledger %+v, warnings %v", l, k.Warnings)
	}
	c := b.run(t, strings.Fields("consumer --duration 5s --ack batch "+queue)...)
	distinct := int(c.report.Counts.OK) - number(c.report, "duplicate")
	t.Logf("%d acknowledged, %d are there, and %d twice; outages %+v and %+v", sent(k), distinct, number(c.report, "duplicate"), r.Outages, k.Outages)
	if distinct != sent(k) {
		t.Errorf("%d acknowledged, and %d are there", sent(k), distinct)
	}
}
