package kafka

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
)

// captured is a file with the 300 records of a topic with keys, and those records by partition.
func captured(t *testing.T, c *kfake.Cluster) (path string, records map[int32][]*kgo.Record) {
	t.Helper()
	p := producerOf(c)
	p.Key, p.Tombstones, p.BatchSize = "k{{randInt 1 20}}", 0.1, 7
	if err := p.Headers.Set("color: red"); err != nil {
		t.Fatal(err)
	}
	run(t, p, func(e *engine.Options) { e.Rate, e.Requests = engine.MustRate("1000/s"), 300 })
	q := consumerOf(c)
	q.Capture, q.Exit = filepath.Join(t.TempDir(), "a.jsonl.zst"), true
	if r := run(t, q, func(*engine.Options) {}); r.Counts.OK != 300 || r.Extra["captured"] != uint64(300) {
		t.Fatalf("counts %+v, extra %v", r.Counts, r.Extra)
	}
	return q.Capture, read(t, c, 300)
}

// same compares what is in two topics, partition by partition, without stamps.
func same(t *testing.T, got, want map[int32][]*kgo.Record) {
	t.Helper()
	for p, list := range want {
		if len(got[p]) != len(list) {
			t.Fatalf("partition %d has %d records, want %d", p, len(got[p]), len(list))
		}
		for i, r := range list {
			g := got[p][i]
			if !bytes.Equal(g.Key, r.Key) || (g.Key == nil) != (r.Key == nil) || !bytes.Equal(g.Value, r.Value) || (g.Value == nil) != (r.Value == nil) {
				t.Fatalf("partition %d, record %d: %q %q, want %q %q", p, i, g.Key, g.Value, r.Key, r.Value)
			}
			if list := g.Headers; list[len(list)-1].Key != "color" || string(list[len(list)-1].Value) != "red" || list[0].Key != cluster.StampHeader {
				t.Fatalf("headers %v", list)
			}
		}
	}
}

// Records that were captured are written again at their recorded times, to their partitions and in their
// order.
func TestRecorded(t *testing.T) {
	c := broker(t, kfake.SeedTopics(3, "again"))
	path, want := captured(t, c)
	p := producerOf(c)
	p.Topic, p.Recorded.File, p.Recorded.Speed, p.BatchSize = "again", path, 2, 10
	plan := plan(t, p, func(*engine.Options) {})
	var err error
	if plan.Source, err = p.Source(t.Context(), plan.Source); err != nil {
		t.Fatal(err)
	}
	r := drivertest.Make(t, plan)
	if r.Counts.OK != 300 || r.Ledger.Missing+r.Ledger.Surplus != 0 {
		t.Fatalf("counts %+v, errors %v, ledger %+v", r.Counts, r.Errors, r.Ledger)
	}
	if d := time.Duration(r.DurationS * float64(time.Second)); d < 100*time.Millisecond || d > 400*time.Millisecond { // 300 ms at twice the speed, from record to record
		t.Errorf("the records were due within %v, want about 150ms", d)
	}
	same(t, read(t, c, 300, kgo.ConsumeTopics("again")), want)
}

// With another number of partitions the key chooses, as for any producer; at a rate the times are those of
// the rate; -n ends the run.
func TestRecordedElsewhere(t *testing.T) {
	c := broker(t, kfake.SeedTopics(5, "again"))
	path, _ := captured(t, c)
	p := producerOf(c)
	p.Topic, p.Recorded.File = "again", path
	plan := plan(t, p, func(e *engine.Options) { e.Rate, e.Requests = engine.MustRate("10k/s"), 200 })
	var err error
	if plan.Source, err = p.Source(t.Context(), plan.Source); err != nil {
		t.Fatal(err)
	}
	if r := drivertest.Make(t, plan); r.Counts.OK != 200 {
		t.Fatalf("counts %+v, errors %v", r.Counts, r.Errors)
	}
	byKey := kgo.StickyKeyPartitioner(nil).ForTopic("again")
	for n, list := range read(t, c, 200, kgo.ConsumeTopics("again")) {
		for _, r := range list {
			if want := byKey.Partition(r, 5); int32(want) != n {
				t.Fatalf("key %s is in partition %d, want %d", r.Key, n, want)
			}
		}
	}
}

// A file that is cut off gives its good records, and the error says so.
func TestRecordedCutOff(t *testing.T) {
	c := broker(t, kfake.SeedTopics(3, "again"))
	path, _ := captured(t, c)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	p := producerOf(c)
	p.Topic, p.Recorded.File = "again", path
	plan := plan(t, p, func(*engine.Options) {})
	feed, err := p.Source(t.Context(), plan.Source)
	if err != nil { // already the first block is incomplete
		if !strings.Contains(err.Error(), "cut off") && !strings.Contains(err.Error(), "is not a file") {
			t.Error(err)
		}
		return
	}
	plan.Source = feed
	r := drivertest.Make(t, plan)
	if f := feed.(engine.Feed); r.Counts.OK >= 300 || f.Err() == nil || !strings.Contains(f.Err().Error(), "cut off") {
		t.Errorf("counts %+v, %v", r.Counts, f.Err())
	}
}

func TestRecordedFaults(t *testing.T) {
	p := producerOf(broker(t))
	p.Recorded.Speed = 2
	if faults := p.Validate(nil); len(faults) != 1 || !strings.Contains(faults[0].Error(), "without --recorded") {
		t.Error(faults)
	}
	p.Recorded.File, p.Key, p.Workers, p.Topics = "x", "k", 2, twoTopics
	if faults := p.Validate(nil); len(faults) != 3 {
		t.Error(faults)
	}
	q := consumerOf(broker(t))
	q.Capture, q.Group, q.Topics, q.CaptureSize = "x", "g", twoTopics, 10
	if faults := q.Validate(nil); len(faults) != 3 {
		t.Error(faults)
	}
}

// Records that are due while the broker does not answer have a limit in bytes, and all are written later. They
// waited for the broker, so they do not count as takt's lateness.
func TestRecordedIsBounded(t *testing.T) {
	c := broker(t, kfake.SeedTopics(3, "again"))
	path := filepath.Join(t.TempDir(), "large.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, `{"takt_capture":1,"topic":"t","partitions":3}`)
	large := strings.Repeat("x", 9000)
	for i := range 90 {
		fmt.Fprintf(f, `{"t":%d,"p":%d,"v":"%s"}`+"\n", 1_700_000_000_000+i, i%3, large)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var first sync.Once
	c.ControlKey(kmsg.Produce.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		first.Do(func() { time.Sleep(time.Second) })
		return nil, nil, false
	})
	p := producerOf(c)
	p.Topic, p.Recorded.File, p.Recorded.Most, p.Timeout = "again", path, 200_000, time.Minute
	plan := plan(t, p, func(*engine.Options) {})
	if plan.Source, err = p.Source(t.Context(), plan.Source); err != nil {
		t.Fatal(err)
	}
	r := drivertest.Make(t, plan)
	if r.Counts.OK != 90 || !r.Warned("recorded_bound") || r.Latency["send_delay"].Max < 500_000 {
		t.Errorf("counts %+v, errors %v, warnings %v, send delay %+v", r.Counts, r.Errors, r.Warnings, r.Latency["send_delay"])
	}
}
