package replay

import (
	"fmt"
	"slices"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/takt"
)

// onlooker has the functions that show single operations and end the run.
type onlooker struct {
	show  func(text string)
	crash func(reason error)
}

// The statuses in rows of the load format for requests without an answer.
const (
	statusNoAnswer = 444
	statusNotSent  = -1
)

// Look is driver.Load.Look.
func (o *Options) Look(show func(string), crash func(error)) func(phases []string, list []takt.Sample) []trace.Record {
	o.onlook = onlooker{show, crash}
	return func(phases []string, list []takt.Sample) []trace.Record {
		return o.run.Load().rows(o, slices.Index(phases, "first_byte"), list)
	}
}

// ShowsRows is driver.Predecessor.Rows.
func (o *Options) ShowsRows() bool { return o.Seed.TPS > 0 }

// rows makes records of operations that ended; they are valid until the next call. At is the due
// instant and Latency counts from there: if takt sends late, the user would have waited, too.
func (r *run) rows(o *Options, firstByte int, list []takt.Sample) []trace.Record {
	r.records = slices.Grow(r.records[:0], len(list))
	if more := len(list) - len(r.entries); more > 0 {
		r.entries = append(r.entries, make([]entry, more)...)
	}
	for i := range list {
		e, s := &r.entries[len(r.records)], &list[i]
		if !r.ledger.take(s.Seq, e) {
			r.lost++
			continue
		}
		r.comparison.add(e, s)
		r.judge(o, e, s)
		r.records = append(r.records, o.row(e, s, r.begun, firstByte))
	}
	return r.records
}

// row is the row of one operation.
func (o *Options) row(e *entry, s *takt.Sample, begun time.Time, firstByte int) trace.Record {
	rec := trace.Record{
		At: begun.Add(s.Due).In(o.zone()), Latency: s.Done - s.Due, Transfer: trace.Unknown,
		Status: s.Status, Expected: e.expected, Bytes: e.answer, Offered: o.rateAt(s.Due), Method: e.name(), URI: e.uri,
	}
	if s.Class == takt.ClassDropped {
		rec.Latency = trace.Unknown // 0 would look like the fastest request
	}
	switch {
	case s.Sent == takt.NotSent:
		rec.Status = statusNotSent
	case s.Status == 0:
		rec.Status = statusNoAnswer
	case firstByte >= 0 && s.Phases[firstByte] > 0:
		rec.Transfer = max(0, s.Done-s.Sent-s.Phases[firstByte])
	}
	if !isReading(rec.Method) {
		rec.Bytes = e.body
	}
	return rec
}

// judge shows failures without an answer, and ends the run at the first failure with --crash.
func (r *run) judge(o *Options, e *entry, s *takt.Sample) {
	failed := s.Class != "" && s.Class != takt.ClassDropped && s.Class != takt.ClassUnfinished
	if failed && s.Status == 0 {
		r.printer.line(fmt.Sprintf("%s: %s, no answer\n", e.where(), s.Class))
	}
	if o.Seed.Debug {
		o.onlook.show(fmt.Sprintf("%s: due %.6f s, sent %.6f s after that, done %.6f s, status %d\n", e.where(), s.Due.Seconds(), max(0, s.Sent-s.Due).Seconds(), (s.Done - s.Due).Seconds(), s.Status))
	}
	if o.Seed.Crash && !r.struck && (failed || isBad(e.name(), s.Status)) {
		r.struck = true
		what := s.Class
		if s.Status > 0 {
			what = fmt.Sprintf("status %d", s.Status)
		}
		o.onlook.crash(fmt.Errorf("%s: %s", e.where(), what))
	}
}

// where names the request and its line in the log.
func (e *entry) where() string { return fmt.Sprintf("%s %s (%s:%d)", e.name(), e.uri, e.file, e.line) }
