//go:build real

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/amqp"
	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file cover messages that the broker rejects, that consumers are too slow for, and
// that are delivered again. takt's counts must match the broker's queue statistics.

func warning(r *takt.Report, code takt.WarningCode) string {
	i := slices.IndexFunc(r.Warnings, func(w takt.Warning) bool { return w.Code == code })
	if i < 0 {
		return ""
	}
	return r.Warnings[i].Message
}

func number(r *takt.Report, name string) int {
	n, _ := r.Extra[name].(float64)
	return int(n)
}

// empty consumes what is left in a queue, so that the tests can run again.
func (b jmsBroker) empty(t *testing.T, name string) {
	t.Helper()
	if n := b.queues(t)[name].left; n > 0 {
		b.run(t, "consumer", "--ack", "batch", "--message-count", fmt.Sprint(n), name).good(t)
	}
}

// Consumers that commit each message are slower than a producer with many messages pending. Messages
// that they had no time to commit stay in the queue.
func TestRealJMSSlow(t *testing.T) {
	b := artemis(t)
	before := b.queues(t)["SLOW"].added
	s := b.run(t, strings.Fields("client --max-pending 500 --tx --duration 2 --drain 1s SLOW")...)
	r := s.report
	if s.code != 0 || r == nil {
		t.Fatalf("exit code %d\n%s", s.code, s.stderr)
	}
	open, lost := number(r, "uncommitted"), number(r, "lost")
	if q := b.queues(t)["SLOW"]; q.left != open+lost || q.added-before != number(r, "completed") || number(r, "backlog") < open {
		t.Errorf("%+v, and the report says %v", q, r.Extra)
	}
	b.empty(t, "SLOW")
	if warning(r, "slow_consumer") == "" || (warning(r, "uncommitted") != "") != (open > 0) {
		t.Errorf("%d messages are not committed, warnings %v", open, r.Warnings)
	}
}

// Messages that a consumer rolled back are delivered again and counted as redelivered.
func TestRealJMSRedelivered(t *testing.T) {
	b := artemis(t)
	b.run(t, strings.Fields("producer --message-count 50 --max-pending 50 AGAIN")...).good(t)
	b.rollBack(t, "AGAIN", 20)
	r := b.run(t, strings.Fields("consumer --message-count 50 AGAIN")...).good(t)
	if number(r, "redelivered") != 20 || r.Latency["transfer"].Count != 50 || number(r, "duplicate") != 0 {
		t.Errorf("extra %v", r.Extra)
	}
	if q := b.queues(t)["AGAIN"]; q.left != 0 || q.acked != q.added {
		t.Errorf("%+v", q)
	}
}

// rollBack receives n messages in a transaction that it rolls back.
func (b jmsBroker) rollBack(t *testing.T, queue string, n int) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := amqp.Dial(ctx, amqp.Options{Addr: b.addr, User: "takt", Password: "takt"})
	must(err)
	s, err := c.Session(ctx)
	must(err)
	co, err := s.Coordinator(ctx)
	must(err)
	tx, err := co.Declare(ctx)
	must(err)
	ids := make(chan uint32, n)
	r, err := s.Receiver(ctx, amqp.ReceiverOptions{
		Address: queue, Capabilities: []string{"queue"}, Credit: uint32(n),
		OnDelivery: func(d *amqp.Delivery) {
			select {
			case ids <- d.ID():
			default: // more than n messages came, because the credit was renewed
			}
		},
	})
	must(err)
	first, last := <-ids, uint32(0)
	for range n - 1 {
		last = <-ids
	}
	must(r.Accept(first, last, tx))
	must(co.Discharge(ctx, tx, false))
	must(c.Close(ctx))
}

// When an address is full, the broker gives no more credit. With the policy FAIL it also rejects one
// message, with its own words.
func TestRealJMSFull(t *testing.T) {
	b := artemis(t)
	for _, c := range []struct {
		queue    string
		rejected uint64
	}{{"FULL.FAIL", 1}, {"FULL.BLOCK", 0}} {
		r, q := b.fill(t, c.queue)
		if r.Counts.OK == 0 || int(r.Counts.OK) != q.left || r.Counts.Failed != c.rejected || r.Counts.Unfinished == 0 {
			t.Errorf("%s: %+v, counts %+v", c.queue, q, r.Counts)
		}
		if c.rejected > 0 && (r.Errors[0].Class != "rejected" || !strings.Contains(r.Errors[0].Sample, "is full")) {
			t.Errorf("errors %+v", r.Errors)
		}
		if !strings.Contains(warning(r, "no_credit"), "the broker gave no credit 1 time,") {
			t.Errorf("%s: warnings %v, extra %v", c.queue, r.Warnings, r.Extra)
		}
	}
}

// fill sends messages until the queue is full. A busy broker accepts only 261 messages in a second,
// too few to fill the queue, so there are longer tries.
func (b jmsBroker) fill(t *testing.T, name string) (r *takt.Report, q queue) {
	t.Helper()
	for _, seconds := range []string{"1", "5", "20"} {
		s := b.run(t, "producer", "--message-count", "20000", "--duration", seconds, "--drain", "100ms", name)
		if s.code != 0 || s.report == nil {
			t.Fatalf("exit code %d\n%s", s.code, s.stderr)
		}
		r, q = s.report, b.queues(t)[name]
		if b.empty(t, name); r.Counts.Unfinished > 0 {
			break
		}
	}
	return r, q
}
