package produce

import (
	"math"

	"github.com/taktload/takt/internal/payload"
)

// tombstones chooses the records without a value, which delete their key from a compacted topic.
type tombstones struct {
	limit  uint64 // records whose random bits are below; 0: no record
	chance payload.Chance
}

func newTombstones(share float64, seed uint64) tombstones {
	limit := uint64(math.MaxUint64)
	if share < 1 {
		limit = uint64(share * (1 << 63) * 2)
	}
	return tombstones{limit, payload.NewChance(seed, "tombstones")}
}

// has reports whether record seq has no value, if limit is not 0.
func (g *tombstones) has(seq uint64) bool { return g.chance.At(seq) <= g.limit }
