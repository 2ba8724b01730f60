package kafka

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

func clients() []string {
	return []string{cluster.ClientTakt, cluster.ClientFranz, cluster.ClientSarama, cluster.ClientSaramaAsync}
}

func TestDriver(t *testing.T) {
	for _, client := range clients() {
		t.Run(client, func(t *testing.T) {
			drivertest.Run(t, "", func(t *testing.T, target drivertest.Target) *takt.Driver {
				c := broker(t)
				o := producerOf(c)
				o.Client, o.Timeout, o.ConnectTimeout = client, time.Second, 2*time.Second
				switch target {
				case drivertest.Failing:
					c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.MessageTooLarge, Count: -1})
				case drivertest.Hanging:
					c.ControlKey(kmsg.Produce.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
						c.KeepControl()
						c.SleepControl(func() { <-t.Context().Done() })
						return nil, nil, false
					})
				case drivertest.Down:
					c.Close()
				}
				return plan(t, o, requests(1)).Driver
			})
		})
	}
}

// read are the records of the topic as they stand in its partitions.
func read(t *testing.T, c *kfake.Cluster, n uint64, opts ...kgo.Opt) map[int32][]*kgo.Record {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("sangrenel")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all := map[int32][]*kgo.Record{}
	for got := uint64(0); got < n; {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("only %d of %d records came", got, n)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			all[r.Partition] = append(all[r.Partition], r)
			got++
		})
	}
	return all
}

// ends is how many records the partitions have, by their end offsets.
func ends(t *testing.T, c *kfake.Cluster) (n uint64) {
	t.Helper()
	o := consumerOf(c)
	offsets, err := o.ListOffsets(t.Context(), []int32{0, 1, 2}, cluster.OffsetLatest, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, offset := range offsets {
		n += uint64(offset)
	}
	return n
}

// What is acknowledged is in the topic: exactly those numbers, each once.
func TestEveryRecordArrives(t *testing.T) {
	for _, client := range clients() {
		for _, way := range []struct{ acks, compression string }{
			{produce.AcksNone, "none"}, {produce.AcksAll, "none"},
			{produce.AcksLocal, "none"}, {produce.AcksLocal, "gzip"}, {produce.AcksLocal, "snappy"}, {produce.AcksLocal, "lz4"}, {produce.AcksLocal, "zstd"},
		} {
			t.Run(client+" "+way.acks+" "+way.compression, func(t *testing.T) {
				t.Parallel()
				c := broker(t)
				o := producerOf(c)
				o.Client, o.Acks, o.Compression, o.BatchSize, o.Workers, o.MessageSize = client, way.acks, way.compression, 7, 2, 100
				r := run(t, o, requests(500))
				answered := way.acks != produce.AcksNone
				if r.Counts.OK != 500 || (r.Latency["batch"].Count > 0) != answered || r.Bytes.Sent == 0 {
					t.Fatalf("counts %+v, errors %+v, bytes %+v", r.Counts, r.Errors, r.Bytes)
				}
				checkRecords(t, o, r, read(t, c, 500))
				if n := ends(t, c); n != 500 {
					t.Errorf("the topic holds %d records", n)
				}
			})
		}
	}
}

// checkRecords holds the stamps of all records against the numbers that must be there.
func checkRecords(t *testing.T, o *produce.Options, rep *takt.Report, all map[int32][]*kgo.Record) {
	t.Helper()
	next := map[cluster.StreamKey][]uint64{}
	for p, records := range all {
		for _, r := range records {
			s, ok := cluster.ReadStamp(r.Value)
			if !ok || s.Run.String() != rep.Extra["run"] || len(r.Value) != o.MessageSize {
				t.Fatalf("record %d of partition %d holds %q", r.Offset, p, r.Value)
			}
			key := cluster.StreamKey{Run: s.Run, Stream: s.Stream, Partition: p}
			next[key] = append(next[key], s.Number)
		}
	}
	for key, numbers := range next {
		slices.Sort(numbers)
		for i, n := range numbers {
			if n != uint64(i) {
				t.Fatalf("stream %d of partition %d: number %d in place %d", key.Stream, key.Partition, n, i)
			}
		}
	}
}

func TestWhatIsSent(t *testing.T) {
	c := broker(t)
	for _, client := range clients() {
		t.Run(client, func(t *testing.T) {
			o := producerOf(c)
			o.Client, o.Topic = client, "own-"+client
			o.Create = cluster.Create{On: true, Partitions: 4, Replication: 1}
			o.Messages, o.Key, o.Headers = []string{"one", "two"}, "key-{{.Seq}}", produce.Headers{{Key: "a", Value: []byte("b")}}
			if r := run(t, o, requests(20)); r.Counts.OK != 20 {
				t.Fatalf("counts %+v, errors %+v", r.Counts, r.Errors)
			}
			byKey := kgo.StickyKeyPartitioner(nil).ForTopic(o.Topic)
			seen := 0
			for p, records := range read(t, c, 20, kgo.ConsumeTopics(o.Topic)) {
				for _, r := range records {
					seen++
					var seq int
					if _, err := fmt.Sscanf(string(r.Key), "key-%d", &seq); err != nil {
						t.Fatal(err)
					}
					if want := o.Messages[seq%2]; string(r.Value) != want {
						t.Errorf("record %d holds %q, want %q", seq, r.Value, want)
					}
					if want := byKey.Partition(r, 4); int(p) != want {
						t.Errorf("key %s is in partition %d, want %d", r.Key, p, want)
					}
					if len(r.Headers) != 2 || r.Headers[0].Key != cluster.StampHeader || r.Headers[1].Key != "a" || string(r.Headers[1].Value) != "b" {
						t.Errorf("headers %v", r.Headers)
					}
				}
			}
			if seen != 20 {
				t.Errorf("%d records", seen)
			}
		})
	}
}

// A header with placeholders has another value in each record, with each client, wherever the stamp is.
func TestHeadersOfTheirOwn(t *testing.T) {
	c := broker(t)
	for _, client := range clients() {
		for _, message := range []string{"", "short"} {
			t.Run(client+message, func(t *testing.T) {
				o := producerOf(c)
				o.Client, o.Topic, o.BatchSize = client, "headers-"+client+message, 10
				o.Create = cluster.Create{On: true, Partitions: 2, Replication: 1}
				if message != "" {
					o.Messages = []string{message}
				}
				o.Headers = produce.Headers{{Key: "fixed", Value: []byte("b")}, {Key: "own", Value: []byte("n{{.Seq}}")}}
				if r := run(t, o, requests(40)); r.Counts.OK != 40 {
					t.Fatalf("counts %+v, errors %+v", r.Counts, r.Errors)
				}
				seen := map[string]bool{}
				for _, records := range read(t, c, 40, kgo.ConsumeTopics(o.Topic)) {
					for _, r := range records {
						list := r.Headers
						if _, inValue := cluster.ReadStamp(r.Value); !inValue {
							if _, ok := cluster.ReadStamp(list[0].Value); !ok || list[0].Key != cluster.StampHeader {
								t.Fatalf("headers %v", list)
							}
							list = list[1:]
						}
						if len(list) != 2 || list[0].Key != "fixed" || string(list[0].Value) != "b" || list[1].Key != "own" {
							t.Fatalf("headers %v", list)
						}
						seen[string(list[1].Value)] = true
					}
				}
				for i := range 40 {
					if !seen[fmt.Sprint("n", i)] {
						t.Errorf("no record %d: %v", i, seen)
					}
				}
			})
		}
	}
}

func TestPlain(t *testing.T) {
	c := broker(t)
	o := producerOf(c)
	o.Plain = true
	run(t, o, requests(10))
	for _, records := range read(t, c, 10) {
		for _, r := range records {
			if _, stamped := cluster.ReadStamp(r.Value); stamped || len(r.Headers) > 0 || len(r.Value) != 300 {
				t.Errorf("%q %v", r.Value, r.Headers)
			}
		}
	}
}

// Failed records have the class of what happened, with either client.
func TestFailures(t *testing.T) {
	for _, f := range []struct {
		err  *kerr.Error
		want string
	}{
		{kerr.MessageTooLarge, cluster.ClassTooLarge},
		{kerr.TopicAuthorizationFailed, cluster.ClassAuth},
		{kerr.InvalidRecord, "invalid_record"},
	} {
		for _, client := range clients() {
			t.Run(client+" "+f.want, func(t *testing.T) {
				c := broker(t)
				c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: f.err, Count: -1})
				o := producerOf(c)
				o.Client, o.Timeout = client, time.Second
				r := run(t, o, requests(20))
				if r.Counts.Failed != 20 || len(r.Errors) != 1 || r.Errors[0].Class != f.want || r.Errors[0].Sample == "" {
					t.Errorf("counts %+v, errors %+v", r.Counts, r.Errors)
				}
			})
		}
	}
}

// One batch of several is refused: its records fail, and nobody else's.
func TestOneBatchFails(t *testing.T) {
	for _, client := range clients() {
		t.Run(client, func(t *testing.T) {
			c := broker(t)
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Partitions: []int32{1}, Err: kerr.InvalidRecord, Count: -1})
			o := producerOf(c)
			o.Client, o.BatchSize = client, 10
			r := run(t, o, requests(300))
			acked := r.Extra["partitions"].(map[string]uint64)
			if acked["1"] != 0 || acked["0"] == 0 || acked["2"] == 0 || acked["0"]+acked["2"] != r.Counts.OK || r.Counts.OK+r.Counts.Failed != 300 {
				t.Errorf("counts %+v, acknowledged %v", r.Counts, acked)
			}
			if n := ends(t, c); n != r.Counts.OK {
				t.Errorf("the topic holds %d records, %d were acknowledged", n, r.Counts.OK)
			}
		})
	}
}

// A run that cannot be made says why in one sentence.
func TestNoRun(t *testing.T) {
	for _, f := range []struct {
		name   string
		opts   []kfake.Opt
		change func(o *produce.Options)
		want   string
	}{
		{"unreachable", nil, func(o *produce.Options) { o.Brokers = "127.0.0.1:1" }, "no broker of 127.0.0.1:1 answers"},
		{"no topic", nil, func(o *produce.Options) { o.Topic = "nowhere" }, "there is no topic nowhere"},
		{"wrong password", []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "u", "right")},
			func(o *produce.Options) {
				o.SASL = cluster.SASL{Mechanism: cluster.SASLPlain, User: "u", Password: "wrong"}
			}, "the brokers refuse the credentials"},
		{"no right", []kfake.Opt{kfake.EnableACLs(), kfake.EnableSASL(), kfake.User("PLAIN", "u", "p")},
			func(o *produce.Options) {
				o.SASL = cluster.SASL{Mechanism: cluster.SASLPlain, User: "u", Password: "p"}
			}, "topic sangrenel may not be used"},
		{"cannot be made", nil, func(o *produce.Options) {
			o.Topic, o.Create = "new", cluster.Create{On: true, Partitions: 1, Replication: 3}
		}, "topic new cannot be made"},
	} {
		t.Run(f.name, func(t *testing.T) {
			c := broker(t, f.opts...)
			// The fake cluster hangs up on a wrong password where a real one says so.
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.SASLAuthenticate}, TopLevel: true, Err: kerr.SaslAuthenticationFailed, Count: -1,
				When: func(r kmsg.Request) bool {
					return bytes.Contains(r.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes, []byte("wrong"))
				}})
			o := producerOf(c)
			o.ConnectTimeout = 3 * time.Second
			f.change(o)
			_, err := engine.Run(context.Background(), plan(t, o, requests(1)))
			if err == nil || !strings.Contains(err.Error(), f.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q in one line", err, f.want)
			}
		})
	}
}

func TestSASL(t *testing.T) {
	for _, mechanism := range []string{cluster.SASLPlain, cluster.SASLScram256, cluster.SASLScram512} {
		for _, client := range clients() {
			t.Run(mechanism+" "+client, func(t *testing.T) {
				c := broker(t, kfake.EnableSASL(), kfake.Superuser(strings.ToUpper(mechanism), "u", "secret"))
				o := producerOf(c)
				o.Client, o.SASL = client, cluster.SASL{Mechanism: mechanism, User: "u", Password: "secret"}
				if r := run(t, o, requests(10)); r.Counts.OK != 10 {
					t.Errorf("counts %+v, errors %+v", r.Counts, r.Errors)
				}
				if got := o.Secrets(); !slices.Equal(got, []string{"secret"}) {
					t.Errorf("secrets %q", got)
				}
			})
		}
	}
}

// Records of a transaction end with its commit, and a reader of committed ones sees all.
func TestTransactions(t *testing.T) {
	c := broker(t)
	o := producerOf(c)
	o.Acks, o.Transaction, o.BatchSize, o.Workers = produce.AcksAll, 30, 10, 2
	r := run(t, o, requests(100)) // each worker has 50: one full transaction and one of 20
	if r.Counts.OK != 100 || r.Latency["commit"].Count != 4 {
		t.Errorf("counts %+v, errors %+v, %d commits", r.Counts, r.Errors, r.Latency["commit"].Count)
	}
	checkRecords(t, o, r, read(t, c, 100, kgo.FetchIsolationLevel(kgo.ReadCommitted())))
}

// A transaction fails as a whole, and the next one begins.
func TestTransactionFails(t *testing.T) {
	c := broker(t)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.InvalidRecord, Count: 1})
	o := producerOf(c)
	o.Acks, o.Transaction, o.BatchSize, o.Writers = produce.AcksAll, 20, 20, 1
	r := run(t, o, requests(60))
	if r.Counts.OK != 40 || r.Counts.Failed != 20 {
		t.Errorf("counts %+v, errors %+v", r.Counts, r.Errors)
	}
	if got := read(t, c, 40, kgo.FetchIsolationLevel(kgo.ReadCommitted())); len(got) == 0 {
		t.Error("nothing was committed")
	}
}

// A broker that does not answer one worker's commit holds up no other worker.
func TestCommitHangs(t *testing.T) {
	c := broker(t)
	c.ControlKey(kmsg.EndTxn.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if strings.HasSuffix(req.(*kmsg.EndTxnRequest).TransactionalID, "-0") {
			c.SleepControl(func() { <-t.Context().Done() })
		}
		return nil, nil, false
	})
	o := producerOf(c)
	o.Acks, o.Transaction, o.BatchSize, o.Workers = produce.AcksAll, 60, 10, 2
	r := run(t, o, func(e *engine.Options) {
		e.Rate, e.Requests, e.Drain = engine.MustRate("100/s"), 40, engine.DrainOf(time.Second)
	})
	if r.Counts.OK != 20 || r.Counts.Unfinished != 20 {
		t.Errorf("counts %+v, errors %+v; want the 20 records of the other worker", r.Counts, r.Errors)
	}
}

func TestIdempotence(t *testing.T) {
	for _, client := range clients() {
		c := broker(t)
		o := producerOf(c)
		o.Client, o.Acks, o.Idempotence = client, produce.AcksAll, true
		if r := run(t, o, requests(100)); r.Counts.OK != 100 {
			t.Errorf("%s: counts %+v, errors %+v", client, r.Counts, r.Errors)
		}
	}
}

func TestNoop(t *testing.T) {
	o := produce.New()
	o.Noop, o.BatchSize, o.Brokers = true, 100, "127.0.0.1:1"
	r := run(t, o, requests(10_000))
	if r.Counts.OK != 10_000 || r.Extra["payload_bytes"] != uint64(3_000_000) || r.Bytes.Sent <= 3_000_000 || r.Extra["batches"] == uint64(0) {
		t.Errorf("counts %+v, bytes %+v, extra %v", r.Counts, r.Bytes, r.Extra)
	}
}

// A record costs at most two allocations, the fake broker's part included.
func TestAllocations(t *testing.T) {
	const n = 50_000
	o := producerOf(broker(t, kfake.BlackholeProduce()))
	o.BatchSize = 500
	p := plan(t, o, requests(n))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := engine.Run(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if each := float64(after.Mallocs-before.Mallocs) / n; each > 2 {
		t.Errorf("%.2f allocations for a record", each)
	}
}
