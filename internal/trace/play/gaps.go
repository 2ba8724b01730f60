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

	Longest trace.Gap   // the longest part of the log without a longer gap, as far as the log was read
	begin   trace.Place // of the current part
}

// maxGaps limits Gaps.Found.
const maxGaps = 3

// bound returns when the request at to is due, without a limit at due. The request at from
// was due at last. The error is that of Refuse.
func (g *Gaps) bound(from, to trace.Place, last, due time.Duration) (time.Duration, error) {
	if g.begin.At.IsZero() {
		g.begin = from
	}
	if g.Most <= 0 || due-last <= g.Most {
		g.part(to)
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
	g.begin = to
	if g.Count++; len(g.Found) < maxGaps {
		g.Found = append(g.Found, gap)
	}
	if g.Refuse {
		return due, fmt.Errorf("a gap in the log is longer than %s: %v", trace.Span(g.Most), gap)
	}
	return earliest + g.Most, nil
}

// part continues the current part to a request.
func (g *Gaps) part(to trace.Place) {
	if d := to.At.Sub(g.begin.At); d > g.Longest.Length {
		g.Longest = trace.Gap{From: g.begin, To: to, Length: d}
	}
}
