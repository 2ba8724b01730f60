package jms

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/pkg/hist"
)

// meter has artemis perf's counts and latencies.
type meter struct {
	warmup                             time.Duration
	sent, blocked, completed, received atomic.Uint64
	delay                              kind // from due to sent
	ack                                kind // from sent to acknowledged
	transfer                           kind // from sent to received
	arrival                            kind // from due to received; only in the report
}

// kind is one latency.
type kind struct {
	mu    sync.Mutex
	live  *hist.Histogram // values since the last cut; nil: cut is never called
	spare *hist.Histogram
	total *hist.Histogram // values after the warm-up
}

func newMeter(warmup time.Duration, followed bool) *meter {
	m := &meter{warmup: warmup}
	for _, k := range []*kind{&m.delay, &m.ack, &m.transfer, &m.arrival} {
		k.total = hist.New()
		if followed && k != &m.arrival {
			k.live, k.spare = hist.New(), hist.New()
		}
	}
	return m
}

// add records a value; measured: the value is after the warm-up.
func (k *kind) add(d time.Duration, measured bool) {
	k.mu.Lock()
	k.put(d, measured)
	k.mu.Unlock()
}

func (k *kind) put(d time.Duration, measured bool) {
	d = max(d, 0)
	if k.live != nil {
		k.live.Record(d)
	}
	if measured {
		k.total.Record(d)
	}
}

// cut returns the values since the last cut. The result is valid until the next cut.
func (k *kind) cut() *hist.Histogram {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spare.Reset()
	k.live, k.spare = k.spare, k.live
	return k.spare
}

// counts are a meter's counts at one instant.
type counts struct{ sent, blocked, completed, received uint64 }

func (m *meter) counts() counts {
	return counts{m.sent.Load(), m.blocked.Load(), m.completed.Load(), m.received.Load()}
}

func (c counts) minus(o counts) counts {
	return counts{c.sent - o.sent, c.blocked - o.blocked, c.completed - o.completed, c.received - o.received}
}
