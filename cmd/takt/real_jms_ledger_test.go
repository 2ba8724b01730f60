//go:build real

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file compare the ledger of takt jms with what the broker's own program says of its queues.

// The ledger has the numbers of the broker: what was stored and delivered, and what the broker removed.
// --strict fails on messages that expired, and on dead letters.
func TestRealJMSLedger(t *testing.T) {
	b := artemis(t)
	for _, c := range []struct {
		line      string
		warning   takt.WarningCode
		delivered bool
		code      int
	}{
		{"client --message-count 3000 --max-pending 100 LEDGER", "", true, 0},
		{"client --message-count 1009 --tx --commit-interval 50 --max-pending 20 LEDGER", "", true, 0},
		{"producer --message-count 3000 --persistent --max-pending 100 LEDGER", "", false, 0},
		{"producer --rate 100/s --duration 2s EXPIRES", "ledger_expired", false, 6},
	} {
		name := c.line[strings.LastIndexByte(c.line, ' ')+1:]
		before := b.queues(t)[name]
		s := b.run(t, append(strings.Fields(c.line), "--strict")...)
		if s.code != c.code || s.report == nil {
			t.Fatalf("%s: exit code %d\n%s", c.line, s.code, s.stderr)
		}
		q, l := b.queues(t)[name], s.report.Ledger
		if l.Stored == nil || int(*l.Stored) != q.added-before.added || *l.Stored != l.Acknowledged || int(l.Acknowledged) != sent(s.report) || int(*l.Delivered) != q.acked-before.acked || c.delivered != (*l.Delivered > 0) {
			t.Errorf("%s: %+v, the broker says %+v, before %+v", c.line, l, q, before)
		}
		if (l.Expired > 0) != (c.warning != "") || c.warning != "" && warning(s.report, c.warning) == "" || l.Missing+l.Surplus+l.Dead > 0 {
			t.Errorf("%s: %+v, warnings %v", c.line, l, s.report.Warnings)
		}
	}
	b.empty(t, "LEDGER")
}

// Messages that a consumer does not accept become dead letters. They are the run's own, so takt has read the
// counters before.
func TestRealJMSDead(t *testing.T) {
	b := artemis(t)
	done := make(chan said, 1)
	go func() {
		done <- b.run(t, strings.Fields("producer --rate 50/s --duration 4s --strict DEAD")...)
	}()
	b.rollBack(t, "DEAD", 20)
	s := <-done
	if s.code != 6 || s.report == nil || s.report.Ledger.Dead < 20 || warning(s.report, "ledger_dead") == "" {
		t.Errorf("exit code %d, report %+v\n%s", s.code, s.report, s.stderr)
	}
	b.empty(t, "DEAD")
	b.empty(t, "DLQ")
}

// The broker is killed and started again while three runs send messages: all acknowledged persistent messages
// are there, and non-persistent ones that waited in the queue are missing.
func TestRealJMSRestart(t *testing.T) {
	b := artemis(t)
	runs := map[string]chan said{}
	for name, words := range map[string][]string{
		"RECEIVED":  {"client", "--persistent", "--fault", "../../scripts/servers restart artemis@3s"},
		"KEPT":      {"producer", "--persistent"},
		"FORGOTTEN": {"producer"},
	} {
		done := make(chan said, 1)
		runs[name] = done
		go func() {
			done <- b.run(t, append(words, strings.Fields("--rate 300/s --duration 15s --max-pending 100 --drain 240s "+name)...)...)
		}()
	}
	for name, done := range runs {
		s := <-done
		r := s.report
		if s.code != 0 || r == nil || len(r.Outages) == 0 || r.Outages[0].To == nil || r.Counts.OK != r.Counts.Scheduled {
			t.Errorf("%s: exit code %d\n%s\n%s", name, s.code, s.out, s.stderr)
			continue
		}
		checkRestart(t, b, r, name)
		b.empty(t, name)
	}
}

func checkRestart(t *testing.T, b jmsBroker, r *takt.Report, name string) {
	t.Helper()
	l, left := r.Ledger, uint64(b.queues(t)[name].left)
	t.Logf("%s: %+v, left %d, outages %+v", name, l, left, r.Outages)
	forgotten := name == "FORGOTTEN"
	if l.Acknowledged != r.Counts.OK || l.Uncertain != 0 || (l.Missing > 0) != forgotten || forgotten != (warning(r, "ledger_missing") != "") {
		t.Errorf("%s: ledger %+v, warnings %v", name, l, r.Warnings)
	}
	if slices.ContainsFunc(r.Outages, func(o takt.Outage) bool { return o.Failed > 0 || o.Lost != nil && *o.Lost > 0 }) {
		t.Errorf("%s: outages %+v", name, r.Outages)
	}
	switch {
	case name == "RECEIVED":
		if l.Stored != nil || left > 0 {
			t.Errorf("%s: ledger %+v, and %d messages are in the queue", name, l, left)
		}
	case l.Stored == nil || *l.Stored != left || left+l.Missing != l.Acknowledged+l.Surplus:
		t.Errorf("%s: ledger %+v, and %d messages are in the queue", name, l, left)
	}
}
