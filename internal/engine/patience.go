package engine

import (
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// leastPause and mostPause limit how long a connection of a closed loop pauses.
const (
	leastPause = time.Millisecond
	mostPause  = 128 * time.Millisecond
)

// patience is how long a connection of a closed loop pauses after operations without an
// answer. An open loop waits for its schedule, but a closed loop would try a target that
// refuses connections 34 000 times a second.
type patience time.Duration

// after is the pause after the result r. It doubles with each operation without an answer.
func (p *patience) after(r *takt.Result) time.Duration {
	if r.Class == "" || r.Status != 0 || r.BytesReceived > 0 {
		*p = 0
	} else {
		*p = patience(min(max(leastPause, 2*time.Duration(*p)), mostPause))
	}
	return time.Duration(*p)
}
