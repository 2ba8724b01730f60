package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// watch polls the topic during a run: others may add partitions or delete it. Clients notice
// such changes within minutes, or never.
type watch struct {
	*Cluster
	client *kgo.Client
	known  int32    // number of known partitions
	id     [16]byte // id of the topic; zero: unknown
	misses int      // number of looks in a row without the topic

	grown func(ctx context.Context, partitions int32) bool // called with a larger number of partitions, until it returns true
	gone  func(error)                                      // called once when the topic is gone
}

const (
	WatchEvery = 500 * time.Millisecond
	lookTime   = time.Second // time limit for an answer
	mostMisses = 3           // a broker that just started may not know every topic yet
	// Freshness is the age of a client's metadata above which it asks for leaders again.
	// franz-go's default is 5 s, in which a consumer without its leader receives no records.
	Freshness = 100 * time.Millisecond
)

// WatchTopic watches the topic, whose known partitions are given, until stop is called.
func (c *Cluster) WatchTopic(known int32, grown func(context.Context, int32) bool, gone func(error)) (stop func(), err error) {
	w := &watch{Cluster: c, known: known, grown: grown, gone: gone}
	if w.client, err = kgo.NewClient(append(c.Franz(), kgo.RequestRetries(1))...); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { w.run(ctx) })
	return sync.OnceFunc(func() {
		cancel()
		done.Wait()
		w.client.Close()
	}), nil
}

func (w *watch) run(ctx context.Context) {
	tick := time.NewTicker(WatchEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := w.look(ctx); err != nil {
			w.gone(err)
			return
		}
	}
}

// look asks for the topic once. Its error says why the topic is gone.
func (w *watch) look(ctx context.Context) error {
	look, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	resp, err := w.Metadata(look, w.client)
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		if w.misses++; w.misses < mostMisses {
			return nil
		}
		return &goneError{fmt.Sprintf("topic %s is gone: the brokers do not know it any more; was it deleted?", w.Topic), err}
	case err != nil:
		return nil // records meet silent brokers, too
	}
	w.misses = 0
	return w.compare(ctx, &resp.Topics[0])
}

func (w *watch) compare(ctx context.Context, t *kmsg.MetadataResponseTopic) error {
	none := [16]byte{}
	if w.id != none && t.TopicID != none && t.TopicID != w.id {
		return &goneError{fmt.Sprintf("topic %s was deleted and made anew", w.Topic), kerr.UnknownTopicID}
	}
	w.id = t.TopicID
	if n := int32(len(t.Partitions)); n > w.known && w.grown(ctx, n) {
		w.Traffic.added.Add(n - w.known)
		w.known = n
	}
	return nil
}

// Describe reports what brokers did during the run: they changed the topic, or asked for fewer records.
func (w *Traffic) Describe(rep *takt.Report) {
	w.describeQuota(rep)
	n := w.added.Load()
	if n == 0 {
		return
	}
	rep.Extra["partitions_added"] = n
	rep.Warn(warn.PartitionsAdded, "%d partitions were added to the topic during the run; takt finds them within about %v, and records that others wrote to them before were received that much later", takt.Number("partitions", n), WatchEvery)
}

// goneError is the error of a run whose topic is gone.
type goneError struct {
	text  string
	cause error // error from Kafka
}

func (e *goneError) Error() string { return e.text }
func (e *goneError) Unwrap() error { return e.cause }
