package verify

import (
	"math"
	"slices"
	"time"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// DuetOp is one operation of a duet. Instants are since the start of the round.
type DuetOp struct {
	Due, Done time.Duration
	Lag       time.Duration // how late the generator sent it, with its wait behind other late operations
	Outcome   DuetOutcome
	Timed     [takt.MaxTimed]time.Duration // Options.Rows; 0: it did not happen
}

// DuetOutcome is how an operation ended.
type DuetOutcome uint8

// The outcomes.
const (
	DuetOK DuetOutcome = iota
	DuetFailed
	DuetUnfinished
	DuetDropped
)

// DuetOpOf extracts from a row what a duet needs.
func DuetOpOf(s *takt.Sample) DuetOp {
	op := DuetOp{Due: s.Due, Done: s.Done, Timed: s.Timed}
	if s.Sent != takt.NotSent {
		op.Lag = s.Sent - s.Free + s.Behind
	}
	switch s.Class {
	case "":
	case takt.ClassDropped:
		op.Outcome = DuetDropped
	case takt.ClassUnfinished:
		op.Outcome = DuetUnfinished
	default:
		op.Outcome = DuetFailed
	}
	return op
}

// DuetRound is one run of both sides at once.
type DuetRound struct {
	Deal
	Guard  time.Duration // at the start of each block; not counted
	Warmup time.Duration
	End    time.Duration // end of the schedule
	Ops    [2][]DuetOp   // of base and head
}

// DuetCounts count the blocks and operations of a duet by what became of them.
type DuetCounts struct {
	Rounds     int    `json:"rounds"`
	BadBase    int    `json:"invalid_base"` // rounds left out because base's run was invalid
	BadHead    int    `json:"invalid_head"` // rounds left out because only head's run was invalid
	Pairs      int    `json:"pairs"`        // pairs of blocks that count
	CleanPairs int    `json:"clean_pairs"`  // counted pairs of blocks that also count for percentiles above p75
	LatePairs  int    `json:"late_pairs"`   // pairs of blocks left out because the generator was late in them
	LateBase   int    `json:"late_base"`    // blocks of base in which the generator was late
	LateHead   int    `json:"late_head"`    // blocks of head in which the generator was late
	EmptyPairs int    `json:"empty_pairs"`  // pairs of blocks left out because a block got no answer
	Operations uint64 `json:"operations"`   // operations that count
	Guarded    uint64 `json:"guarded"`      // operations sent in the guard, which are not counted
	Overlapped uint64 `json:"overlapped"`   // operations that count, due while the other side was still busy

	only Disturbed // pairs with one late block, by its side
}

// add adds the counts of a round.
func (c *DuetCounts) add(o DuetCounts) {
	c.Rounds += o.Rounds
	c.BadBase += o.BadBase
	c.BadHead += o.BadHead
	c.Pairs += o.Pairs
	c.CleanPairs += o.CleanPairs
	c.LatePairs += o.LatePairs
	c.LateBase += o.LateBase
	c.LateHead += o.LateHead
	c.EmptyPairs += o.EmptyPairs
	c.Operations += o.Operations
	c.Guarded += o.Guarded
	c.Overlapped += o.Overlapped
	c.only.Base += o.only.Base
	c.only.Head += o.only.Head
}

// duetBlock contains the results of one block after its guard.
type duetBlock struct {
	response   []float64 // µs, ascending; includes failed operations, and unfinished ones with their age
	timed      [takt.MaxTimed][]float64
	failed     int // failed and unfinished
	dropped    int
	achieved   int // ended before the schedule did
	late       int // operations that the generator sent late
	guarded    int
	overlapped int
}

// scheduled is how many operations of the block were due after its guard.
func (b *duetBlock) scheduled() int { return len(b.response) + b.dropped }

// lateMost is the largest share of late operations with which the middle of a block still shows the
// target. A tenth moves a median to the 55th percentile at most, about equally on both sides. High
// percentiles allow only the share of a whole run, verdict.LateShare.
const lateMost = 0.1

// isLate reports whether more than share of the block's operations were late.
func (b *duetBlock) isLate(share float64) bool {
	return float64(b.late) > share*float64(b.scheduled())
}

// duetPair is a block of base and the block of head next to it.
type duetPair [2]duetBlock

// clean reports whether the pair also counts for high percentiles.
func (p *duetPair) clean() bool {
	return !p[DuetBase].isLate(verdict.LateShare) && !p[DuetHead].isLate(verdict.LateShare)
}

// pairs returns the pairs of blocks that count, in order, and the counts of all pairs. A pair is left
// out if the generator was late in one of its blocks, or if one block has no answer at all. An
// operation belongs to the block in which it was due, however late it ends.
func (r DuetRound) pairs() (kept []duetPair, c DuetCounts) {
	all := r.deal()
	c.Rounds = 1
	for i := range all {
		if p := &all[i]; c.count(p) {
			kept = append(kept, *p)
		}
	}
	return kept, c
}

// count updates the counts with a pair of blocks, and reports whether the figures include it.
func (c *DuetCounts) count(p *duetPair) bool {
	late := c.late(p)
	c.Guarded += uint64(p[DuetBase].guarded + p[DuetHead].guarded)
	switch {
	case late:
		c.LatePairs++
		return false
	case len(p[DuetBase].response) == 0 || len(p[DuetHead].response) == 0:
		c.EmptyPairs++
		return false
	}
	c.Pairs++
	if p.clean() {
		c.CleanPairs++
	}
	for side := range p {
		c.Operations += uint64(p[side].scheduled())
		c.Overlapped += uint64(p[side].overlapped)
		slices.Sort(p[side].response)
		for _, timed := range p[side].timed {
			slices.Sort(timed)
		}
	}
	return true
}

// late counts the late blocks of a pair, and reports whether there are any.
func (c *DuetCounts) late(p *duetPair) bool {
	base, head := p[DuetBase].isLate(lateMost), p[DuetHead].isLate(lateMost)
	if base {
		c.LateBase++
	}
	if head {
		c.LateHead++
	}
	switch {
	case base && !head:
		c.only.Base++
	case head && !base:
		c.only.Head++
	}
	return base || head
}

// deal sorts the operations into the blocks of whole pairs between warm-up and end.
func (r DuetRound) deal() []duetPair {
	first := (r.Number(r.Warmup+r.Block-1) + 1) / 2 // the first pair entirely after the warm-up
	all := make([]duetPair, max(0, r.Number(r.End)/2-first))
	busy := [2]busyUntil{r.busy(DuetBase), r.busy(DuetHead)}
	bound := r.bound()
	for side := range r.Ops {
		for _, op := range r.Ops[side] {
			n := r.Number(op.Due)
			if op.Due < 0 || n/2 < first || n/2-first >= len(all) {
				continue
			}
			b := &all[n/2-first][side]
			if op.Due-time.Duration(n)*r.Block < r.Guard {
				b.guarded++
				continue
			}
			b.add(op, bound, r.End)
			if op.Due < busy[1-side].before(n) {
				b.overlapped++
			}
		}
	}
	return all
}

func (b *duetBlock) add(op DuetOp, bound, end time.Duration) {
	if op.Lag > bound {
		b.late++
	}
	switch op.Outcome {
	case DuetDropped:
		b.dropped++
		return
	case DuetUnfinished:
		b.failed++
	case DuetFailed:
		b.failed++
		fallthrough
	case DuetOK:
		if op.Done <= end {
			b.achieved++
		}
	}
	b.response = append(b.response, hist.Micros(op.Done-op.Due))
	for row, d := range op.Timed {
		if d > 0 {
			b.timed[row] = append(b.timed[row], hist.Micros(d))
		}
	}
}

// bound is the lag above which an operation is late, by the rule for whole runs.
func (r DuetRound) bound() time.Duration {
	onTime := hist.New()
	for _, ops := range r.Ops {
		for _, op := range ops {
			if op.Outcome != DuetDropped {
				onTime.Record(op.Done - op.Due - op.Lag)
			}
		}
	}
	return verdict.BoundFor(onTime.Quantile(0.99))
}

// responseOf is the histogram of the response time of these operations.
func responseOf(ops []DuetOp) *hist.Histogram {
	response := hist.New()
	for _, op := range ops {
		if op.Outcome != DuetDropped {
			response.Record(op.Done - op.Due)
		}
	}
	return response
}

// busyUntil is, by block number, when all operations of a side's blocks so far have ended.
type busyUntil []time.Duration

func (r DuetRound) busy(side int) busyUntil {
	u := make(busyUntil, r.Number(r.End)+1)
	for _, op := range r.Ops[side] {
		if n := r.Number(op.Due); op.Due >= 0 && n < len(u) {
			u[n] = max(u[n], op.Done)
		}
	}
	for n := 1; n < len(u); n++ {
		u[n] = max(u[n], u[n-1])
	}
	return u
}

// before is when all operations of the blocks before n have ended.
func (u busyUntil) before(n int) time.Duration {
	if n == 0 {
		return 0
	}
	return u[n-1]
}

const (
	guardLeast = 10 // a guard is at least a tenth of the block
	guardMost  = 2  // a guard is at most half of the block
)

// GuardOf computes the guard from the warm-up round: the p99 response time of the slower side, so that
// one side is idle before the other side is counted. The guard is fixed before anything counts. A
// guard that depended on the counted operations would select among them.
func (r DuetRound) GuardOf() time.Duration {
	var longest time.Duration
	for _, ops := range r.Ops {
		longest = max(longest, responseOf(ops).Quantile(0.99))
	}
	return min(max(longest, r.Block/guardLeast), r.Block/guardMost)
}

// PerBlock is the mean number of operations of one side in a block, without its guard.
func (r DuetRound) PerBlock() float64 {
	n := len(r.Ops[DuetBase]) + len(r.Ops[DuetHead])
	return float64(n) * float64(r.Block-r.Guard) / math.Max(1, float64(r.End-r.Warmup))
}
