package kafka

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
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

// acknowledged is the answer to a request whose records nobody stores.
func acknowledged(req *kmsg.ProduceRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewProduceResponseTopicPartition()
			rp.Partition = p.Partition
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// produced calls f for the n-th request of the run that writes records, from 1 on.
func produced(c *kfake.Cluster, f func(n int, req *kmsg.ProduceRequest) kmsg.Response) {
	n := 0
	c.ControlKey(kmsg.Produce.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		n++
		resp := f(n, req.(*kmsg.ProduceRequest))
		return resp, nil, resp != nil
	})
}

// What a broker acknowledged and does not have is missing; what it has and nobody here wrote is
// surplus.
func TestLedger(t *testing.T) {
	for _, client := range []string{cluster.ClientTakt, cluster.ClientFranz} {
		for name, test := range map[string]struct {
			broker  func(c *kfake.Cluster)
			warning takt.WarningCode
		}{
			"honest": {func(*kfake.Cluster) {}, ""},
			"every second request is acknowledged and forgotten": {func(c *kfake.Cluster) {
				produced(c, func(n int, req *kmsg.ProduceRequest) kmsg.Response {
					if n%2 == 1 {
						return nil
					}
					return acknowledged(req)
				})
			}, "ledger_missing"},
		} {
			t.Run(client+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := produce.New()
					c := virtual(t, &o.Cluster)
					defer c.Close()
					o.Client, o.BatchSize = client, 10
					test.broker(c)
					r := run(t, o, requests(200))
					at, err := o.ListOffsets(t.Context(), []int32{0, 1, 2}, cluster.OffsetLatest, false)
					if err != nil {
						t.Fatal(err)
					}
					there := uint64(at[0] + at[1] + at[2])
					l := r.Ledger
					if l.Acknowledged != 200 || l.Uncertain != 0 || *l.Stored != there || l.Missing != 200-there || l.Surplus != 0 || (there < 200) != (test.warning != "") {
						t.Fatalf("%+v, stored %v, counts %+v", l, l.Stored, r.Counts)
					}
					if l.Balanced() != (test.warning == "") || test.warning != "" && !r.Warned(test.warning) {
						t.Errorf("warnings %v", r.Warnings)
					}
				})
			})
		}
	}
}

// What others write to the topic is a surplus. takt says so, unless a batch that it sent again may be there
// twice.
func TestLedgerOfASharedTopic(t *testing.T) {
	for _, test := range []struct {
		client string
		acks   string
		fault  *kerr.Error // answer to one request of 10 records
		text   string
	}{
		{cluster.ClientTakt, produce.AcksLocal, nil, ": another producer wrote 13 to the topic during the run"},
		{cluster.ClientTakt, produce.AcksLocal, kerr.RequestTimedOut, ": another producer wrote at least 3 to the topic during the run, and up to 10 are there twice"},
		{cluster.ClientTakt, produce.AcksLocal, kerr.NotEnoughReplicas, ": another producer wrote 13 to"},
		{cluster.ClientTakt, produce.AcksAll, kerr.RequestTimedOut, ": another producer wrote 13 to"},
		{cluster.ClientFranz, produce.AcksLocal, nil, ": 13 are there twice, or another producer writes to the topic"},
		{cluster.ClientFranz, produce.AcksAll, nil, ": another producer wrote 13 to"},
	} {
		c := broker(t)
		other, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic("sangrenel"))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		o := producerOf(c)
		o.Client, o.Acks, o.BatchSize, o.Writers = test.client, test.acks, 10, 1
		plan := plan(t, o, requests(200))
		started := plan.Driver.Async
		plan.Driver.Async = func(i int, sink takt.Sink) (*takt.AsyncClient, error) {
			for range 13 {
				if err := other.ProduceSync(t.Context(), kgo.StringRecord("a")).FirstErr(); err != nil {
					t.Error(err)
				}
			}
			produced(c, func(n int, req *kmsg.ProduceRequest) kmsg.Response {
				if test.fault == nil || n > 1 {
					return nil
				}
				resp := acknowledged(req).(*kmsg.ProduceResponse)
				resp.Topics[0].Partitions[0].ErrorCode = test.fault.Code
				return resp
			})
			return started(i, sink)
		}
		r := drivertest.Make(t, plan)
		text := ""
		for _, w := range r.Warnings {
			text += w.Message
		}
		if l := r.Ledger; l.Acknowledged != 200 || *l.Stored != 213 || l.Surplus != 13 || !r.Warned("ledger_surplus") || !strings.Contains(text, test.text) {
			t.Errorf("%+v: %+v, warnings %v", test, l, text)
		}
	}
}

// A shard cannot know who wrote the rest.
func TestLedgerOfShards(t *testing.T) {
	c := broker(t)
	for _, shard := range []string{"1/2", "2/2"} {
		r := run(t, producerOf(c), func(e *engine.Options) {
			e.Rate, e.Requests, e.Shard = engine.MustRate("1000/s"), 200, engine.MustShard(shard)
		})
		if l := r.Ledger; l.Acknowledged != 100 || l.Stored != nil || !l.Balanced() || r.Warned("ledger_surplus") {
			t.Errorf("%s: %+v, warnings %v", shard, l, r.Warnings)
		}
	}
}

// Records that were written and are neither acknowledged nor refused may be there. Others wait too long to be written.
func TestLedgerOfUncertainRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := produce.New()
		c := virtual(t, &o.Cluster)
		defer c.Close()
		o.BatchSize, o.Timeout = 10, time.Second
		n := 0
		c.ControlKey(kmsg.Produce.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			n++
			return nil, errors.New("cut"), n > 2
		})
		r := run(t, o, requests(200))
		l := r.Ledger
		if l.Acknowledged != r.Counts.OK || l.Uncertain == 0 || l.Uncertain > r.Counts.Failed || l.Surplus != 0 {
			t.Errorf("%+v, counts %+v", l, r.Counts)
		}
	})
}

// Of a record that is too large it is certain that no broker has it.
func TestLedgerOfRefusedRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := produce.New()
		c := virtual(t, &o.Cluster)
		defer c.Close()
		o.BatchSize = 10
		c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.MessageTooLarge, Count: 3})
		r := run(t, o, requests(200))
		if l := r.Ledger; r.Counts.Failed == 0 || l.Uncertain != 0 || l.Acknowledged != r.Counts.OK || !l.Balanced() {
			t.Errorf("%+v, counts %+v, errors %+v", l, r.Counts, r.Errors)
		}
	})
}

// A topic that is gone at the end leaves the ledger open, and says so.
func TestLedgerWithoutItsTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := produce.New()
		c := virtual(t, &o.Cluster)
		defer c.Close()
		o.BatchSize = 10
		c.ControlKey(kmsg.ListOffsets.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
			c.ControlKey(kmsg.ListOffsets.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				return nil, errors.New("gone"), true
			})
			return nil, nil, false
		})
		r := run(t, o, requests(200))
		if l := r.Ledger; l.Acknowledged != 200 || l.Stored != nil || l.Missing != 0 || !r.Warned("ledger_unknown") {
			t.Errorf("%+v, warnings %v", l, r.Warnings)
		}
	})
}

// Of a record that was never sent, or refused, it is certain that no broker has it: the run ends while a
// broker answers nothing, and the rest waits for a writer.
func TestLedgerOfUnsentRecords(t *testing.T) {
	const mostOpen = 5 * 3 * 10 // records under way at the end: requests, each with a batch of each partition
	for _, client := range []string{cluster.ClientTakt, cluster.ClientFranz} {
		for name, test := range map[string]struct {
			fault func(c *kfake.Cluster)
			least uint64 // that are uncertain
		}{
			"cuts the connection": {func(c *kfake.Cluster) {
				n := 0
				c.ControlKey(kmsg.Produce.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
					c.KeepControl()
					n++
					return nil, errors.New("cut"), n > 2
				})
			}, 1},
			"refuses": {func(c *kfake.Cluster) {
				c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.InvalidRecord})
			}, 0},
		} {
			t.Run(client+"/"+name, func(t *testing.T) {
				t.Parallel()
				c := broker(t)
				o := producerOf(c)
				o.Client, o.BatchSize = client, 10
				test.fault(c)
				r := run(t, o, func(e *engine.Options) {
					e.Rate, e.Requests, e.Drain = engine.MustRate("10000/s"), 1000, engine.DrainOf(time.Millisecond)
				})
				l := r.Ledger
				if l.Uncertain > mostOpen || l.Uncertain < test.least || r.Counts.OK == r.Counts.Sent || l.Missing+l.Surplus > 0 {
					t.Errorf("%+v, counts %+v, errors %v", l, r.Counts, r.Errors)
				}
			})
		}
	}
}
