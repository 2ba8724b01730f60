package apmserver

import (
	"context"

	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// sampleBytes is the largest answer that is read during the load; expvar has about 16 kB.
const sampleBytes = 256 << 10

// timeline reads the servers during the load: their counters, and of a managed server its
// process and its log.
func (r *Running) timeline(log *process.Log) (groups []timeline.Group) {
	var servers timeline.Group
	for _, u := range r.shown {
		secret := r.secret
		if u == r.stats {
			secret = ""
		}
		servers = append(servers, func(ctx context.Context) (timeline.Reading, bool) { return sample(ctx, u, secret, r.pid == 0) })
	}
	groups = append(groups, servers)
	if r.pid != 0 {
		groups = append(groups, process.Timeline(func() []int { return []int{r.pid} }))
	}
	if r.Managed {
		groups = append(groups, timeline.Group{log.Sample})
	}
	return groups
}

// sample reads the counters of a server.
func sample(ctx context.Context, url string, secret takt.Secret, usage bool) (timeline.Reading, bool) {
	text, err := askAtMost(ctx, url, secret, sampleBytes)
	if err != nil {
		return nil, false
	}
	c, err := parseCounters(url, text)
	if err != nil {
		return nil, false
	}
	return c.reading(usage), true
}

// reading is the counters as a second of the server needs them. Those of memory and CPU count
// only if nobody can look at the process.
func (c Counters) reading(usage bool) timeline.Reading {
	r := timeline.Reading{}
	put := func(name string, factor float64, from ...string) {
		for _, n := range from {
			if v, ok := c[n]; ok {
				r[name] = v * factor
				return
			}
		}
	}
	if f, told := c.flow(); told {
		r[timeline.Acked], r[timeline.Dropped] = f.acked, f.dropped
		if c.has("libbeat.pipeline.events.active") || c.has("libbeat.output.events.active") {
			r[timeline.Queued] = f.queued
		}
	}
	put(timeline.Accepted, 1, "apm-server.processor.stream.accepted")
	put(timeline.Uptime, 1, uptime)
	put(timeline.Heap, 1, "memstats.HeapAlloc", "beat.memstats.memory_alloc")
	put(timeline.GC, 1, "memstats.NumGC")
	put(timeline.Paused, 1e-9, "memstats.PauseTotalNs")
	if usage {
		put(timeline.Memory, 1, "beat.memstats.rss")
		put(timeline.CPU, 1e-3, "beat.cpu.total.time.ms", "beat.cpu.total.value")
	}
	return r
}

func (c Counters) has(name string) bool {
	_, ok := c[name]
	return ok
}
