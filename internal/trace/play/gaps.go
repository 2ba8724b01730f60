package play

import (
	"fmt"
	"time"

	"github.com/taktload/takt/internal/trace"
)

// Gaps limits the time without requests.
type Gaps struct {
	Most   time.Duration // longer gaps are shortened to this; 0: no limit
	Refuse bool          // a longer gap ends the log with an error instead
	// Passed is the time since the first operation was due, for a pipe: the part of a gap
	// that passed while its writer was silent does not count. nil: the whole gap counts.
	Passed func() time.Duration

	Count uint64      // number of longer gaps
	Found []trace.Gap // the first three longer gaps
}

// maxGaps limits Gaps.Found.
const maxGaps = 3

// bound returns when the request at to is due, without a limit at due. The request at from
// was due at last. The error is that of Refuse.
func (g *Gaps) bound(from, to trace.Place, last, due time.Duration) (time.Duration, error) {
	if g.Most <= 0 || due-last <= g.Most {
		return due, nil
	}
	earliest := last
	if g.Passed != nil {
		earliest = max(last, g.Passed())
	}
	if due-earliest <= g.Most {
		return due, nil
	}
	gap := trace.Gap{From: from, To: to, Length: due - last}
	if g.Count++; len(g.Found) < maxGaps {
		g.Found = append(g.Found, gap)
	}
	if g.Refuse {
		return due, fmt.Errorf("a gap in the log is longer than %s: %v", trace.Span(g.Most), gap)
	}
	return earliest + g.Most, nil
}
