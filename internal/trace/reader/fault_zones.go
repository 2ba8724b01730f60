package reader

import (
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace"
)

// zones counts how often the offset in the stamps changes.
type zones struct {
	seen    []int32 // offsets, in the order of their first lines; at most maxZones
	last    int32
	have    bool
	changes tally
	at      time.Time // of the last change
	often   bool      // a change came soon after another, though not at once
}

const (
	maxZones  = 8
	summer    = 3600            // seconds by which summer time differs at most
	changing  = 5 * time.Minute // in which lines of both offsets may alternate: they are not sorted
	leastTime = 30 * 24 * time.Hour
)

func (z *zones) note(r *trace.Record, place trace.Place) {
	if !r.Zoned {
		return
	}
	if z.have && r.Offset == z.last {
		return
	}
	if z.have {
		z.changes.add(place, 0)
		if since := r.At.Sub(z.at); !z.at.IsZero() && since > changing && since < leastTime {
			z.often = true
		}
		z.at = r.At
	}
	z.have, z.last = true, r.Offset
	for _, known := range z.seen {
		if known == r.Offset {
			return
		}
	}
	if len(z.seen) < maxZones {
		z.seen = append(z.seen, r.Offset)
	}
}

// isSummer reports whether the changes may be the begin and the end of summer time.
func (z *zones) isSummer() bool {
	return len(z.seen) == 2 && max(z.seen[0], z.seen[1])-min(z.seen[0], z.seen[1]) <= summer && !z.often
}

func (z *zones) fault() (Fault, bool) {
	if z.changes.count == 0 || z.isSummer() {
		return Fault{}, false
	}
	var names []string
	for _, o := range z.seen {
		sign := '+'
		if o < 0 {
			sign, o = '-', -o
		}
		names = append(names, fmt.Sprintf("%c%02d%02d", sign, o/3600, o/60%60))
	}
	return z.changes.fault("zones", fmt.Sprintf("time zones: %s, the number of changes is %d", strings.Join(names, ", "), z.changes.count)), true
}
