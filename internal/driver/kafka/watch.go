package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taktload/takt/pkg/takt"
)

// watch looks at the topic while a run goes on: somebody may add partitions to it, or
// delete it. Clients find out by themselves within minutes, or never.
type watch struct {
	*Cluster
	client *kgo.Client
	known  int32    // partitions
	id     [16]byte // of the topic; zero: not known
	misses int      // looks in a row that found no topic

	grown func(ctx context.Context, partitions int32) bool // told of more, again until it is true
	gone  func(error)                                      // told once
}

const (
	watchEvery = 500 * time.Millisecond
	mostMisses = 3 // a broker that has just started may not know each topic yet
	// freshness is how old a client's knowledge of leaders has to be before it asks again.
	// franz-go waits for 5 s, in which a consumer that lost its leader receives nothing.
	freshness = 100 * time.Millisecond
)

// watchTopic watches the topic, which has so many partitions, until stop is called.
func (c *Cluster) watchTopic(known int32, grown func(context.Context, int32) bool, gone func(error)) (stop func(), err error) {
	w := &watch{Cluster: c, known: known, grown: grown, gone: gone}
	if w.client, err = kgo.NewClient(append(c.franz(), kgo.RequestRetries(1))...); err != nil {
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
	tick := time.NewTicker(watchEvery)
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

// look asks for the topic once. It returns why the topic is not there any more.
func (w *watch) look(ctx context.Context) error {
	look, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	resp, err := w.metadata(look, w.client)
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		if w.misses++; w.misses < mostMisses {
			return nil
		}
		return &goneError{fmt.Sprintf("topic %s is gone: the brokers do not know it any more; was it deleted?", w.Topic), err}
	case err != nil:
		return nil // brokers that do not answer are what records meet, too
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
		w.wire.added.Add(n - w.known)
		w.known = n
	}
	return nil
}

// describeTopic says what happened to the topic during the run.
func (w *wire) describeTopic(rep *takt.Report) {
	n := w.added.Load()
	if n == 0 {
		return
	}
	rep.Extra["partitions_added"] = n
	rep.Warn("partitions_added", "%d partitions were added to the topic during the run; takt finds them within about %v, and records that others wrote to them before were received that much later", n, watchEvery)
}

// goneError is why a run cannot go on whose topic is not there any more.
type goneError struct {
	text  string
	cause error // of Kafka's
}

func (e *goneError) Error() string { return e.text }
func (e *goneError) Unwrap() error { return e.cause }
