package kafka

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/driver/kafka/produce"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// disturbed is a run of 4 s with 100 records a second, in which the broker does with a produce
// request what bad says, between the instants from and to.
func disturbed(t *testing.T, o *produce.Options, from, to time.Duration, bad func(kmsg.Request) (kmsg.Response, error)) *takt.Report {
	t.Helper()
	broker := virtual(t, &o.Cluster)
	defer broker.Close()
	p := plan(t, o, func(e *engine.Options) { e.Rate, e.Duration = engine.MustRate("100/s"), 4*time.Second })
	start := time.Now()
	broker.ControlKey(kmsg.Produce.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		broker.KeepControl()
		if at := time.Since(start); at >= from && at < to {
			resp, err := bad(req)
			return resp, err, resp != nil || err != nil
		}
		return nil, nil, false
	})
	_, r := rows(t, p)
	return r
}

// notLeader refuses all batches of a request.
func notLeader(req kmsg.Request) (kmsg.Response, error) {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, topic := range req.(*kmsg.ProduceRequest).Topics {
		t := kmsg.NewProduceResponseTopic()
		t.Topic = topic.Topic
		for _, partition := range topic.Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.ErrorCode = partition.Partition, kerr.NotLeaderForPartition.Code
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp, nil
}

// A partition is out from the first refusal to the first success after it.
func TestOutages(t *testing.T) {
	const from, to = 1005 * time.Millisecond, 2405 * time.Millisecond
	for _, c := range []struct {
		name, client string
		timeout      time.Duration
		bad          func(kmsg.Request) (kmsg.Response, error)
		retried      bool
		fails        bool
	}{
		{"refused", "takt", 10 * time.Second, notLeader, true, false},
		{"cut", "takt", 10 * time.Second, func(kmsg.Request) (kmsg.Response, error) { return nil, errors.New("cut") }, true, false},
		{"too long", "takt", 200 * time.Millisecond, notLeader, true, true},
		{"too long for a library", "franz", time.Second, notLeader, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := produce.New()
				o.Client, o.Timeout = c.client, c.timeout
				r := disturbed(t, o, from, to, c.bad)
				if r.Counts.OK+r.Counts.Failed != 400 || (r.Counts.Failed > 0) != c.fails {
					t.Fatalf("counts %+v, errors %+v", r.Counts, r.Errors)
				}
				if len(r.Outages) != 1 {
					t.Fatalf("outages %+v", r.Outages)
				}
				u := r.Outages[0]
				if u.To == nil {
					t.Fatalf("%+v, counts %+v, errors %+v", u, r.Counts, r.Errors)
				}
				if u.From < 0.9 || u.From > 1.1 || *u.To < to.Seconds() || *u.To > 3 || *u.FirstSuccess > *u.To-u.From+1e-9 || u.Parts != 3 || u.Lost != nil || u.Doubled != nil {
					t.Errorf("%+v, to %v", u, *u.To)
				}
				if (u.Retried > 0) != c.retried || u.Failed != r.Counts.Failed {
					t.Errorf("%d retried, %d failed; counts %+v", u.Retried, u.Failed, r.Counts)
				}
			})
		})
	}
}

// A broker that freezes breaks nothing, and shows by its silence.
func TestOutageOfSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const from, to = 1005 * time.Millisecond, 2505 * time.Millisecond
		began := time.Now()
		r := disturbed(t, produce.New(), from, to, func(kmsg.Request) (kmsg.Response, error) {
			time.Sleep(to - time.Since(began))
			return nil, nil
		})
		if r.Counts.OK != 400 || len(r.Outages) != 1 {
			t.Fatalf("counts %+v, outages %+v", r.Counts, r.Outages)
		}
		if u := r.Outages[0]; u.From < 0.9 || u.From > 1.1 || *u.To < 2.5 || *u.To > 2.6 || u.Failed+u.Retried > 0 {
			t.Errorf("%+v", u)
		}
	})
}

// Without a disturbance there is no outage, whatever the client.
func TestNoOutages(t *testing.T) {
	for _, client := range clients() {
		o := producerOf(broker(t))
		o.Client = client
		if r := run(t, o, requests(300)); len(r.Outages) > 0 {
			t.Errorf("%s: %+v", client, r.Outages)
		}
	}
}
