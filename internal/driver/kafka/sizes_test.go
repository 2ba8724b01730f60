package kafka

import (
	"bytes"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/warn"
)

// Sizes, keys and tombstones reach the topic as the seed has them, with each client, and the
// stamps with them.
func TestDistributions(t *testing.T) {
	type record struct {
		key  string
		size int // -1: no value
	}
	var first map[record]int
	for _, client := range clients() {
		c := broker(t)
		o := producerOf(c)
		o.Client, o.BatchSize, o.Sizes, o.Key, o.Tombstones = client, 10, "lognormal:200,1000", "user-{{zipf 50 1.1}}", 0.1
		r := run(t, o, requests(2000))
		if r.Counts.OK != 2000 {
			t.Fatalf("%s: counts %+v, errors %+v", client, r.Counts, r.Errors)
		}
		seen, keys, tombstones, total := map[record]int{}, map[string]int{}, 0, 0
		for partition, list := range read(t, c, 2000) {
			for _, k := range list {
				one := record{string(k.Key), len(k.Value)}
				if k.Value == nil {
					one.size = -1
					tombstones++
				}
				seen[one]++
				keys[one.key]++
				total += len(k.Value)
				if len(k.Headers) != 1 || k.Headers[0].Key != cluster.StampHeader {
					t.Fatalf("%s: partition %d: headers %v", client, partition, k.Headers)
				}
				if _, ok := cluster.ReadStamp(k.Headers[0].Value); !ok {
					t.Fatalf("%s: partition %d: no stamp", client, partition)
				}
			}
		}
		if tombstones < 150 || tombstones > 250 || keys["user-1"] < 3*keys["user-10"] || total < 2000*180*8/10 || total > 2000*180*12/10 {
			t.Errorf("%s: %d tombstones, %d and %d records of two keys, %d bytes", client, tombstones, keys["user-1"], keys["user-10"], total)
		}
		if r.Extra["payload_bytes"] != uint64(total) && r.Extra["payload_bytes"] != int64(total) {
			t.Errorf("%s: %v payload bytes, %d in the topic", client, r.Extra["payload_bytes"], total)
		}
		if first == nil {
			first = seen
		}
		for one, n := range seen {
			if first[one] != n {
				t.Errorf("%s: %+v is there %d times, with another client %d", client, one, n, first[one])
				break
			}
		}
		v := o.Variables()
		if v["message_sizes"] != o.Sizes || v["key"] != o.Key || v["tombstones"] != 0.1 || v["seed"] == nil || v["message_bytes"] != nil {
			t.Errorf("%s: variables %v", client, v)
		}
	}
}

// Sizes that always have room for the stamp have it in the value, as fixed sizes have.
func TestStampWithinSizes(t *testing.T) {
	for sizes, within := range map[string]bool{"38..60": true, "37..60": false} {
		c := broker(t)
		o := producerOf(c)
		o.Sizes = sizes
		run(t, o, requests(50))
		for _, list := range read(t, c, 50) {
			for _, k := range list {
				if (len(k.Headers) == 0) != within || bytes.HasPrefix(k.Value, []byte("tkt1")) != within || len(k.Value) > 60 {
					t.Errorf("%s: %d headers, value %q", sizes, len(k.Headers), k.Value)
				}
			}
		}
	}
}

// A distribution works end to end, too: also tombstones are received.
func TestDistributionsEndToEnd(t *testing.T) {
	o := e2eOf(broker(t))
	o.Sizes, o.Key, o.Tombstones = "zipf:1..2KiB", "{{zipf 9}}", 0.5
	r := run(t, o, requests(200))
	if r.Counts.OK != 200 || r.Extra["lost"] != uint64(0) {
		t.Errorf("counts %+v, errors %+v, extra %v", r.Counts, r.Errors, r.Extra)
	}
}

// Records that are refused as too large name the setting of the batch, since Kafka compares the whole batch.
func TestTooLargeNamesTheBatch(t *testing.T) {
	c := broker(t)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.MessageTooLarge, Count: -1})
	r := run(t, producerOf(c), requests(20))
	text := ""
	for _, w := range r.Warnings {
		if w.Code == warn.TooLarge {
			text = w.Message
		}
	}
	if !strings.Contains(text, "20 records were refused as too large") || !strings.Contains(text, "lower --message-batch-size or --message-size") {
		t.Errorf("%q, %+v", text, r.Errors)
	}
}
