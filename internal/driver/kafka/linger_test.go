package kafka

import (
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// sentBatch is a batch that a broker got.
type sentBatch struct {
	partition int32
	bytes     int
	records   int32
}

// watchBatches notes each batch that c gets.
func watchBatches(t *testing.T, c *kfake.Cluster) func() []sentBatch {
	t.Helper()
	var mu sync.Mutex
	var list []sentBatch
	c.ControlKey(kmsg.Produce.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		for _, topic := range req.(*kmsg.ProduceRequest).Topics {
			for _, p := range topic.Partitions {
				var b kmsg.RecordBatch
				if err := b.ReadFrom(p.Records); err != nil {
					t.Error(err)
				}
				list = append(list, sentBatch{p.Partition, len(p.Records), b.NumRecords})
			}
		}
		return nil, nil, false
	})
	return func() []sentBatch {
		mu.Lock()
		defer mu.Unlock()
		return list
	}
}

// rated is a run at a rate with --linger, and nothing else about batches.
func rated(t *testing.T, linger time.Duration, rate string, n uint64, key string) (*takt.Report, []sentBatch) {
	t.Helper()
	c := broker(t)
	sent := watchBatches(t, c)
	o := producerOf(c)
	o.Linger, o.Key = linger, key
	r := run(t, o, func(e *engine.Options) { e.Rate, e.Requests = engine.MustRate(rate), n })
	if r.Counts.OK != n {
		t.Fatalf("counts %+v, errors %+v", r.Counts, r.Errors)
	}
	if read := read(t, c, n); len(read) == 0 {
		t.Error("no records")
	}
	return r, sent()
}

// Batches fill up to 16 KiB, as those of Java's producer, whether records have keys or not. A
// writer does not wait for --linger once a batch is full.
func TestLingerFills(t *testing.T) {
	for _, key := range []string{"", "key-{{.Seq}}"} {
		r, sent := rated(t, 20*time.Second, "100k/s", 6000, key)
		full := 0
		for _, b := range sent {
			if b.bytes > 16<<10 {
				t.Errorf("key %q: a batch has %d bytes", key, b.bytes)
			}
			if b.bytes > 15<<10 {
				full++
			}
		}
		// 6000 records of 300 bytes are 115 full batches. With keys some partitions get more than others.
		if full < 40 || len(sent) > 240 {
			t.Errorf("key %q: %d of %d batches are full", key, full, len(sent))
		}
		if key == "" && r.Extra["batches"] != uint64(len(sent)) {
			t.Errorf("the report has %v batches, the broker got %d", r.Extra["batches"], len(sent))
		}
	}
}

// Small batches stay on a partition until it got as many bytes as a full one has.
func TestLingerStays(t *testing.T) {
	_, sent := rated(t, time.Millisecond, "1000/s", 120, "")
	inARow := 0
	for i, b := range sent {
		if i > 0 && b.partition != sent[i-1].partition {
			if inARow < 10<<10 {
				t.Errorf("partition %d got only %d bytes in a row", sent[i-1].partition, inARow)
			}
			inARow = 0
		}
		inARow += b.bytes
	}
	if len(sent) < 10 {
		t.Errorf("only %d batches; records wait longer than --linger", len(sent))
	}
}

// Every client has room for the batches that --linger lets takt have in flight.
func TestLingerOfAllClients(t *testing.T) {
	for _, client := range clients() {
		c := broker(t)
		o := producerOf(c)
		o.Client, o.Linger, o.MessageSize = client, 5*time.Millisecond, 40
		if r := run(t, o, func(e *engine.Options) { e.Rate, e.Requests = engine.MustRate("200k/s"), 20_000 }); r.Counts.OK != 20_000 {
			t.Errorf("%s: counts %+v, errors %+v", client, r.Counts, r.Errors)
		}
		if n := ends(t, c); n != 20_000 {
			t.Errorf("%s: the topic has %d records", client, n)
		}
	}
}

// In sangrenel's closed loop, --linger changes nothing without --message-batch-size.
func TestLingerInAClosedLoop(t *testing.T) {
	c := broker(t)
	o := producerOf(c)
	o.Linger = 5 * time.Millisecond
	if r := run(t, o, requests(50)); r.Extra["batches"] != uint64(50) {
		t.Errorf("%v batches of 50 records", r.Extra["batches"])
	}
}

// Records that are due within --max-lag begin together. What finds no room then is dropped, and counted.
func TestMaxLag(t *testing.T) {
	lagging := func(change func(e *engine.Options)) *takt.Report {
		return run(t, producerOf(broker(t)), func(e *engine.Options) {
			e.Rate, e.Requests, e.MaxLag = engine.MustRate("1k/s"), 400, 40*time.Millisecond
			change(e)
		})
	}
	// Half of the records are due more than 10 ms before the pacer wakes up, however busy the machine is.
	if r := lagging(func(*engine.Options) {}); r.Counts.OK != 400 || r.Latency[takt.LatencyScheduleLag].P50 < 10_000 {
		t.Errorf("schedule lag %+v, counts %+v", r.Latency[takt.LatencyScheduleLag], r.Counts)
	}
	r := lagging(func(e *engine.Options) { e.MaxInFlight, e.Overflow = 5, "drop" })
	if n := r.Counts; n.Scheduled != 400 || n.Scheduled != n.OK+n.Failed+n.Dropped+n.Unfinished || n.Dropped < 100 {
		t.Errorf("counts %+v", n)
	}
}
