package jms

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/amqptest"
)

// dueTimes returns when the messages on a queue were due, in µs after at.
func dueTimes(t *testing.T, f *amqptest.Broker, queue string, at time.Time) (list []int64) {
	t.Helper()
	for _, m := range f.Messages(queue) {
		i := bytes.Index(m, []byte(propertyDue))
		if i < 0 || m[i+len(propertyDue)] != 0x81 { // a long of AMQP
			t.Fatalf("%q", m)
		}
		list = append(list, int64(binary.BigEndian.Uint64(m[i+len(propertyDue)+1:]))-at.UnixMicro())
	}
	return list
}

// Three shards send together exactly the messages of one run, each due at the same instant after
// --start-at, also through several producers and queues.
func TestShards(t *testing.T) {
	send := func(shard string) (list []int64) {
		f := amqptest.New(t, amqptest.Script{})
		o := served(t, f, NewProducer())
		o.Producers, o.NumDestinations, o.MaxPending = 2, 2, 20
		at := time.Now().Add(time.Second).Truncate(time.Millisecond) // takt connects before
		r := makeRun(t, o, func(e *engine.Options) {
			e.Rate, e.Arrivals, e.Requests, e.StartAt = engine.MustRate("2000"), engine.MustArrivals("poisson"), 200, engine.StartAt(at)
			e.Shard = engine.MustShard(shard)
		})
		for _, d := range o.destinations {
			list = append(list, dueTimes(t, f, d.name, at)...)
		}
		if !r.StartedAt.Equal(at) || r.Schedule.Shard != shard || r.Counts.OK != uint64(len(list)) {
			t.Errorf("%s: started %v after the instant, %+v, %d messages", shard, r.StartedAt.Sub(at), r.Counts, len(list))
		}
		return list
	}
	whole := send("1/1")
	var parts []int64
	for _, shard := range []string{"1/3", "2/3", "3/3"} {
		part := send(shard)
		if n := len(part); n != 66 && n != 67 {
			t.Errorf("%s: %d messages", shard, n)
		}
		parts = append(parts, part...)
	}
	slices.Sort(whole)
	slices.Sort(parts)
	if len(whole) != 200 || !slices.Equal(parts, whole) {
		t.Errorf("the shards sent %d messages, due at %v; the whole %d, due at %v", len(parts), parts, len(whole), whole)
	}
}

// A client receives only what it sent, so its shards must not share a queue or a subscription.
func TestShardsOfAClient(t *testing.T) {
	for _, c := range []struct {
		destinations, shard string
		change              func(o *Options)
		refused             bool
	}{
		{"queue://A", "1/3", nil, true},
		{"topic://A queue://B", "1/3", nil, true},
		{"topic://A", "1/3", func(o *Options) { o.Shared = 1 }, true},
		{"topic://A", "1/3", func(o *Options) { o.Durable, o.ClientID = true, "c" }, true},
		{"topic://A topic://B", "1/3", nil, false},
		{"queue://A", "1/1", nil, false},
	} {
		o, e := NewClient(), engine.Defaults()
		e.Shard = engine.MustShard(c.shard)
		if c.change != nil {
			c.change(o)
		}
		o.Shape(&e)
		faults := o.Validate(strings.Fields(c.destinations))
		refused := slices.ContainsFunc(faults, func(err error) bool { return strings.HasPrefix(err.Error(), "--shard makes several processes") })
		if refused != c.refused || !c.refused && len(faults) > 0 {
			t.Errorf("%+v: %v", c, faults)
		}
	}
}
