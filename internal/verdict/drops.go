package verdict

import (
	"math/bits"
	"time"
)

// Drops counts operations by how late they were dropped or sent, in buckets of powers of two,
// in microseconds. A generator that froze drops operations that became due meanwhile; the
// target is not the cause.
type Drops [40]uint64

// Add counts n operations that were dropped or sent late after they were due.
func (d *Drops) Add(late time.Duration, n uint64) {
	us := uint64(max(0, late) / time.Microsecond)
	d[min(bits.Len64(us), len(d)-1)] += n
}

// Merge adds the counts of o.
func (d *Drops) Merge(o *Drops) {
	for i, n := range o {
		d[i] += n
	}
}

// Count is the number of operations.
func (d *Drops) Count() (n uint64) {
	for _, c := range d {
		n += c
	}
	return n
}

// Above is the number of operations more than late. The bucket that contains late does not
// count, so the true number may be larger.
func (d *Drops) Above(late time.Duration) (n uint64) {
	us := uint64(max(0, late) / time.Microsecond)
	for _, c := range d[min(bits.Len64(us)+1, len(d)):] {
		n += c
	}
	return n
}
