package kafka

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/pkg/takt"
)

// A broker refuses records without acknowledgement by ending the connection. What is not
// in the topic at the end has failed, whatever client wrote it.
func TestRefusedWithoutAcks(t *testing.T) {
	for _, client := range []string{cluster.ClientTakt, cluster.ClientFranz} {
		for _, every := range []int{1, 3} {
			t.Run(client, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := produce.New()
					c := virtual(t, &o.Cluster)
					defer c.Close()
					o.Client = client
					r := refuse(t, c, o, every)
					if closed, _ := r.Extra["connections_closed"].(int64); closed == 0 || !r.Warned("connections_closed") {
						t.Errorf("extra %v, warnings %v", r.Extra, r.Warnings)
					}
				})
			})
		}
	}
	for _, client := range []string{cluster.ClientSarama, cluster.ClientSaramaAsync} { // which see at the next write that a connection is over
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			c := broker(t)
			o := producerOf(c)
			o.Client = client
			refuse(t, c, o, 3)
		})
	}
}

// refuse makes a run of which the broker refuses every n-th request, and holds the report
// against what the topic has.
func refuse(t *testing.T, c *kfake.Cluster, o *produce.Options, every int) *takt.Report {
	t.Helper()
	n := 0
	c.ControlKey(kmsg.Produce.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		n++
		return nil, errors.New("refused"), n%every == 0
	})
	o.Acks, o.BatchSize = produce.AcksNone, 10
	r := run(t, o, requests(200))
	at, err := o.ListOffsets(t.Context(), []int32{0, 1, 2}, cluster.OffsetLatest, false)
	if err != nil {
		t.Fatal(err)
	}
	there := uint64(at[0] + at[1] + at[2])
	if r.Counts.OK != min(there, 200) || every == 1 && there > 0 || r.Counts.Failed == 0 {
		t.Errorf("counts %+v, the topic holds %d records", r.Counts, there)
	}
	if len(r.Errors) != 1 || r.Errors[0].Class != cluster.ClassNotStored || r.Errors[0].Count != r.Counts.Failed || r.Errors[0].Sample == "" {
		t.Errorf("errors %+v, counts %+v", r.Errors, r.Counts)
	}
	return r
}

// Without acknowledgement there is no response time, in no client, and neither is there
// with --noop. Who reads what was written has one all the same.
func TestOneWay(t *testing.T) {
	c := broker(t)
	for _, client := range append(clients(), "noop") {
		o := producerOf(c)
		o.Acks, o.Client = produce.AcksNone, client
		if client == "noop" {
			o.Acks, o.Client, o.Noop = produce.AcksLocal, cluster.ClientTakt, true
		}
		r := run(t, o, requests(50))
		for _, name := range []string{takt.LatencyResponse, takt.LatencyResponseOK, takt.LatencyService, "batch"} {
			if _, has := r.Latency[name]; has {
				t.Errorf("%s: the report has a %s time", client, name)
			}
		}
		if r.Latency[takt.LatencySend].Count != 50 || r.Counts.OK != 50 {
			t.Errorf("%s: send %+v, counts %+v", client, r.Latency[takt.LatencySend], r.Counts)
		}
		if why, _ := o.NoAnswer(); why == "" {
			t.Errorf("%s: nothing says why there is no response time", client)
		}
	}
	o := e2eOf(c)
	o.Acks = produce.AcksNone
	r := run(t, o, requests(50))
	if why, _ := o.NoAnswer(); why != "" || r.Latency[takt.LatencyResponse].Count != 50 || r.Latency["ack"].Count != 0 {
		t.Errorf("e2e: %q, response %+v, ack %+v", why, r.Latency[takt.LatencyResponse], r.Latency["ack"])
	}
}
