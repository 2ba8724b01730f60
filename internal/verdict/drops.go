package verdict

import (
	"math/bits"
	"time"
)

// Drops counts operations by how late they were dropped, or sent, in buckets of powers of
// two, in microseconds. A generator that stood still drops what became due meanwhile: the
// target had no part in it.
type Drops [40]uint64

// Add counts an operation that was dropped so long after it was due.
func (d *Drops) Add(late time.Duration, n uint64) {
	us := uint64(max(0, late) / time.Microsecond)
	d[min(bits.Len64(us), len(d)-1)] += n
}

// Merge adds what o counted.
func (d *Drops) Merge(o *Drops) {
	for i, n := range o {
		d[i] += n
	}
}

// Count is how many were dropped.
func (d *Drops) Count() (n uint64) {
	for _, c := range d {
		n += c
	}
	return n
}

// Above is how many were dropped more than late after they were due; of the bucket that late
// lies in none counts, so there may be more.
func (d *Drops) Above(late time.Duration) (n uint64) {
	us := uint64(max(0, late) / time.Microsecond)
	for _, c := range d[min(bits.Len64(us)+1, len(d)):] {
		n += c
	}
	return n
}
