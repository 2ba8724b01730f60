//go:build real

package main

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// published is what RabbitMQ counts of a queue. takt has waited until the counters were new.
func (b otherBroker) published(t *testing.T, queue string) (publish, ack, depth int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.management+"/api/queues/%2F/"+queue, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("takt", "takt")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var q struct {
		Messages int            `json:"messages"`
		Stats    map[string]any `json:"message_stats"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&q); err != nil {
		t.Fatal(err)
	}
	of := func(name string) int { n, _ := q.Stats[name].(float64); return int(n) } // absent: 0
	return of("publish"), of("ack"), q.Messages
}

// The ledger has RabbitMQ's numbers, also of a queue with messages of earlier runs, and says what it lost.
func TestRealBrokerLedger(t *testing.T) {
	b := other(t)
	if b.management == "" {
		t.Skip("takt does not ask the management of " + b.name)
	}
	queue := "LEDGER." + strconv.FormatInt(time.Now().UnixNano(), 36)
	before := 0
	for _, line := range []string{
		"client --message-count 3000 --ack batch --consumers 3 --max-pending 100", "producer --message-count 500 --max-pending 100",
	} {
		began := time.Now()
		s := b.run(t, append(strings.Fields(line), "--strict", "--management", b.management, queue)...)
		took := time.Since(began)
		r := s.good(t)
		publish, ack, depth := b.published(t, queue)
		t.Logf("%s: %v, ledger %s, delivered %d; the broker: %d published, %d acknowledged, %d there", line, took, ledgerText(r.Ledger), *r.Ledger.Delivered, publish, ack, depth)
		if l := r.Ledger; l.Stored == nil || int(*l.Stored) != publish-before || *l.Stored != l.Acknowledged || int(l.Acknowledged) != sent(r) || !l.Balanced() {
			t.Errorf("%s: %+v, the broker says %d, before %d", line, l, publish, before)
		}
		before = publish
	}
	expired := b.run(t, strings.Fields("producer --rate 100/s --duration 3s --ttl 100 --strict --management "+b.management+" EXPIRES."+queue)...)
	// By hand 300 of 300 were removed, twice; within this test, twice none, and it is not known why.
	if l := expired.report.Ledger; l.Missing+l.Surplus > 0 || (l.Removed > 0) != (warning(expired.report, "ledger_removed") != "") || l.Removed > 0 && expired.code != 6 {
		t.Errorf("exit code %d, ledger %+v, warnings %v", expired.code, l, expired.report.Warnings)
	} else {
		t.Logf("%d of 300 messages that expired were removed", l.Removed)
	}
	other := make(chan said, 1)
	go func() {
		other <- b.run(t, strings.Fields("producer --rate 100/s --duration 38s SHARED."+queue)...)
	}()
	shared := b.run(t, strings.Fields("producer --rate 100/s --duration 3s --strict --management "+b.management+" SHARED."+queue)...)
	(<-other).good(t)
	if l := shared.report.Ledger; shared.code != 6 || l.Surplus < 100 || warning(shared.report, "ledger_surplus") == "" || l.Missing+l.Removed > 0 {
		t.Errorf("exit code %d, ledger %+v, warnings %v", shared.code, l, shared.report.Warnings)
	}
}

// Who may not read the counters learns it before the run, and no text shows a password.
func TestRealBrokerLedgerRefused(t *testing.T) {
	b := other(t)
	if b.management == "" {
		t.Skip("takt does not ask the management of " + b.name)
	}
	for user, says := range map[string]string{"poor:poor": "the tag monitoring", "takt:wrong-secret": "refuses the user", "": ""} {
		url := b.management
		if user != "" {
			url = strings.Replace(url, "//", "//"+user+"@", 1)
		}
		s := b.run(t, strings.Fields("producer --message-count 1 --management "+url+" REFUSED")...)
		if (s.code == 0) != (says == "") || !strings.Contains(s.stderr, says) || strings.Contains(s.stderr+s.out, "wrong-secret") {
			t.Errorf("%s: exit code %d\n%s", user, s.code, s.stderr)
		}
	}
}
