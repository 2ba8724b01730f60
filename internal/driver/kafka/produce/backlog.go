package produce

import (
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// backlog is how many records waited for a writer when the schedule ended.
type backlog struct {
	until   time.Duration // end of the schedule; 0: unknown, or a closed loop
	atEnd   *time.Timer   // notes the records at the end of the schedule; nil: unknown end
	records atomic.Int64  // -1: unknown yet
}

// waiting is the number of records that wait for a writer.
func (p *Run) waiting() (n int) {
	for _, w := range p.workers {
		w.mu.Lock()
		n += w.queue.Len()
		w.mu.Unlock()
	}
	return n
}

// writers is the number of all writers. A topic with more partitions may have more of them.
func (r *Runs) writers() (n int) {
	for _, p := range r.list {
		n += len(p.workers) * p.writers
	}
	return n
}

// noteBacklog notes the waiting records at the end of the schedule.
func (p *Run) noteBacklog() { p.backlog.records.CompareAndSwap(-1, int64(p.waiting())) }

// mostWaiting is the largest acceptable part of records that wait for a writer at the end of
// the schedule.
const mostWaiting = 0.01

// describeBacklog names the settings that delayed records which only waited for a writer when
// the schedule ended, if the records are many.
func (r *Runs) describeBacklog(rep *takt.Report) {
	p := r.list[0] // the settings are those of all topics
	waited := 0.0
	for _, one := range r.list {
		waited += float64(max(0, one.backlog.records.Load()))
	}
	due, writers, records := float64(rep.Counts.Scheduled+rep.WarmupCounts.Scheduled), r.writers(), p.batchSize
	if p.filling && p.text.recorded == nil { // the limit is bytes
		records = max(1, p.batchBytes/p.workers[0].recordSize(0))
	}
	if r.traffic.OverQuota(rep) { // which is the reason, and says so
		return
	}
	if rep.Rate.Intended == nil || rep.DurationS <= 0 || waited <= float64(writers*records) || waited <= mostWaiting*due {
		return
	}
	unit, flag, size := "records", "--message-batch-size", p.batchSize
	writersFlag, linger := "--writers-per-worker", ", use --linger 5ms for the batches of Java's producer"
	if p.filling {
		unit, flag, size = "bytes", "--batch-bytes", p.batchBytes
		writersFlag, linger = "--max-open-requests for each partition or --writers-per-worker", ""
	}
	rep.Warn(warn.WritersBound, "the rate was not reached: when the schedule ended, %.0f of %.0f records (%.3g %%) still waited for a free writer; at most %d batches of %d %s are in flight (--workers %d, %s %d, %s %d): %s",
		takt.Number("waited", waited), takt.Number("due", due), takt.Percent("waited_share", 100*waited/due), takt.Number("batches", writers), size, unit,
		len(p.workers), writersFlag, p.writers, flag, size, takt.Advice("raise one of these"+linger+", or lower the rate"))
}

// describeTooLarge names the setting that makes batches larger than the topic accepts. Kafka compares the size of the
// whole batch.
func (r *Runs) describeTooLarge(rep *takt.Report) {
	p := r.list[0] // the settings are those of all topics
	for _, e := range rep.Errors {
		if e.Class != cluster.ClassTooLarge {
			continue
		}
		size, flags := p.batchSize*p.workers[0].recordSize(0), "--message-batch-size or --message-size"
		if p.filling {
			size, flags = p.batchBytes, "--batch-bytes or --message-size"
		}
		rep.Warn(warn.TooLarge, "%d records were refused as too large: Kafka compares the whole batch, here of up to %d bytes, with max.message.bytes of the topic and message.max.bytes of the broker; %s",
			takt.Number("records", e.Count), takt.Number("batch_bytes", size), takt.Advice("lower "+flags+", or raise these settings"))
		return
	}
}
