package kafka

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/engine"
)

// A leader that moves costs time and nothing else: with one request at a time nothing is
// lost, nothing comes twice, and the order stays.
func TestLeadersMove(t *testing.T) {
	c := broker(t, kfake.NumBrokers(3))
	o := producerOf(c)
	o.Acks, o.BatchSize, o.MaxOpen, o.MessageSize = produce.AcksAll, 10, 1, 100
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var moves sync.WaitGroup
	moves.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
			c.ShufflePartitionLeaders()
		}
	})
	r := run(t, o, func(e *engine.Options) { e.Rate, e.Duration = engine.MustRate("5000/s"), time.Second })
	cancel()
	moves.Wait()
	if r.Counts.OK != 5000 {
		t.Fatalf("counts %+v, errors %+v", r.Counts, r.Errors)
	}
	all := read(t, c, 5000)
	checkRecords(t, o, r, all)
	for p, records := range all {
		for i, r := range records {
			if s, _ := cluster.ReadStamp(r.Value); s.Number != uint64(i) {
				t.Fatalf("partition %d: number %d in place %d", p, s.Number, i)
			}
		}
	}
}

// breaking is a connection that breaks once so many bytes were written.
type breaking struct {
	net.Conn
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left >= 0 {
		return b.Conn.Write(p)
	}
	n, _ := b.Conn.Write(p[:len(p)/2])
	b.Conn.Close()
	return n, net.ErrClosed
}

// Connections break again and again in the middle of a request: what is acknowledged is
// in the topic, and everything is acknowledged in the end.
func TestConnectionsBreak(t *testing.T) {
	c := broker(t)
	o := producerOf(c)
	var made atomic.Int32
	dial := o.Dial
	o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		made.Add(1)
		return &breaking{conn, 30_000}, err
	}
	o.Acks, o.BatchSize, o.MessageSize = produce.AcksAll, 10, 100
	r := run(t, o, requests(5000))
	if r.Counts.OK != 5000 || made.Load() < 10 {
		t.Fatalf("counts %+v, errors %+v, %d connections", r.Counts, r.Errors, made.Load())
	}
	there := map[cluster.StreamKey]map[uint64]bool{}
	for p, records := range read(t, c, ends(t, c)) {
		for _, r := range records {
			s, _ := cluster.ReadStamp(r.Value)
			key := cluster.StreamKey{Run: s.Run, Stream: s.Stream, Partition: p}
			if there[key] == nil {
				there[key] = map[uint64]bool{}
			}
			there[key][s.Number] = true
		}
	}
	n := 0
	for _, numbers := range there {
		n += len(numbers)
	}
	if n != 5000 {
		t.Errorf("%d different records are there, want 5000", n)
	}
}

// A broker that wants to know again who the producer is gets a new connection in time.
func TestAgainWhoItIs(t *testing.T) {
	c := broker(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "u", "p"), kfake.BrokerConfigs(map[string]string{"connections.max.reauth.ms": "300"}))
	o := producerOf(c)
	o.SASL = cluster.SASL{Mechanism: cluster.SASLPlain, User: "u", Password: "p"}
	var made atomic.Int32
	dial := o.Dial
	o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		made.Add(1)
		return dial(ctx, network, addr)
	}
	r := run(t, o, func(e *engine.Options) { e.Rate, e.Duration = engine.MustRate("200/s"), 1200*time.Millisecond })
	if r.Counts.OK != 240 || made.Load() < 5 {
		t.Errorf("counts %+v, errors %+v, %d connections", r.Counts, r.Errors, made.Load())
	}
}

// Batches of different partitions that may go at the same time go in one request.
func TestTogether(t *testing.T) {
	c := broker(t)
	var requestsSeen, batchesSeen atomic.Int32
	c.ControlKey(kmsg.Produce.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		requestsSeen.Add(1)
		for _, topic := range req.(*kmsg.ProduceRequest).Topics {
			batchesSeen.Add(int32(len(topic.Partitions)))
		}
		return nil, nil, false
	})
	o := producerOf(c)
	o.Key, o.BatchSize, o.Writers, o.Linger = "key-{{.Seq}}", 100, 1, 10*time.Second
	if r := run(t, o, requests(1000)); r.Counts.OK != 1000 {
		t.Fatalf("counts %+v, errors %+v", r.Counts, r.Errors)
	}
	// The writer goes on as soon as the first part is there, so a batch may need two.
	if n := requestsSeen.Load(); batchesSeen.Load() != 30 || n > 20 {
		t.Errorf("%d requests with %d batches, want 30 batches in 10 to 20 requests", n, batchesSeen.Load())
	}
	if n := len(read(t, c, 1000, kgo.ConsumeTopics("sangrenel"))); n != 3 {
		t.Errorf("records in %d partitions", n)
	}
}

// leaving is a connection that the broker closes once it has read so many produce requests.
type leaving struct {
	net.Conn
	left int
}

func (l *leaving) Write(p []byte) (int, error) {
	if len(p) > 6 && p[4] == 0 && p[5] == 0 { // the key of the request
		l.left--
	}
	n, err := l.Conn.Write(p)
	if l.left == 0 {
		time.AfterFunc(time.Millisecond, func() { l.Conn.Close() })
	}
	return n, err
}

// Who wants no acknowledgement learns of a new leader only by the old one's hanging up:
// the leaders are asked for anew.
func TestHangingUpSaysSomething(t *testing.T) {
	c := broker(t)
	var asked, made atomic.Int32
	c.ControlKey(kmsg.Metadata.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		asked.Add(1)
		return nil, nil, false
	})
	o := producerOf(c)
	o.Acks = produce.AcksNone
	dial := o.Dial
	o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		made.Add(1)
		return &leaving{conn, 3}, err
	}
	r := run(t, o, func(e *engine.Options) { e.Rate, e.Duration = engine.MustRate("100/s"), 700*time.Millisecond })
	if r.Counts.OK != 70 || made.Load() < 5 || asked.Load() < 5 {
		t.Errorf("counts %+v, errors %+v; the leaders were asked for %d times over %d connections", r.Counts, r.Errors, asked.Load(), made.Load())
	}
}
