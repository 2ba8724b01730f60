// Package metrics passes the figures of a run to other systems while the run goes on. A Pump makes a
// Batch of each interval and gives it to every Exporter, in goroutines of their own: an exporter never
// slows, delays or stops a run, and what it could not deliver is counted.
package metrics

import (
	"maps"
	"slices"
	"time"

	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// Run is what is known of a run before it begins.
type Run struct {
	ID      string
	Kind    string            // as in takt.Report: http, kafka-produce …
	Target  string            // without secrets; "": not known
	Shard   string            // k/n; "": the whole run
	Labels  map[string]string // of the system under test: revision, branch …
	Version string            // of takt
}

// Batch is one interval of a run, or its end. All exporters share it, so nobody changes it.
type Batch struct {
	Run      *Run
	Started  time.Time // start of the run
	From, To time.Time // the interval, by the wall clock
	Warmup   bool      // the interval is a part of the warm-up
	Over     bool      // the run has ended; the last batch, whose Last is empty

	Last  Figures // of the interval
	Total Figures // of the run up to To, with its warm-up

	InFlight       int            // most operations in flight at any instant of the interval
	ScheduleLagP99 time.Duration  // lateness of the generator in the interval
	Unread         *int64         // messages that a consumer had not read at To; nil: nobody consumes
	CPU            *time.Duration // CPU time of the generator since Started; nil: not known, as of a fleet

	Verdict takt.Verdict // of the last batch; "": the run goes on
}

// Figures are counts and times of operations.
type Figures struct {
	Scheduled  uint64 // by the instant at which they were due; the other counts are by end
	OK         uint64
	Failed     uint64
	Dropped    uint64
	Unfinished uint64             // known in the last batch only
	Errors     map[string]uint64  // failed operations by class, without those of the warm-up
	Bytes      *takt.Bytes        // on the wire, without the warm-up; nil: not known
	Response   timeline.Histogram // response time; empty if nobody answers
	Service    timeline.Histogram
	Good       *uint64                       // they met all conditions of the load, without the warm-up; nil: there are none
	Timed      map[string]timeline.Histogram // latencies of parts of answers, by name, without the warm-up
}

// Named is a latency by the name that receivers get.
type Named struct {
	Name string
	timeline.Histogram
}

// Latencies are the latencies that were measured.
func (f *Figures) Latencies() []Named {
	return slices.DeleteFunc(append([]Named{{"response", f.Response}, {"service", f.Service}}, f.timed()...), func(n Named) bool { return n.Count() == 0 })
}

func (f *Figures) timed() (list []Named) {
	for _, name := range slices.Sorted(maps.Keys(f.Timed)) {
		list = append(list, Named{plainName(name), f.Timed[name]})
	}
	return list
}
