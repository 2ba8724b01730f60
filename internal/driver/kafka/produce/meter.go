package produce

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// meter counts records for the report, the seed's block and Graphite, beyond operations.
type meter struct {
	batches, bytes, failed atomic.Uint64                    // bytes: of messages
	begun, absent, doubles atomic.Uint64                    // see copies
	acked                  atomic.Pointer[[]*atomic.Uint64] // by partition
	windows                []*window
	onFailure              func(error) // called for each failure; nil: not called
}

func newMeter(partitions int32) *meter {
	m := &meter{}
	m.acked.Store(new([]*atomic.Uint64))
	m.grow(partitions)
	return m
}

// grow makes room for this number of partitions. One goroutine at a time calls it, while
// others count.
func (m *meter) grow(partitions int32) {
	list := slices.Clone(*m.acked.Load())
	for int32(len(list)) < partitions {
		list = append(list, new(atomic.Uint64))
	}
	m.acked.Store(&list)
}

// of is the count of a partition's acknowledged records.
func (m *meter) of(partition int32) *atomic.Uint64 { return (*m.acked.Load())[partition] }

// batch counts a batch that was answered.
func (m *meter) batch(took time.Duration) {
	m.batches.Add(1)
	for _, w := range m.windows {
		w.add(took)
	}
}

// acknowledged counts records of one partition and their bytes.
func (m *meter) acknowledged(partition int32, records, bytes int) {
	m.of(partition).Add(uint64(records))
	m.bytes.Add(uint64(bytes))
}

// answered counts answered records. Neighbours are mostly of one partition, so counting is
// cheap.
func (m *meter) answered(records []record) {
	bytes, acked, partition := 0, uint64(0), int32(0)
	for i := range records {
		r := &records[i]
		bytes += int(r.bytes)
		switch {
		case r.err != nil:
			m.failure(r.err)
			continue
		case r.partition != partition:
			m.of(partition).Add(acked)
			acked, partition = 0, r.partition
		}
		acked++
	}
	m.of(partition).Add(acked)
	m.bytes.Add(uint64(bytes))
}

// copies are what can be said of the records of a run beyond the acknowledged ones.
type copies struct {
	begun   uint64 // given to the client
	absent  uint64 // of these, not in the topic: refused, or never sent
	doubles uint64 // copies that the topic may have beyond one of each record; of --client takt only
}

func (f copies) plus(g copies) copies {
	return copies{f.begun + g.begun, f.absent + g.absent, f.doubles + g.doubles}
}

func (m *meter) copies() copies { return copies{m.begun.Load(), m.absent.Load(), m.doubles.Load()} }

// copied counts records with a result, which the topic has at most so often.
func (m *meter) copied(records, copies int) {
	switch {
	case copies == 0:
		m.absent.Add(uint64(records))
	case copies > 1:
		m.doubles.Add(uint64(records * (copies - 1)))
	}
}

// written is the number of acknowledged records by partition; without acknowledgements, of
// written ones.
func (m *meter) written() []uint64 {
	var list []uint64
	for _, n := range *m.acked.Load() {
		list = append(list, n.Load())
	}
	return list
}

func (m *meter) failure(err error) {
	m.failed.Add(1)
	if m.onFailure != nil {
		m.onFailure(err)
	}
}

// window computes figures of the time since its last cut. Each reader has its own window.
type window struct {
	meters              []*meter
	bytes, sent, failed uint64 // counts of the meters at the last cut

	mu      sync.Mutex
	took    []time.Duration // latencies of every step-th batch
	step    int
	batches int
	min     time.Duration
	max     time.Duration
	inverse float64 // sum of 1/s
}

// maxTook limits the batch latencies in a window: 8 MiB. Beyond that the window keeps every
// second one, then every fourth, so that its whole time has equal weight.
const maxTook = 1 << 20

// watch adds a window on all meters, before the first record.
func watch(meters ...*meter) *window {
	w := &window{meters: meters, step: 1}
	for _, m := range meters {
		m.windows = append(m.windows, w)
	}
	return w
}

func (w *window) add(took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.batches == 0 || took < w.min {
		w.min = took
	}
	w.max = max(w.max, took)
	w.inverse += 1 / max(took, 1).Seconds()
	if w.batches%w.step == 0 {
		w.took = append(w.took, took)
	}
	w.batches++
	if len(w.took) == maxTook {
		for i := range maxTook / 2 {
			w.took[i] = w.took[2*i]
		}
		w.took, w.step = w.took[:maxTook/2], 2*w.step
	}
}

// figures are the seed's figures of one span.
type figures struct {
	span                    time.Duration
	bytes, sent, failed     uint64
	batches                 int
	p99, harmonic, min, max time.Duration
	bins                    [binCount]int
}

const binCount = 10

// cut computes the figures of the last span and begins a new one.
func (w *window) cut(span time.Duration) figures {
	var bytes, failed, sent uint64
	for _, m := range w.meters {
		bytes, failed, sent = bytes+m.bytes.Load(), failed+m.failed.Load(), sent+total(m.written())
	}
	sent += failed
	f := figures{span: span, bytes: bytes - w.bytes, sent: sent - w.sent, failed: failed - w.failed}
	w.bytes, w.sent, w.failed = bytes, sent, failed
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.batches = w.batches; f.batches > 0 {
		f.min, f.max = w.min, w.max
		f.harmonic = time.Duration(float64(f.batches) / w.inverse * float64(time.Second))
		slices.Sort(w.took)
		f.p99 = w.took[int(float64(len(w.took))*0.99+0.5)-1] // tachymeter's definition, which the seed uses
		for _, took := range w.took {
			f.bins[binOf(took, f.min, f.max)]++
		}
	}
	w.took, w.step, w.batches, w.max, w.inverse = w.took[:0], 1, 0, 0, 0
	return f
}

// binOf is the index of the bin that contains took, of equal bins between least and most.
func binOf(took, least, most time.Duration) int {
	if most == least {
		return 0
	}
	return min(int(binCount*(took-least)/(most-least)), binCount-1)
}

// perSecond is n per second of the span.
func (f *figures) perSecond(n uint64) float64 { return float64(n) / max(f.span.Seconds(), 1e-9) }

// errorRate is the share of failed records in percent; 0 without records.
func (f *figures) errorRate() float64 { return 100 * float64(f.failed) / float64(max(f.sent, 1)) }
