package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/driver/kafka/consume"
	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// count is a run that ends with n records, or is broken.
func count(n uint64) func(e *engine.Options) {
	return func(e *engine.Options) { e.Requests, e.Duration = n, 20*time.Second }
}

// expect holds numbers of a report's extra against what they should be.
func expect(t *testing.T, r *takt.Report, want map[string]uint64) {
	t.Helper()
	for name, n := range want {
		if r.Extra[name] != n {
			t.Errorf("%s is %v, want %d", name, r.Extra[name], n)
		}
	}
}

var allThere = map[string]uint64{"lost": 0, "duplicate": 0, "reordered": 0, "foreign": 0}

// filled is a broker with 300 records.
func filled(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c := broker(t, opts...)
	p := producerOf(c)
	p.BatchSize = 10
	run(t, p, requests(300))
	return c
}

func TestConsume(t *testing.T) {
	c := filled(t)
	for _, client := range []string{cluster.ClientFranz, cluster.ClientSarama} {
		for _, group := range []string{"", "of " + client} {
			t.Run(client+" "+group, func(t *testing.T) {
				o := consumerOf(c)
				o.Client, o.Group = client, group
				r := run(t, o, count(300))
				if r.Counts.OK != 300 || r.Latency["transfer"].Count != 300 || r.Bytes.Received < 300*300 {
					t.Errorf("counts %+v, transfer %+v, bytes %+v, warnings %v", r.Counts, r.Latency["transfer"].Count, r.Bytes, r.Warnings)
				}
				if r.Extra["lag"] != int64(0) || r.Extra["transfer_from"] != "due" {
					t.Errorf("extra %v", r.Extra)
				}
				expect(t, r, allThere)
			})
		}
	}
}

// A consumer that gets no answers to its fetches has a lag: each second has what the topic has.
func TestLagWithoutFetches(t *testing.T) {
	c := filled(t)
	c.ControlKey(kmsg.Fetch.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return nil, errors.New("not now"), true // the broker closes the connection
	})
	for _, client := range []string{cluster.ClientFranz, cluster.ClientSarama} {
		o := consumerOf(c)
		o.Client = client
		r := run(t, o, func(e *engine.Options) { e.Duration = 1200 * time.Millisecond })
		if len(r.Intervals) == 0 || r.Intervals[0].Lag == nil || *r.Intervals[0].Lag != 300 {
			t.Errorf("%s: intervals %+v", client, r.Intervals)
		}
	}
}

// What a group has given to nobody when the run ends is a lag of this run. What it has given to a member of
// another process is not, nor what such a member has read.
func TestLagOfIdleGroup(t *testing.T) {
	for _, client := range []string{cluster.ClientFranz, cluster.ClientSarama} {
		c := filled(t)
		o := consumerOf(c)
		o.Client, o.Group = client, "idle"
		run(t, o, count(100))
		idle := func(want int64) {
			t.Helper()
			r := run(t, o, func(e *engine.Options) { e.Duration = 300 * time.Millisecond })
			if r.Counts.OK != 0 || r.Extra["lag"] != want || r.Warned(warn.Lag) {
				t.Errorf("%s: %+v, %v, %+v; want a lag of %d", client, r.Counts, r.Extra, r.Warnings, want)
			}
		}
		other, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumerGroup("idle"), kgo.ConsumeTopics("sangrenel"), kgo.DisableAutoCommit())
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		other.PollRecords(t.Context(), 1) // it has joined
		// takt does not: the broker does not answer its requests.
		c.ControlKey(kmsg.JoinGroup.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			return nil, errors.New("not now"), true
		})
		idle(0)
		other.Close()
		idle(200)
		o.Group = "fresh"
		idle(300)
	}
}

// Each second of a consumer has its lag.
func TestLagOfSeconds(t *testing.T) {
	c := filled(t)
	for _, client := range []string{cluster.ClientFranz, cluster.ClientSarama} {
		o := consumerOf(c)
		o.Client = client
		p := plan(t, o, func(e *engine.Options) { e.Duration = 1500 * time.Millisecond })
		r := drivertest.Make(t, p)
		if len(r.Intervals) == 0 || r.Intervals[0].Lag == nil || *r.Intervals[0].Lag != 0 {
			t.Errorf("%s: intervals %+v", client, r.Intervals)
		}
	}
}

// A static member that comes back has its partitions at once, and goes on where it was.
func TestStaticMember(t *testing.T) {
	c := filled(t)
	for _, client := range []string{cluster.ClientFranz, cluster.ClientSarama} {
		for _, n := range []uint64{100, 200} {
			o := consumerOf(c)
			o.Client, o.Group, o.Instance = client, "static "+client, "one"
			if r := run(t, o, count(n)); r.Counts.OK != n || r.Variables["group_instance_id"] != nil && r.Variables["group_instance_id"] != "one" {
				t.Errorf("%s: counts %+v, errors %+v", client, r.Counts, r.Errors)
			}
		}
		if g := instances(t, c, "static "+client); len(g) != 1 || g[0] != "one" {
			t.Errorf("%s: the group has the static members %v", client, g)
		}
	}
}

// instances are the static members of a group.
func instances(t *testing.T, c *kfake.Cluster, group string) (names []string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	resp, err := req.RequestWith(t.Context(), cl)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range resp.Groups[0].Members {
		if m.InstanceID != nil {
			names = append(names, *m.InstanceID)
		}
	}
	return names
}

// A run that has what it wants counts no more, and commits no more: the next one of its
// group goes on there.
func TestConsumeCount(t *testing.T) {
	c := filled(t)
	for _, client := range []string{cluster.ClientFranz, cluster.ClientSarama} {
		t.Run(client, func(t *testing.T) {
			for _, step := range []struct {
				n   uint64
				lag int64
			}{{100, 200}, {200, 0}} {
				n, o := step.n, consumerOf(c)
				o.Client, o.Group = client, "counts by "+client
				r := run(t, o, count(n))
				received, lag := partitions(r)
				if r.Counts.OK != n || received != n || lag != step.lag || r.Latency["transfer"].Count != n {
					t.Errorf("%d: counts %+v, %d of the partitions, %d transfers", n, r.Counts, received, r.Latency["transfer"].Count)
				}
				expect(t, r, allThere)
			}
		})
	}
}

// put writes n records of that time, in turn to the partitions.
func put(t *testing.T, c *kfake.Cluster, n int, at time.Time) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for i := range n {
		r := &kgo.Record{Topic: "sangrenel", Partition: int32(i % 3), Value: []byte("hello"), Timestamp: at}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConsumeFrom(t *testing.T) {
	c := broker(t)
	now := time.Now()
	put(t, c, 30, now.Add(-time.Hour))
	put(t, c, 12, now)
	between := now.Add(-time.Minute)
	for _, client := range []string{cluster.ClientFranz, cluster.ClientSarama} {
		for _, f := range []struct {
			name   string
			change func(o *consume.Options)
			want   uint64
		}{
			{"beginning", func(*consume.Options) {}, 42},
			{"instant", func(o *consume.Options) { o.From = between.Format(time.RFC3339Nano) }, 12},
			{"later than all", func(o *consume.Options) { o.From = between.Add(time.Hour).Format(time.RFC3339Nano) }, 0},
			{"latest", func(o *consume.Options) { o.From = consume.FromLatest }, 0},
			{"one partition", func(o *consume.Options) { o.Partition = "1" }, 14},
		} {
			t.Run(client+" "+f.name, func(t *testing.T) {
				t.Parallel()
				o := consumerOf(c)
				o.Client = client
				f.change(o)
				r := run(t, o, func(e *engine.Options) { e.Duration = time.Second })
				if r.Counts.OK != f.want {
					t.Errorf("%d records, want %d; extra %v", r.Counts.OK, f.want, r.Extra)
				}
			})
		}
	}
}

// Records that takt did not send count as foreign, and their way begins at their own time.
func TestConsumeForeign(t *testing.T) {
	c := broker(t)
	put(t, c, 1, time.Now().Add(-time.Second))
	r := run(t, consumerOf(c), count(1))
	if r.Extra["transfer_from"] != "sent" || r.Latency["transfer"].Min < 1e6 {
		t.Errorf("extra %v, transfer %+v", r.Extra, r.Latency["transfer"])
	}
	expect(t, r, map[string]uint64{"foreign": 1, "lost": 0})
}

func TestConsumeFails(t *testing.T) {
	c := broker(t)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	for _, client := range []string{cluster.ClientFranz, cluster.ClientSarama} {
		o := consumerOf(c)
		o.Client = client
		r := run(t, o, count(1))
		if r.Counts.OK != 0 || r.Counts.Unfinished != 1 || len(r.Warnings) == 0 || r.Warnings[0].Code != "broke_off" {
			t.Errorf("%s: counts %+v, warnings %v", client, r.Counts, r.Warnings)
		}
	}
	for _, f := range []struct {
		change func(o *consume.Options)
		want   string
	}{
		{func(o *consume.Options) { o.Topic = "nowhere" }, "there is no topic nowhere"},
		{func(o *consume.Options) { o.Partition = "3" }, "has no partition 3"},
	} {
		o := consumerOf(c)
		f.change(o)
		if _, err := engine.Run(context.Background(), plan(t, o, count(1))); err == nil || !strings.Contains(err.Error(), f.want) {
			t.Errorf("%v, want %q", err, f.want)
		}
	}
}

func e2eOf(c *kfake.Cluster) *E2E {
	o := NewE2E()
	o.Brokers = c.ListenAddrs()[0]
	return o
}

func TestE2E(t *testing.T) {
	for _, client := range clients() {
		for _, size := range []int{300, 10} { // the stamp stands in the message, and in a header
			t.Run(client, func(t *testing.T) {
				c := broker(t)
				run(t, producerOf(c), requests(5)) // of another run: not read
				o := e2eOf(c)
				o.Client, o.MessageSize, o.BatchSize = client, size, 5
				r := run(t, o, func(e *engine.Options) { e.Rate, e.Requests = engine.MustRate("2000/s"), 200 })
				if r.Counts.OK != 200 || r.Latency["ack"].Count != 200 || r.Latency["transfer"].Count != 200 {
					t.Errorf("counts %+v, errors %+v, ack %d, transfer %d", r.Counts, r.Errors, r.Latency["ack"].Count, r.Latency["transfer"].Count)
				}
				expect(t, r, allThere)
				expect(t, r, map[string]uint64{"received": 200})
			})
		}
	}
}

func TestE2ETransactions(t *testing.T) {
	o := e2eOf(broker(t))
	o.Acks, o.Transaction = produce.AcksAll, 10
	r := run(t, o, requests(50))
	if r.Counts.OK != 50 || r.Latency["commit"].Count != 5 {
		t.Errorf("counts %+v, errors %+v, %d commits", r.Counts, r.Errors, r.Latency["commit"].Count)
	}
}

// Records that are acknowledged and never arrive are lost, not forgotten.
func TestE2ELoses(t *testing.T) {
	o := e2eOf(broker(t, kfake.BlackholeProduce()))
	r := run(t, o, func(e *engine.Options) {
		e.Rate, e.Requests, e.Drain = engine.MustRate("1000/s"), 20, engine.DrainOf(300*time.Millisecond)
	})
	if r.Counts.Unfinished != 20 || r.Latency["ack"].Count != 20 {
		t.Errorf("counts %+v, %d acknowledged", r.Counts, r.Latency["ack"].Count)
	}
	expect(t, r, map[string]uint64{"lost": 20, "received": 0})
}

// A closed loop does not wait for ever for records that do not come.
func TestE2EGivesUp(t *testing.T) {
	o := e2eOf(broker(t, kfake.BlackholeProduce()))
	o.Timeout = 50 * time.Millisecond
	r := run(t, o, requests(20)) // five at a time
	if r.Counts.Failed != 20 || len(r.Errors) != 1 || r.Errors[0].Class != cluster.ClassLost {
		t.Errorf("counts %+v, errors %+v", r.Counts, r.Errors)
	}
	expect(t, r, map[string]uint64{"lost": 20, "received": 0})
}

// With --exit a run ends when it has read what the log holds at the start, and its window
// with the last record. What Kafka writes into the log for transactions counts as read.
func TestConsumeExit(t *testing.T) {
	c := broker(t)
	p := producerOf(c)
	p.Acks, p.Transaction, p.BatchSize = produce.AcksAll, 30, 10
	run(t, p, requests(100))
	for _, f := range []struct {
		name   string
		change func(o *consume.Options)
		want   uint64
	}{
		{"all", func(*consume.Options) {}, 100},
		{"committed", func(o *consume.Options) { o.Committed = true }, 100},
		{"latest", func(o *consume.Options) { o.From = consume.FromLatest }, 0},
		{"group", func(o *consume.Options) { o.Group = "exit" }, 100},
		{"group again", func(o *consume.Options) { o.Group = "exit" }, 0},
		{"a partition", func(o *consume.Options) { o.Partition = "1" }, 30},
	} {
		t.Run(f.name, func(t *testing.T) {
			o := consumerOf(c)
			o.Exit = true
			f.change(o)
			r := run(t, o, func(e *engine.Options) { e.Duration = 20 * time.Second })
			if r.Counts.Scheduled != f.want || r.Counts.OK != f.want || r.DurationS > 10 || r.Extra["lag"] != int64(0) {
				t.Errorf("counts %+v after %v s, want %d; extra %v", r.Counts, r.DurationS, f.want, r.Extra)
			}
		})
	}
}

// What nobody fetched is lag, too: that of a partition from which nothing came before the
// run had what it wanted.
func TestLagOfAll(t *testing.T) {
	c := broker(t)
	put(t, c, 300, time.Now())
	for _, client := range []string{cluster.ClientFranz, cluster.ClientSarama} {
		for _, group := range []string{"", "lag of " + client} {
			o := consumerOf(c)
			o.Client, o.Group = client, group
			// On a busy machine sarama has its first record before it begins with all partitions.
			if r := run(t, o, count(1)); r.Extra["lag"] != int64(299) && !r.Warned("lag") {
				t.Errorf("%s %s: lag is %v, want 299; %v", client, group, r.Extra["lag"], r.Extra["partitions_received"])
			}
		}
	}
}
