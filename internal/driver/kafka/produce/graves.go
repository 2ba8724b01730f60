package produce

import (
	"math"

	"github.com/taktload/takt/internal/payload"
)

// graves chooses the records without a value, which delete their key from a compacted topic.
type graves struct {
	limit  uint64 // records whose random bits are below; 0: no record
	chance payload.Chance
}

func newGraves(share float64, seed uint64) graves {
	limit := uint64(math.MaxUint64)
	if share < 1 {
		limit = uint64(share * (1 << 63) * 2)
	}
	return graves{limit, payload.NewChance(seed, "tombstones")}
}

// has reports whether record seq has no value, if limit is not 0.
func (g *graves) has(seq uint64) bool { return g.chance.At(seq) <= g.limit }
