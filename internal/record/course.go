package record

import (
	"slices"
	"time"
)

// course counts operations by when they could have been sent and when they were sent, in
// steps of Grace. If the run's end is unknown in advance, as with a log, only the end tells
// which operations were in time.
type course struct {
	first int // step of steps[0]
	steps []step
}

type step struct{ ready, sent, ended uint64 } // ended: number of sent operations that ended

// at is the step that contains t.
func (c *course) at(t time.Duration) *step {
	i := int(t / grace)
	if len(c.steps) == 0 {
		c.first = i
	}
	if before := c.first - i; before > 0 {
		c.steps = slices.Insert(c.steps, 0, make([]step, before)...)
		c.first = i
	}
	for i-c.first >= len(c.steps) {
		c.steps = append(c.steps, step{})
	}
	return &c.steps[i-c.first]
}

func (c *course) reset() { c.steps = c.steps[:0] }

func (c *course) merge(o *course) {
	for i, s := range o.steps {
		if s == (step{}) {
			continue
		}
		to := c.at(time.Duration(o.first+i) * grace)
		to.ready, to.sent, to.ended = to.ready+s.ready, to.sent+s.sent, to.ended+s.ended
	}
}

// until returns two counts, in whole steps: achieved is the operations sent by the end of the
// window and ended; unsent is those that could have been sent by the end of the grace and
// were not.
func (c *course) until(window time.Duration) (achieved, unsent uint64) {
	var ready, sent uint64
	last := int(window / grace)
	for i, s := range c.steps {
		if c.first+i <= last {
			achieved += s.ended
		}
		if c.first+i <= last+1 {
			ready, sent = ready+s.ready, sent+s.sent
		}
	}
	return achieved, ready - min(ready, sent)
}
