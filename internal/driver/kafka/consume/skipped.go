package consume

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// skipped is what a partition lacked where this consumer read on.
type skipped struct {
	deleted   int64 // records between where it was and the log's beginning: retention or an admin deleted them
	from, to  int64 // the first such range
	compacted int64 // offsets without a record after the log's beginning
}

// delete counts the records from one offset to another, which is not included.
func (s *skipped) delete(from, to int64) {
	if to <= from {
		return
	}
	if s.deleted == 0 {
		s.from, s.to = from, to
	}
	s.deleted += to - from
}

// stretch is what a fetch brought of a partition: n records from one offset up to another, with Kafka's own.
type stretch struct {
	from, to int64 // to is not included
	n        int
	start    int64 // where the partition's log begins; 0: unknown, or at its first record
}

// skip notes which offsets between the last stretch of a partition and this one, and inside of this one, have no record.
func (r *Receiver) skip(at place, s stretch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.partitions[at]
	if p == nil {
		return
	}
	p.start = max(p.start, s.start)
	p.came(s.from)
	if s.from > p.got {
		beginning := min(max(p.start, p.got), s.from)
		p.skipped.delete(p.got, beginning)
		p.skipped.compacted += s.from - beginning
	}
	p.skipped.compacted += s.to - s.from - int64(s.n)
	p.got = max(p.got, s.to)
}

// guess is what was known of a partition before begins took records as deleted.
type guess struct {
	skipped skipped
	got     int64
}

// came takes back what begins took as deleted, if the records from an offset on came after all: their fetch was on
// its way.
func (p *partition) came(from int64) {
	if g := p.guess; g != nil && from < p.got {
		p.skipped, p.got = g.skipped, g.got
	}
	p.guess = nil
}

// holds reports whether a member has records that are not counted yet. The caller holds the lock.
func (r *Receiver) holds(member int) bool {
	f := r.held[member]
	return f != nil && f()
}

// begins notes where the log of a partition begins. If the consumer is before that, has had nothing for two looks, and
// holds no records, there is nothing to read up to there.
func (r *Receiver) begins(at place, start int64) {
	p := r.partitions[at]
	if p == nil || p.left {
		return
	}
	p.start = max(p.start, start)
	if stands := p.next == p.looked; stands && p.next < p.start && !r.holds(p.owner) {
		if p.guess == nil {
			p.guess = &guess{p.skipped, p.got}
		}
		p.skipped.delete(max(p.got, p.next), p.start)
		p.next, p.got, p.end = p.start, max(p.got, p.start), max(p.end, p.start)
	}
	p.looked = p.next
}

// placesShown is how many partitions a warning names.
const placesShown = 3

// describeSkipped warns of records that the consumer did not get. The deleted ones are unfinished. committed: offsets
// of aborted transactions have no record either, so compaction cannot be told. The caller holds the lock.
func (r *Receiver) describeSkipped(rep *takt.Report, committed bool) {
	var deleted, compacted int64
	var list []place
	for at, p := range r.partitions {
		deleted, compacted = deleted+p.skipped.deleted, compacted+p.skipped.compacted
		if p.skipped.deleted > 0 {
			list = append(list, at)
		}
	}
	if deleted > 0 {
		slices.SortFunc(list, compare)
		var names []string
		for _, at := range list[:min(len(list), placesShown)] {
			s := r.partitions[at].skipped
			names = append(names, fmt.Sprintf("%v from offset %d to %d", at, s.from, s.to-1))
		}
		if len(list) > placesShown {
			names = append(names, "…")
		}
		rep.Extra["deleted"] = deleted
		c := &rep.Counts
		c.Scheduled = max(c.Scheduled, c.OK+c.Failed+c.Dropped+uint64(deleted))
		c.Unfinished = c.Scheduled - c.OK - c.Failed - c.Dropped
		rep.Warn(warn.Deleted, "%d records were deleted before they were read, by retention or an administrator, and count as unfinished: %s; %s",
			takt.Number("records", deleted), strings.Join(names, "; "), takt.Advice("consume faster, or raise retention.ms and retention.bytes of the topic"))
	}
	if compacted > 0 && !committed {
		rep.Extra["compacted"] = compacted
	}
}
