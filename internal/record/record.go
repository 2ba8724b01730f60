// Package record collects what happens during a run and makes a report from it. Samples go to
// shards, each with its own mutex and set of histograms. Once an interval a spare set is
// swapped through all shards in turn, so merging and encoding happen outside the locks.
package record

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Outcome is how an operation ended.
type Outcome uint8

// The outcomes. The Result says whether an Ended operation is ok or failed.
const (
	Ended Outcome = iota
	Dropped
	UnfinishedSent   // in flight when the drain time ended
	UnfinishedQueued // due, but never sent
)

// Event is one operation's instants, counted from the run's start. Done is the instant of the
// cut for unfinished operations and of the drop for Dropped ones. Sent is valid only for
// operations that were sent.
type Event struct {
	Seq                         uint64        // number of the operation, for its row
	Due, Free, Sent, Done, Read time.Duration // Read: when the generator had read the answer; 0: at Done
	Ready                       time.Duration // end of the last wait for the list of operations; 0: no wait
	Behind                      time.Duration // wait behind the generator's backlog, see Backlog
	Before                      Slot          // slot that served the operation, before it
	Dialling                    bool          // it waited for connections that were being made; Before is the making of them
	Outcome                     Outcome
	Looked                      bool  // dropped after a look for an answer on every connection
	Step                        int32 // see takt.Sample
}

// Config describes a run to its Recorder.
type Config struct {
	Shards int                 `json:"-"`
	Phases []string            // names of Result.Phases
	Timed  []takt.Timed        `json:",omitempty"` // their phases follow Phases
	Goal   string              `json:",omitempty"` // as in takt.Driver
	Warmup time.Duration       // operations due before its end are not measured
	Window time.Duration       // planned end of the schedule; negative: not known
	OneWay bool                // as in takt.Driver
	Words  takt.Words          `json:"-"` // of the warnings
	Scrub  func(string) string `json:"-"` // removes secrets from samples and bodies; nil: no secrets
	// Samples is the number of rows that each shard holds until TakeSamples, and of one spare
	// set; 0: no rows are kept.
	Samples int `json:"-"`
	// Journal says that Second and Before are used: then open operations are counted by due.
	Journal bool `json:"-"`

	network []int // indexes of the network's phases
	client  int   // index of clientPhase; negative: no such phase
	dial    int   // of dialPhase
}

// grace is how long after the window's end an operation may be sent without counting as
// unsent by the generator.
const grace = 100 * time.Millisecond

// Recorder collects samples from many goroutines.
type Recorder struct {
	cfg    Config
	shards []shard
	spare  *set
	window atomic.Int64 // end of the schedule; MaxInt64: unknown

	spareRows []takt.Sample // for the one goroutine that calls TakeSamples

	// For the one goroutine that calls Swap and Report:
	total     *set
	second    *set // what the last Swap took from the shards
	interval  *set // current interval; only what an Interval shows is merged
	last      Tick // argument of the last Swap
	open      open // open operations; nil: no journal
	scheduled uint64
	history   history

	notesMu sync.Mutex
	notes   []takt.Warning
}

// Note adds a warning to the report that belongs to no single operation. format and args are those of
// fmt.Sprintf.
func (r *Recorder) Note(code takt.WarningCode, format string, args ...any) {
	w := r.cfg.Words.Warning(code, format, args...)
	w.Message = clip(r.cfg.Scrub(w.Message), maxSample)
	r.notesMu.Lock()
	defer r.notesMu.Unlock()
	r.notes = append(r.notes, w)
}

type shard struct {
	mu      sync.Mutex
	set     *set
	rows    []takt.Sample // nil: no rows are kept
	skipped uint64        // number of operations without room in rows
	_       [16]byte      // padding: each shard has its own cache line
}

// New makes a recorder with at least one shard.
func New(cfg Config) *Recorder {
	if cfg.Scrub == nil {
		cfg.Scrub = func(s string) string { return s }
	}
	cfg.findPhases()
	r := &Recorder{cfg: cfg, shards: make([]shard, max(1, cfg.Shards))}
	for i := range r.shards {
		r.shards[i].set = newSet(&r.cfg)
		r.shards[i].rows = newRows(cfg.Samples)
	}
	r.spareRows = newRows(cfg.Samples)
	r.spare, r.total, r.second, r.interval = newSet(&r.cfg), newSet(&r.cfg), newSet(&r.cfg), newSet(&r.cfg)
	if cfg.Journal {
		r.open = open{}
	}
	r.window.Store(math.MaxInt64)
	if cfg.Window >= 0 {
		r.window.Store(int64(cfg.Window))
	}
	r.rehearse()
	return r
}

// rehearse makes the encoder's buffers. If the first Swap made them, operations would be late
// meanwhile, as with the histograms' pages.
func (r *Recorder) rehearse() {
	h := r.interval.ok
	for d := range time.Millisecond / time.Microsecond { // a thousand buckets
		h.Record(d * time.Microsecond)
	}
	r.history.encoder.Encode(h)
	h.Reset()
}

// Shards is the number of shards.
func (r *Recorder) Shards() int { return len(r.shards) }

// CloseWindow says when the schedule really ended, if earlier than planned.
func (r *Recorder) CloseWindow(at time.Duration) {
	r.window.Store(min(r.window.Load(), int64(at)))
}

// Sample counts one operation. It allocates only for the first of an error class.
func (r *Recorder) Sample(shard int, e Event, res *takt.Result) {
	s := &r.shards[shard%len(r.shards)]
	window := time.Duration(r.window.Load())
	s.mu.Lock()
	s.set.sample(&e, 1, res, window)
	if s.rows != nil {
		s.keep(&e, res, r.cfg.Warmup)
	}
	s.mu.Unlock()
}

// SampleAll counts operations that all had the result res. Neighbours that are equal but for
// their number cost as much as one.
func (r *Recorder) SampleAll(shard int, events []Event, res *takt.Result) {
	s := &r.shards[shard%len(r.shards)]
	window := time.Duration(r.window.Load())
	s.mu.Lock()
	for rest := events; len(rest) > 0; {
		n := alike(rest)
		s.set.sample(&rest[0], uint64(n), res, window)
		rest = rest[n:]
	}
	if s.rows != nil {
		for i := range events {
			s.keep(&events[i], res, r.cfg.Warmup)
		}
	}
	s.mu.Unlock()
}

// alike is how many of the first events are equal but for what only rows have.
func alike(events []Event) int {
	first := &events[0]
	for i := 1; i < len(events); i++ {
		e := &events[i]
		if e.Done != first.Done || e.Sent != first.Sent || e.Read != first.Read || e.Free != first.Free || e.Before != first.Before || e.Dialling != first.Dialling || e.Behind != first.Behind || e.Ready != first.Ready || e.Due != first.Due || e.Outcome != first.Outcome || e.Looked != first.Looked {
			return i
		}
	}
	return len(events)
}

// Latency records a latency at the instant now: one that belongs to no single operation, or is of Config.Timed. Then now
// is the instant at which its operation was due.
func (r *Recorder) Latency(shard, phase int, now, d time.Duration) {
	s := &r.shards[shard%len(r.shards)]
	s.mu.Lock()
	if now >= r.cfg.Warmup {
		s.set.latency(phase, now, d)
	}
	s.mu.Unlock()
}

// Received counts messages that arrived at the instant now.
func (r *Recorder) Received(shard int, now time.Duration, all []takt.Result) {
	s := &r.shards[shard%len(r.shards)]
	s.mu.Lock()
	for i := range all {
		s.set.receive(now, &all[i])
	}
	s.mu.Unlock()
}

// Tick is what the engine knows at the end of an interval.
type Tick struct {
	At          time.Duration
	Scheduled   uint64 // operations due so far, in the whole run
	InFlightMax int    // in this interval
	Lag         *int64 // unread messages of a consumer; nil: nobody consumes
	// The following fields are for a journal only.
	Over        bool          // the run is over: no operation is open
	Taken       *Steps        // operations taken since the last tick, by due; nil: no journal
	Backlog     uint64        // number of operations due and not taken
	BacklogFrom time.Duration // due instant of the first of Backlog
	// Rest is called between pieces of the work, 0.1 ms each; nil: no pauses. The whole work
	// takes 3 ms, and in one piece delayed operations that much on two cores.
	Rest func()
}

// Swap ends an interval: it empties all shards into the totals and returns the interval's
// counts. With Rest the interval of each shard ends a little later than that of the shard
// before, in every interval alike.
func (r *Recorder) Swap(t Tick) takt.Interval {
	if t.Rest == nil {
		t.Rest = func() {}
	}
	r.history.encoder.Rest = t.Rest
	r.collect(t.Rest)
	r.open.update(t.Taken, &r.second.due)
	r.last = t
	iv := r.interval.summary(&r.history.encoder, t.Rest)
	iv.T = t.At.Seconds()
	iv.Warmup = t.At <= r.cfg.Warmup
	iv.Scheduled = t.Scheduled - r.scheduled
	iv.InFlightMax, iv.Lag = t.InFlightMax, t.Lag
	if r.cfg.Goal != "" {
		good := r.interval.Good
		iv.Good = &good
	}
	r.scheduled = t.Scheduled
	r.interval.reset()
	r.history.add(iv)
	return iv
}

// collect moves the shards' counts into the second, and the second into the interval and the
// totals.
func (r *Recorder) collect(rest func()) {
	r.second.reset()
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		full := s.set
		s.set = r.spare
		s.mu.Unlock()
		r.second.merge(full, rest)
		r.second.due.merge(&full.due) // merge leaves due out: in the totals due would grow for ever
		full.reset()
		rest()
		r.spare = full
	}
	r.total.merge(r.second, rest)
	r.interval.mergeLive(r.second, rest)
}

// summary makes an Interval of s, with ok, other and warm-up responses together.
func (s *set) summary(e *hist.Encoder, rest func()) takt.Interval {
	iv := takt.Interval{
		OK:             s.Counts.OK,
		Failed:         s.Counts.Failed,
		Dropped:        s.Counts.Dropped,
		Bytes:          s.Bytes,
		ScheduleLagP99: hist.Micros(s.lag.Quantile(0.99)),
	}
	if len(s.classes) > 0 {
		iv.Errors = make(map[string]uint64, len(s.classes))
	}
	for class, c := range s.classes {
		iv.Errors[class] = c.Count
	}
	rest()
	all := timeline.Sums{Response: s.ok, Service: s.service, Timed: s.courses()} // mergeLive put all responses into ok
	all.Summarize(&iv, e)
	rest()
	return iv
}
