package trace

import (
	"fmt"
	"strings"
	"time"
)

// Gaps limits the time without requests.
type Gaps struct {
	Most   time.Duration // longer gaps are shortened to this; 0: no limit
	Refuse bool          // a longer gap ends the log with an error instead
	// Passed is the time since the first operation was due, for a pipe: the part of a gap
	// that passed while its writer was silent does not count. nil: the whole gap counts.
	Passed func() time.Duration

	Count uint64 // number of longer gaps
	Found []Gap  // the first three longer gaps
}

// maxGaps limits Gaps.Found.
const maxGaps = 3

// Gap is a time between two requests, as long as it would be in the replay.
type Gap struct {
	From, To Place
	Length   time.Duration
}

// Place is the place of a request in a log.
type Place struct {
	File string
	Line int
	At   time.Time
}

func placeOf(r *Record) Place { return Place{r.File, r.Line, r.At} }

// String is file:line (date).
func (p Place) String() string {
	return fmt.Sprintf("%s:%d (%s)", p.File, p.Line, p.At.Format("2006-01-02 15:04:05"))
}

// String names both ends and the length.
func (g Gap) String() string { return fmt.Sprintf("%v to %v, %s", g.From, g.To, Span(g.Length)) }

// Span writes a time that may be years: 1h, 90m5s, 3 days.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*365*day:
		return fmt.Sprintf("%d years", (d+182*day)/(365*day+6*time.Hour))
	case d >= 2*day:
		return fmt.Sprintf("%d days", d/day)
	case d >= time.Second:
		d = d.Round(time.Second)
	}
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// bound returns when the request at to is due, without a limit at due. The request at from
// was due at last. The error is that of Refuse.
func (g *Gaps) bound(from, to Place, last, due time.Duration) (time.Duration, error) {
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
	gap := Gap{from, to, due - last}
	if g.Count++; len(g.Found) < maxGaps {
		g.Found = append(g.Found, gap)
	}
	if g.Refuse {
		return due, fmt.Errorf("a gap in the log is longer than %s: %v", Span(g.Most), gap)
	}
	return earliest + g.Most, nil
}
