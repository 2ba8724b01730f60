package kafka

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

var twoTopics = []cluster.Topic{{Name: "orders", Weight: 3}, {Name: "payments", Weight: 1}}

// recordsOf is a count of a topic in a report.
func recordsOf(t *testing.T, r *takt.Report, topic, count string) uint64 {
	t.Helper()
	all, _ := r.Extra["topics"].(map[string]any)
	one, _ := all[topic].(map[string]any)
	n, ok := one[count].(uint64)
	if !ok {
		t.Fatalf("no %s of %s in %v", count, topic, r.Extra["topics"])
	}
	return n
}

// Each client writes to all topics by their weights. The ledger covers all of them, and a consumer finds
// in each topic what the producer says.
func TestTopics(t *testing.T) {
	for _, client := range clients() {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			c := broker(t, kfake.SeedTopics(2, "orders"), kfake.SeedTopics(1, "payments"))
			o := producerOf(c)
			o.Client, o.BatchSize, o.Key = client, 10, "k{{randInt 1 100}}"
			o.Topic, o.Topics = "orders", twoTopics
			r := run(t, o, requests(1000))
			orders, payments := recordsOf(t, r, "orders", "records"), recordsOf(t, r, "payments", "records")
			if r.Counts.OK != 1000 || orders+payments != 1000 || orders < 650 || orders > 850 {
				t.Fatalf("%d orders and %d payments, counts %+v, errors %v", orders, payments, r.Counts, r.Errors)
			}
			if l := r.Ledger; l.Acknowledged != 1000 || l.Stored == nil || *l.Stored != 1000 || l.Missing+l.Surplus != 0 {
				t.Errorf("ledger %+v", l)
			}
			for _, reader := range []string{cluster.ClientFranz, cluster.ClientSarama} {
				for _, group := range []string{"", "g-" + reader} {
					q := consumerOf(c)
					q.Client, q.Group, q.Topic, q.Topics = reader, group, "orders", twoTopics
					r := run(t, q, count(1000))
					if recordsOf(t, r, "orders", "received") != orders || recordsOf(t, r, "payments", "received") != payments {
						t.Errorf("%s %s: %v, want %d and %d", reader, group, r.Extra["topics"], orders, payments)
					}
					expect(t, r, allThere)
				}
			}
		})
	}
}

// The shards of a run send together what one machine would.
func TestTopicsOfShards(t *testing.T) {
	share := func(shard string) (orders uint64) {
		o := produce.New()
		o.Noop, o.Topic, o.Topics = true, "orders", twoTopics
		r := run(t, o, func(e *engine.Options) {
			e.Rate, e.Requests, e.Shard = engine.MustRate("100k/s"), 1000, engine.MustShard(shard)
		})
		return recordsOf(t, r, "orders", "records")
	}
	if whole, parts := share("1/1"), share("1/2")+share("2/2"); whole != parts {
		t.Errorf("one machine sends %d orders, two shards %d", whole, parts)
	}
}

func TestTopicsOfE2E(t *testing.T) {
	for _, client := range clients() {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			c := broker(t, kfake.SeedTopics(2, "orders"), kfake.SeedTopics(1, "payments"))
			o := e2eOf(c)
			o.Client, o.Topic, o.Topics = client, "orders", twoTopics
			r := run(t, o, func(e *engine.Options) { e.Rate, e.Requests = engine.MustRate("2000/s"), 400 })
			for _, topic := range []string{"orders", "payments"} {
				if n := recordsOf(t, r, topic, "records"); n == 0 || n != recordsOf(t, r, topic, "received") {
					t.Errorf("%s: %v", topic, r.Extra["topics"])
				}
			}
			if r.Counts.OK != 400 {
				t.Errorf("counts %+v, errors %v", r.Counts, r.Errors)
			}
			expect(t, r, allThere)
		})
	}
}

func TestTopicsFlag(t *testing.T) {
	for _, c := range []struct{ text, shown, fault string }{
		{"orders", "orders", ""},
		{"orders=3,payments", "orders=3,payments=1", ""},
		{"a.b_c-d, e", "a.b_c-d=1,e=1", ""},
		{"orders=0,payments", "", "bad weight"},
		{"orders=1.5", "", "bad weight"},
		{"orders=x", "", "bad weight"},
		{"orders,", "", "not the name of a topic"},
		{"or ders,payments", "", "not the name of a topic"},
		{"orders,orders", "", "named twice"},
		{strings.Repeat("a", 250) + ",b", "", "not the name of a topic"},
	} {
		o := produce.New()
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.AddFlags(fs)
		err := fs.Set("topic", c.text)
		if c.fault == "" {
			if err != nil || fs.Lookup("topic").Value.String() != c.shown {
				t.Errorf("%q: %v, shown as %q", c.text, err, fs.Lookup("topic").Value.String())
			}
		} else if err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%q: %v, want %s", c.text, err, c.fault)
		}
	}
}

// restarted is the report of a group of two members that are restarted in turn, and the number of
// restarts.
func restarted(t *testing.T, client, static string, length time.Duration) (*takt.Report, int) {
	q := consumerOf(filled(t, kfake.GroupMinSessionTimeout(time.Second)))
	q.Client, q.Group, q.Instance = client, "g", static
	q.Members.Count, q.Members.Every, q.Members.Down = 2, 300*time.Millisecond, 50*time.Millisecond
	if client == cluster.ClientFranz {
		q.Members.Session = 1500 * time.Millisecond // a member notices a rebalance at its heartbeat, each third of it
	}
	r := run(t, q, func(e *engine.Options) { e.Duration = length })
	n, _ := r.Extra["restarts"].(int)
	return r, n
}

// The members of a group share the records. A member that is restarted makes the group rebalance;
// nothing is lost.
func TestMembers(t *testing.T) {
	lengths := map[string][]time.Duration{ // a busy machine needs long until all members have joined
		cluster.ClientFranz:  {2 * time.Second, 8 * time.Second, 30 * time.Second},
		cluster.ClientSarama: {4 * time.Second, 8 * time.Second, 30 * time.Second}, // it waits 2 s before it joins again
	}
	for _, client := range []string{cluster.ClientFranz, cluster.ClientSarama} {
		for _, static := range []string{"", "m"} {
			t.Run(client+" "+static, func(t *testing.T) {
				t.Parallel()
				var r *takt.Report
				n, missing := 0, true
				for _, length := range lengths[client] {
					if r, n = restarted(t, client, static, length); n > 0 && (static != "" || r.Extra["rebalances"] != 0) {
						missing = false
						break
					}
				}
				if r.Counts.OK < 300 || r.Counts.OK-300 != r.Extra["reread"] {
					t.Errorf("counts %+v, reread %v", r.Counts, r.Extra["reread"])
				}
				expect(t, r, map[string]uint64{"lost": 0})
				if missing {
					t.Errorf("%v restarts, %v rebalances", n, r.Extra["rebalances"])
				}
			})
		}
	}
}

func TestMembershipFaults(t *testing.T) {
	q := consumerOf(broker(t))
	q.Members.Count = 2
	if faults := q.Validate(nil); len(faults) != 1 || !strings.Contains(faults[0].Error(), "add --group") {
		t.Error(faults)
	}
	q.Group, q.Members.Every, q.Members.Down = "g", time.Second, 2*time.Second
	if faults := q.Validate(nil); len(faults) != 1 || !strings.Contains(faults[0].Error(), "must be back") {
		t.Error(faults)
	}
}

// A group that refuses a member for its settings ends the run.
func TestUnfitMember(t *testing.T) {
	for _, client := range []string{cluster.ClientFranz, cluster.ClientSarama} {
		q := consumerOf(broker(t))
		q.Client, q.Group, q.Members.Session = client, "g", time.Second // brokers want 6 s
		r := run(t, q, func(e *engine.Options) { e.Duration = 10 * time.Second })
		if !slices.ContainsFunc(r.Warnings, func(w takt.Warning) bool {
			return w.Code == "broke_off" && strings.Contains(w.Message, "session timeout")
		}) {
			t.Errorf("%s: warnings %+v", client, r.Warnings)
		}
	}
}
