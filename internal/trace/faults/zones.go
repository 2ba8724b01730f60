package faults

import (
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/trace"
)

// zones counts how often the offset in the stamps changes.
type zones struct {
	seen    []int32 // offsets, in the order of their first lines; at most maxZones
	last    int32
	have    bool
	changes tally
}

const maxZones = 8

func (z *zones) note(r *trace.Record, place trace.Place) {
	if !r.Zoned {
		return
	}
	if z.have && r.Offset == z.last {
		return
	}
	if z.have {
		z.changes.add(place, 0)
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

func (z *zones) fault() (Fault, bool) {
	if z.changes.count == 0 {
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
	return z.changes.fault("zones", fmt.Sprintf("time zones: %s, changed %d times", strings.Join(names, ", "), z.changes.count)), true
}
