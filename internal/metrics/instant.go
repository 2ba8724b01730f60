package metrics

import "time"

// Instant is the time of the figures of a batch. No two batches of a run have the same one: receivers
// refuse a second value of a series for one instant.
func (b *Batch) Instant() time.Time {
	if b.Over { // To is the end of the newest interval, too
		return b.To.Add(time.Millisecond)
	}
	return b.To
}
