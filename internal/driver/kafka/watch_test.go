package kafka

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/driver/kafka/consume"
	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

// admin is a client of the cluster that o reaches.
func admin(t *testing.T, o *cluster.Cluster) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(o.Franz(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(cluster.Freshness))...)
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

// grow gives the topic so many partitions.
func grow(t *testing.T, cl *kgo.Client, partitions int32) {
	t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	topic := kmsg.NewCreatePartitionsRequestTopic()
	topic.Topic, topic.Count = "sangrenel", partitions
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(context.Background(), cl)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Error(err)
	}
}

// seeded is a cluster whose topic has one partition.
func seeded() kfake.Opt { return kfake.SeedTopics(1, "sangrenel") }

// Partitions that are added are read from their beginning, also by who wants the latest
// records only, alone or in a group.
func TestConsumePartitionsAdded(t *testing.T) {
	for _, group := range []string{"", "g"} {
		t.Run(cluster.ClientFranz+" "+group, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := consume.New()
				c := virtual(t, &o.Cluster, seeded())
				defer c.Close()
				o.Group = group
				consumeAdded(t, o, func() { time.Sleep(105 * time.Millisecond) })
			})
		})
	}
	t.Run(cluster.ClientSarama, func(t *testing.T) {
		t.Parallel()
		c, err := kfake.NewCluster(kfake.NumBrokers(1), seeded())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		reads, once := make(chan struct{}), sync.Once{}
		c.ControlKey(kmsg.Fetch.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			once.Do(func() { close(reads) })
			return nil, nil, false
		})
		o := consumerOf(c)
		o.Client = cluster.ClientSarama
		consumeAdded(t, o, func() { <-reads })
	})
}

// consumeAdded runs a consumer while two partitions are added and filled, once it reads.
func consumeAdded(t *testing.T, o *consume.Options, reads func()) {
	t.Helper()
	o.From = consume.FromLatest
	p := plan(t, o, count(60))
	cl := admin(t, &o.Cluster)
	defer cl.Close()
	r := fakeTime(t, p, 0, func() {
		reads()
		grow(t, cl, 3)
		for i := range 60 {
			r := &kgo.Record{Topic: "sangrenel", Partition: int32(1 + i%2), Value: []byte("hello")}
			if err := cl.ProduceSync(context.Background(), r).FirstErr(); err != nil {
				t.Error(err)
			}
		}
	})
	received, lag := partitions(r)
	if r.Counts.OK != 60 || received != 60 || lag != 0 || !r.Warned("partitions_added") || r.Extra["partitions_added"] != int32(2) {
		t.Errorf("counts %+v, extra %v, warnings %v", r.Counts, r.Extra, r.Warnings)
	}
}

// fakeTime runs p, mostly under fake time; at the instant at something happens.
func fakeTime(t *testing.T, p engine.Plan, at time.Duration, happens func()) *takt.Report {
	t.Helper()
	p.NewWaiter = pace.Timer
	time.AfterFunc(at, happens)
	return drivertest.Make(t, p)
}

// Records go to partitions that are added, and with e2e each of them is received: none of
// them waits for the consumer to find its partition.
func TestProducePartitionsAdded(t *testing.T) {
	for _, client := range []string{cluster.ClientTakt, cluster.ClientFranz} {
		for _, key := range []string{"", "key-{{.Seq}}"} {
			t.Run(client+" "+key, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := NewE2E()
					c := virtual(t, &o.Cluster, seeded())
					defer c.Close()
					o.Client, o.Key = client, key
					cl := admin(t, &o.Cluster)
					defer cl.Close()
					p := plan(t, o, func(e *engine.Options) { e.Rate, e.Duration = engine.MustRate("100/s"), 4*time.Second })
					r := fakeTime(t, p, 805*time.Millisecond, func() { grow(t, cl, 3) })
					if r.Counts.OK != 400 || r.Latency["response"].Max > 1000 {
						t.Errorf("counts %+v, errors %+v, response %+v", r.Counts, r.Errors, r.Latency["response"])
					}
					acked := r.Extra["partitions"].(map[string]uint64)
					if acked["1"] < 30 || acked["2"] < 30 || acked["0"]+acked["1"]+acked["2"] != 400 || !r.Warned("partitions_added") {
						t.Errorf("acknowledged %v, warnings %v", acked, r.Warnings)
					}
					expect(t, r, allThere)
				})
			})
		}
	}
}

// A topic that is deleted, or made anew, ends the run with a word; nothing waits for its
// time-out.
func TestTopicGone(t *testing.T) {
	remake := func(c *kfake.Cluster) error { return c.CreateTopic("sangrenel", 3, nil) }
	keep := func(*kfake.Cluster) error { return nil }
	for _, f := range []struct {
		name string
		then func(*kfake.Cluster) error
		says string
	}{{"deleted", keep, "is gone"}, {"made anew", remake, "was deleted and made anew"}} {
		for _, what := range []string{cluster.ClientTakt, cluster.ClientFranz, "e2e", "consumer", "group"} {
			t.Run(f.name+" "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o, reached := userOf(what)
					c := virtual(t, reached)
					defer c.Close()
					p := plan(t, o, func(e *engine.Options) {
						e.Duration = 20 * time.Second
						if what != "consumer" && what != "group" {
							e.Rate = engine.MustRate("100/s")
						}
					})
					r := fakeTime(t, p, 1205*time.Millisecond, func() {
						if err := c.DeleteTopic("sangrenel"); err != nil {
							t.Error(err)
						}
						if err := f.then(c); err != nil {
							t.Error(err)
						}
					})
					said := fmt.Sprint(r.Warnings)
					if !r.Warned("broke_off") || !strings.Contains(said, "topic sangrenel "+f.says) || r.DurationS > 3 || r.Counts.Unfinished > 0 {
						t.Errorf("%v s, counts %+v, warnings %v", r.DurationS, r.Counts, said)
					}
					for _, e := range r.Errors {
						if e.Class != cluster.ClassUnknownTopic && e.Class != cluster.ClassLost {
							t.Errorf("errors %+v", r.Errors)
						}
					}
				})
			})
		}
	}
}

// userOf are options of what uses a topic, and their cluster.
func userOf(what string) (drivertest.Flags, *cluster.Cluster) {
	switch what {
	case "e2e":
		o := NewE2E()
		return o, &o.Cluster
	case "consumer", "group":
		o := consume.New()
		if what == "group" {
			o.Group = "g"
		}
		return o, &o.Cluster
	}
	o := produce.New()
	o.Client = what
	return o, &o.Cluster
}

// network is one of which a broker may die.
type network struct {
	dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	mu    sync.Mutex
	conns map[net.Conn]string
	dead  string // address of the broker
}

func (n *network) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	n.mu.Lock()
	dead := addr == n.dead
	n.mu.Unlock()
	if dead {
		return nil, syscall.ECONNREFUSED
	}
	nc, err := n.dial(ctx, network, addr)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[nc] = addr
	return nc, err
}

func (n *network) kill(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = addr
	for nc, to := range n.conns {
		if to == addr {
			nc.Close()
		}
	}
}

// A broker dies, and after half a second the others lead its partitions: the consumer goes
// on as soon as the producer does. With franz-go's own 5 s between two looks for leaders
// records were received 4 to 9 s behind their acknowledgement.
func TestReceiptFollowsLeaders(t *testing.T) {
	const without = 500 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		o := NewE2E()
		c := virtual(t, &o.Cluster, kfake.NumBrokers(3), kfake.Ports(19092, 19093, 19094))
		defer c.Close()
		n := &network{dial: o.Dial, conns: map[net.Conn]string{}}
		o.Dial = n.connect
		p := plan(t, o, func(e *engine.Options) {
			e.Rate, e.Duration, e.Drain = engine.MustRate("100/s"), 4*time.Second, engine.DrainOf(20*time.Second)
		})
		r := fakeTime(t, p, 1005*time.Millisecond, func() {
			dead := c.LeaderFor("sangrenel", 0)
			n.kill(c.ListenAddrs()[dead])
			time.Sleep(without)
			for partition := range int32(3) {
				if c.LeaderFor("sangrenel", partition) != dead {
					continue
				}
				if err := c.MoveTopicPartition("sangrenel", partition, (dead+1)%3); err != nil {
					t.Error(err)
				}
			}
		})
		acked, received := r.Latency["ack"].Max/1e6, r.Latency["response"].Max/1e6
		if r.Counts.OK != 400 || acked < without.Seconds() || received > 2 {
			t.Errorf("counts %+v, errors %+v, acknowledged after up to %v s, received after up to %v s", r.Counts, r.Errors, acked, received)
		}
	})
}
