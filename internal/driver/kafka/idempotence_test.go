package kafka

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// idempotent are options of takt's own producer as --required-acks all sets them, with several
// batches of each partition in flight.
func idempotent(c *kfake.Cluster) *produce.Options {
	o := producerOf(c)
	o.Acks, o.BatchSize, o.Writers, o.MessageSize = produce.AcksAll, 10, 12, 100
	return o
}

// inOrder demands that the topic has as many records as were acknowledged, in the order of their numbers,
// and none twice.
func inOrder(t *testing.T, c *kfake.Cluster, r *takt.Report) {
	t.Helper()
	n := ends(t, c)
	if n != r.Counts.OK {
		t.Errorf("the topic has %d records, %d were acknowledged", n, r.Counts.OK)
	}
	for p, records := range read(t, c, n) {
		next := uint64(0)
		for _, rec := range records {
			s, _ := cluster.ReadStamp(rec.Value)
			if s.Number < next {
				t.Fatalf("partition %d: number %d comes after %d", p, s.Number, next-1)
			}
			next = s.Number + 1
		}
	}
}

// deaf is a connection that breaks when an answer comes, now and then: the broker has the records,
// and the producer does not know.
type deaf struct {
	net.Conn
	left int
}

func (d *deaf) Read(p []byte) (int, error) {
	n, err := d.Conn.Read(p)
	if d.left -= n; d.left < 0 && err == nil {
		d.Conn.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// Answers are lost again and again: each record is in the topic once, and in order. Without numbers
// many are there twice.
func TestAnswersLost(t *testing.T) {
	t.Parallel()
	for _, numbers := range []bool{true, false} {
		c := broker(t)
		o := idempotent(c)
		if !numbers {
			o.Acks = produce.AcksLocal
		}
		var made atomic.Int32
		dial := o.Dial
		o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			made.Add(1)
			return &deaf{conn, 3000}, err
		}
		r := run(t, o, requests(3000))
		if r.Counts.OK != 3000 || made.Load() < 5 {
			t.Fatalf("counts %+v, errors %+v, %d connections", r.Counts, r.Errors, made.Load())
		}
		if numbers {
			inOrder(t, c, r)
		} else if n := ends(t, c); n == 3000 {
			t.Error("no answer was lost: the topic has each record once")
		}
	}
}

// Refusals that say "later" come while other batches are in flight, whose numbers the broker then
// refuses: nothing is lost and the order stays.
func TestRefusedForNow(t *testing.T) {
	t.Parallel()
	c := broker(t)
	var seen atomic.Int32
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1, When: func(kmsg.Request) bool { return seen.Add(1)%20 == 3 }})
	r := run(t, idempotent(c), requests(1000))
	if r.Counts.OK != 1000 {
		t.Fatalf("counts %+v, errors %+v", r.Counts, r.Errors)
	}
	inOrder(t, c, r)
}

// Refusals for good leave gaps: the records of these batches fail, and no others.
func TestGaps(t *testing.T) {
	t.Parallel()
	c := broker(t)
	var seen atomic.Int32
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.InvalidRecord, Count: -1, When: func(kmsg.Request) bool { return seen.Add(1)%20 == 3 }})
	r := run(t, idempotent(c), requests(1000))
	if c := r.Counts; c.Failed == 0 || c.OK < 500 || c.OK+c.Failed != 1000 || len(r.Errors) != 1 || r.Errors[0].Class != "invalid_record" {
		t.Fatalf("counts %+v, errors %+v", r.Counts, r.Errors)
	}
	inOrder(t, c, r)
}

// What brokers say about numbers.
func TestNumbersRefused(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		err    *kerr.Error
		failed uint64
		class  string
	}{
		{kerr.UnknownProducerID, 0, ""}, // the producer begins again
		// A duplicate is acknowledged. This broker has it not, so it misses the next one's numbers.
		{kerr.DuplicateSequenceNumber, 10, "out_of_order_sequence_number"},
		{kerr.OutOfOrderSequenceNumber, 10, "out_of_order_sequence_number"},
		{kerr.InvalidProducerEpoch, 10, "transaction"}, // another producer has its identity
	} {
		c := broker(t)
		c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: f.err, Count: 1})
		o := idempotent(c)
		o.Writers = 1
		r := run(t, o, requests(200))
		if r.Counts.Failed != f.failed || r.Counts.OK != 200-f.failed {
			t.Errorf("%s: counts %+v, errors %+v", f.err.Message, r.Counts, r.Errors)
		}
		if f.failed > 0 && r.Errors[0].Class != f.class {
			t.Errorf("%s: errors %+v, want class %s", f.err.Message, r.Errors, f.class)
		}
	}
}

// A user without the right to be idempotent reads what to do.
func TestNoIdentity(t *testing.T) {
	c := broker(t)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, TopLevel: true, Err: kerr.ClusterAuthorizationFailed, Count: -1})
	_, err := engine.Run(context.Background(), plan(t, idempotent(c), requests(10)))
	if err == nil || !strings.Contains(err.Error(), "--idempotence=false") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}

// A broker that has just started has no identity yet: the producer asks again.
func TestIdentityLater(t *testing.T) {
	t.Parallel()
	c := broker(t)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, TopLevel: true, Err: kerr.CoordinatorLoadInProgress, Count: 5})
	if r := run(t, idempotent(c), requests(20)); r.Counts.OK != 20 {
		t.Errorf("counts %+v, errors %+v", r.Counts, r.Errors)
	}
}

// Who waits for all replicas is idempotent, as in Java, unless the flag says otherwise. takt's own
// client does that.
func TestIdempotentByDefault(t *testing.T) {
	for _, f := range []struct {
		args []string
		want bool
	}{
		{nil, false},
		{[]string{"--required-acks", "all"}, true},
		{[]string{"--required-acks", "all", "--idempotence=false"}, false},
		{[]string{"--required-acks", "all", "--client", cluster.ClientFranz}, true},
		{[]string{"--required-acks", "all", "--client", cluster.ClientSarama}, false},
		{[]string{"--required-acks", "all", "--client", cluster.ClientSarama, "--idempotence"}, true},
	} {
		o := withProperties(t, produce.New(), "", f.args...)
		client := o.Client
		shaped := engine.Defaults()
		o.Shape(&shaped)
		if o.Idempotence != f.want || o.Client != client || len(o.Validate(nil)) > 0 && !slices.Contains(f.args, "--properties") {
			t.Errorf("%v: idempotence %t, client %s, faults %v", f.args, o.Idempotence, o.Client, o.Validate(nil))
		}
	}
}

// While no broker has a new identity, the records behind a gap wait for it, and fail by their time limit.
func TestNoNewIdentity(t *testing.T) {
	t.Parallel()
	c := broker(t)
	var seen, asked atomic.Int32
	c.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.InvalidRecord, Count: -1, When: func(kmsg.Request) bool { return seen.Add(1) == 3 }},
		kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, TopLevel: true, Err: kerr.CoordinatorLoadInProgress, Count: -1, When: func(kmsg.Request) bool { return asked.Add(1) > 1 }},
	)
	o := idempotent(c)
	o.Timeout = 300 * time.Millisecond
	r := run(t, o, requests(200))
	late, refused := uint64(0), uint64(0) // the request that is refused has a batch or several
	for _, e := range r.Errors {
		if e.Class == "invalid_record" {
			refused += e.Count
		}
		if e.Class == "timeout" && strings.Contains(e.Sample, "no producer id for --idempotence yet: ") {
			late += e.Count
		}
	}
	if late == 0 || refused == 0 || late+refused != r.Counts.Failed || len(r.Outages) == 0 || asked.Load() < 2 {
		t.Errorf("counts %+v, errors %+v, outages %+v, asked %d times", r.Counts, r.Errors, r.Outages, asked.Load())
	}
}
