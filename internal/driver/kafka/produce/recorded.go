package produce

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taktload/takt/internal/driver/kafka/capture"
	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/play"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Recorded says which records of a file are written again, and when.
type Recorded struct {
	File   string // of takt kafka consume --capture; "": none
	Speed  float64
	MaxGap time.Duration // longer times without records are shortened to it; 0: they are not
	Most   int           // bytes of records that are due and not written yet

	engine *engine.Options
	ahead  *play.Ahead
	gaps   *play.Gaps // nil without the recorded times
}

// speed is --speed: 2x, or 2.
type speed float64

func (s *speed) Set(text string) error {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "x"), 64)
	if err != nil || v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return fmt.Errorf("%.60q is not a speed-up; write 2x for twice as fast", text)
	}
	*s = speed(v)
	return nil
}

func (s *speed) String() string { return strconv.FormatFloat(float64(*s), 'g', -1, 64) + "x" }
func (s *speed) Type() string   { return "speed" }

// shape lets the records of the file say when they are due, unless there is a rate.
func (o *Options) shapeRecorded(e *engine.Options) {
	o.Recorded.engine = e
	if o.Recorded.File != "" {
		e.Recorded = !e.Rate.Given() && !e.Stages.Given()
	}
}

func (o *Options) checkRecorded(faults *value.Faults) {
	r := &o.Recorded
	if r.File == "" {
		faults.If(r.Speed != 1 || r.MaxGap != 0, "--speed or --max-gap is given without --recorded; add the file")
		return
	}
	faults.If(len(o.Messages) > 0 || o.Data != "" || o.Sizes != "" || o.Key != "" || o.Tombstones > 0,
		"--recorded brings messages and keys along; leave out --messages-data, --data, --key, --tombstones and distributions of --message-size")
	faults.If(o.Client != cluster.ClientTakt || o.Workers != 1, "--recorded needs --client takt and --workers 1, which keep the order of each partition; leave out what says otherwise, such as --transactions")
	faults.If(len(o.Headers) > 0, "--recorded brings headers along; leave out --header")
	faults.If(len(o.Topics) > 1, "--recorded writes to one topic; name one with --topic")
	faults.If(r.MaxGap < 0, "--max-gap must not be below 0")
	if e := r.engine; e != nil {
		faults.If(takt.IsShard(e.Shard.String()), "--recorded cannot be divided into shards; leave out --shard")
		faults.If(!e.Recorded && (r.Speed != 1 || r.MaxGap != 0), "--speed and --max-gap change the recorded times, but a rate is given; keep one")
	}
}

// Ends is driver.Load.Ends.
func (o *Options) Ends() bool { return o.Recorded.File != "" }

// Source is driver.Load.Source: the records of the file, at their recorded times or at those of base.
func (o *Options) Source(ctx context.Context, base takt.Source) (takt.Source, error) {
	r := &o.Recorded
	if r.File == "" {
		return base, nil
	}
	if r.ahead != nil {
		r.ahead.Stop()
	}
	var stamp kgo.RecordHeader
	if !o.Plain {
		stamp = kgo.RecordHeader{Key: cluster.StampHeader, Value: make([]byte, cluster.StampBytes)}
	}
	file, err := capture.Open(r.File, stamp)
	if err != nil {
		return nil, err
	}
	o.text.recorded = &recorded{partitions: file.Partitions, most: r.Most, waiting: map[uint64]*capture.Record{}}
	r.ahead = play.NewAhead(file)
	if err := r.ahead.Wait(ctx); err == io.EOF {
		return nil, fmt.Errorf("%s has no records; capture a topic that has some", r.File)
	} else if err != nil {
		return nil, err
	}
	e := r.engine
	if !e.Recorded {
		return play.NewPaced(base, r.ahead), nil
	}
	src := play.NewSource(r.ahead, r.Speed)
	src.Gaps.Most = r.MaxGap
	r.gaps = &src.Gaps
	s := &again{Source: src, limit: e.Requests, warmup: e.Warmup, end: -1}
	if e.Duration > 0 {
		s.end = e.Warmup + e.Duration
	}
	return s, nil
}

// again is the records of a file at their recorded times, up to a number of records or to an instant.
type again struct {
	*play.Source
	limit       uint64 // measured records; 0: all
	warmup, end time.Duration
	taken       uint64        // records so far
	measured    uint64        // records of taken that are due after the warm-up
	last        time.Duration // when the last one of taken is due
}

func (s *again) full() bool { return s.limit > 0 && s.measured >= s.limit }

// Next implements takt.Source.
func (s *again) Next(op *takt.Op) bool {
	if s.full() || !s.Source.Next(op) {
		return false
	}
	s.taken, s.last = s.taken+1, op.Due
	if op.Due >= s.warmup {
		s.measured++
	}
	return true
}

// End implements takt.Source.
func (s *again) End() time.Duration {
	if s.full() {
		return play.Behind(s.last, s.taken)
	}
	return play.Sooner(s.end, s.Source.End())
}

// EndedEarly implements engine.Feed.
func (s *again) EndedEarly() bool {
	if s.full() {
		return s.Source.EndedEarly()
	}
	return play.EndedBefore(s.Source, s.end)
}

// Starved implements engine.Feed.
func (s *again) Starved() bool { return !s.full() && s.Source.Starved() }

// recorded is the records of a file that are due and not written yet, by the numbers of their operations.
type recorded struct {
	partitions int32 // of the topic that was captured

	mu      sync.Mutex
	waiting map[uint64]*capture.Record
	bytes   int  // of waiting
	most    int  // limit of bytes
	full    int  // spells without room for another record
	refused bool // the last record had no room
}

// mostRecorded is Recorded.Most by default. --max-in-flight alone allows 100 000 records, of up to 16 MiB each.
const mostRecorded = 64 << 20

// put adds the record of an operation, whose own memory the engine reuses. It reports false if there is no
// room.
func (r *recorded) put(op *takt.Op) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := op.Data.(*trace.Record)
	n := len(rec.URI) + len(rec.Body) + len(rec.Header)
	if r.bytes > 0 && r.bytes+n > r.most {
		if !r.refused {
			r.refused = true
			r.full++
		}
		return false
	}
	r.refused = false
	one := capture.Decode(rec)
	r.waiting[op.Seq] = one
	r.bytes += sizeOf(one)
	return true
}

func sizeOf(one *capture.Record) int { return len(one.Key) + len(one.Value) + len(one.Headers) }

// describe warns if records waited for memory.
func (r *recorded) describe(rep *takt.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full > 0 {
		rep.Warn(warn.RecordedBound, "%d times %d bytes of recorded records were due and not written: later ones had to wait, as the brokers are slower than the recorded times; %s",
			takt.Number("times", r.full), takt.Size("most", r.most), takt.Advice("lower --speed, or raise --writers-per-worker"))
	}
}

func (r *recorded) of(seq uint64) *capture.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting[seq]
}

// done forgets the record of an operation, which was written.
func (r *recorded) done(seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.waiting[seq]; one != nil {
		r.bytes -= sizeOf(one)
		delete(r.waiting, seq)
	}
}

// again is where a record of a file goes: to its old partition if the topic has as many as the captured one;
// otherwise its key chooses the partition, as for other producers.
func (w *worker) again(one *capture.Record, partitions int32) int32 {
	switch {
	case partitions == w.text.recorded.partitions:
		return one.Partition
	case one.Key != nil:
		return w.route(one.Key, partitions)
	}
	return one.Partition % partitions
}
