package produce

import (
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/driver/kafka/cluster"
	"github.com/taktload/takt/internal/outage"
	"github.com/taktload/takt/pkg/takt"
)

// outages are the times in which partitions accepted no records.
type outages struct {
	log   *outage.Log                    // of all topics
	topic string                         // of several; "": there is one
	parts atomic.Pointer[[]*outage.Part] // by partition
	has   func(cluster.StreamKey, uint64) bool
}

// grow makes room for this number of partitions. One goroutine at a time calls it.
func (o *outages) grow(partitions int32) {
	var list []*outage.Part
	if old := o.parts.Load(); old != nil {
		list = append(list, *old...)
	}
	for n := int32(len(list)); n < partitions; n++ {
		list = append(list, o.log.Part(cluster.PartitionName(o.topic, n)))
	}
	o.parts.Store(&list)
}

func (o *outages) of(partition int32) *outage.Part { return (*o.parts.Load())[partition] }

// again is called when takt's own client sends records of a partition again.
func (p *Run) again(partition int32, records int, sent time.Time, err error) {
	part := p.outages.of(partition)
	part.Lost(sent.Sub(p.start), time.Since(p.start), err)
	part.Retried(records)
}

// outcome notes that records of a partition, written at began, were acknowledged or failed.
func (p *Run) outcome(partition int32, records int, began time.Time, err error) {
	part := p.outages.of(partition)
	switch {
	case err == nil:
		part.Worked(began.Sub(p.start), time.Since(p.start))
	case cluster.Unreachable(err):
		part.Lost(began.Sub(p.start), began.Sub(p.start), err)
		part.Failed(records)
	case cluster.Classify(err) == cluster.ClassUnknownTopic: // the topic was deleted
		part.Failed(records)
	}
}

// outcomes is outcome for the records of a client library's batch.
func (p *Run) outcomes(b *batch) {
	for i := 0; i < len(b.records); {
		first, n := &b.records[i], 0
		for ; i < len(b.records) && b.records[i].partition == first.partition && (b.records[i].err == nil) == (first.err == nil); i++ {
			n++
		}
		p.outcome(first.partition, n, b.began, first.err)
	}
}

// describeOutages adds the outages to the report.
func (r *Runs) describeOutages(rep *takt.Report) {
	receives := false
	for _, p := range r.list {
		if p.outages.has == nil {
			continue
		}
		receives = true
		for _, a := range p.receipts.overdue(forever) {
			p.missing(a)
		}
	}
	r.log.Unordered = r.list[0].unordered
	r.log.Describe(rep, receives)
}

// missing tells the outages of a record that was acknowledged, if it was not received.
func (p *Run) missing(a awaited) {
	if !p.outages.has(cluster.StreamKey{Run: p.run, Stream: a.stream, Partition: a.partition}, a.number) {
		p.outages.of(a.partition).Missing(a.acked, 1)
	}
}
