package engine

import (
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// leastPause and mostPause bound how long a connection of a closed loop pauses.
const (
	leastPause = time.Millisecond
	mostPause  = 128 * time.Millisecond
)

// patience is how long a connection of a closed loop pauses after operations that had no
// answer. A schedule says when the next operation is due, but a closed loop would use a
// target that refuses connections 34 000 times a second.
type patience time.Duration

// after is the pause after an operation that ended so. It doubles with each one that had no
// answer.
func (p *patience) after(r *takt.Result) time.Duration {
	if r.Class == "" || r.Status != 0 || r.BytesReceived > 0 {
		*p = 0
	} else {
		*p = patience(min(max(leastPause, 2*time.Duration(*p)), mostPause))
	}
	return time.Duration(*p)
}
