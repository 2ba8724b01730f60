package analysis

import (
	"math"
	"slices"
	"time"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// DuetOp is one operation of a duet as it went. Instants count from the start of the round.
type DuetOp struct {
	Due, Done time.Duration
	Lag       time.Duration // of the generator
	Outcome   DuetOutcome
}

// DuetOutcome is what became of an operation.
type DuetOutcome uint8

// The outcomes.
const (
	DuetOK DuetOutcome = iota
	DuetFailed
	DuetUnfinished
	DuetDropped
)

// DuetOpOf is what a duet keeps of a row.
func DuetOpOf(s *takt.Sample) DuetOp {
	op := DuetOp{Due: s.Due, Done: s.Done}
	if s.Sent != takt.NotSent {
		op.Lag = s.Sent - s.Free
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
	Guard  time.Duration // of each block, at its begin
	Warmup time.Duration
	End    time.Duration // of the schedule
	Ops    [2][]DuetOp   // of base and head
}

// DuetCounts say what became of the blocks and operations of a duet.
type DuetCounts struct {
	Rounds     int    `json:"rounds"`
	BadBase    int    `json:"invalid_base"` // rounds left out, since the run of base was invalid
	BadHead    int    `json:"invalid_head"` // rounds left out, since only that of head was
	Pairs      int    `json:"pairs"`        // of blocks, that count
	CleanPairs int    `json:"clean_pairs"`  // of them, that count for percentiles above p75 too
	LatePairs  int    `json:"late_pairs"`   // of blocks left out, since the generator was late in them
	LateBase   int    `json:"late_base"`    // blocks of base in which the generator was late
	LateHead   int    `json:"late_head"`    // blocks of head in which it was
	EmptyPairs int    `json:"empty_pairs"`  // of blocks left out, since no answer came to a block
	Operations uint64 `json:"operations"`   // that count
	Guarded    uint64 `json:"guarded"`      // operations sent in the guard, which are not counted
	Overlapped uint64 `json:"overlapped"`   // operations that count, due while the other side was still busy

	only Disturbed // pairs with one late block, by its side
}

// add adds those of a round.
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

// duetBlock is what came of one block behind its guard.
type duetBlock struct {
	response   []float64 // µs, ascending; errors and unfinished ones, with their age, too
	failed     int       // unfinished ones too
	dropped    int
	achieved   int // were answered before the schedule ended
	late       int // the generator was
	guarded    int
	overlapped int
}

// scheduled is how many operations of the block were due.
func (b *duetBlock) scheduled() int { return len(b.response) + b.dropped }

// lateMost is the share of late operations up to which the middle of a block is still the
// target's: a tenth moves a median to the 55th percentile at most, of both sides about
// equally. High percentiles ask for the share that a whole run may have.
const lateMost = 0.1

// isLate reports whether more than that share of the block's operations were late.
func (b *duetBlock) isLate(share float64) bool {
	return float64(b.late) > share*float64(b.scheduled())
}

// duetPair is a block of base and the one of head beside it.
type duetPair [2]duetBlock

// clean reports whether the pair counts for high percentiles too.
func (p *duetPair) clean() bool {
	return !p[DuetBase].isLate(verdict.LateShare) && !p[DuetHead].isLate(verdict.LateShare)
}

// pairs are the pairs of blocks that count, in order, and what became of all pairs. A pair
// is left out if the generator was late in one of its blocks, or one has no answer at all.
// The due instant decides to which block an operation belongs, however late it ends.
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

// count counts a pair of blocks, and reports whether it counts for the figures.
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
	}
	return true
}

// late counts a pair in which the generator was late, and reports whether it was.
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
	first := (r.Number(r.Warmup+r.Block-1) + 1) / 2 // the first pair whose blocks all count
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
}

// bound is the lag from which an operation is late, by the rule of runs.
func (r DuetRound) bound() time.Duration {
	return verdict.Of(r.histograms()).Bound
}

func (r DuetRound) histograms() (response, lag *hist.Histogram) {
	response, lag = hist.New(), hist.New()
	for _, ops := range r.Ops {
		for _, op := range ops {
			if op.Outcome != DuetDropped {
				response.Record(op.Done - op.Due)
				lag.Record(op.Lag)
			}
		}
	}
	return response, lag
}

// busyUntil is until when the operations of a side's block and of its earlier ones go on.
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

// before is when the blocks before number n were done.
func (u busyUntil) before(n int) time.Duration {
	if n == 0 {
		return 0
	}
	return u[n-1]
}

const (
	guardLeast = 10 // a guard is a tenth of the block at least …
	guardMost  = 2  // … and half of it at most
)

// GuardOf is how long a block's operations are not counted, by a round that shows how long
// operations take: the p99 of the slower side, so that one side is done before the other one
// counts. It is fixed before anything counts: a guard that went by the operations themselves
// would choose among them.
func (r DuetRound) GuardOf() time.Duration {
	var longest time.Duration
	for side := range r.Ops {
		one := r
		one.Ops[1-side] = nil
		response, _ := one.histograms()
		longest = max(longest, response.Quantile(0.99))
	}
	return min(max(longest, r.Block/guardLeast), r.Block/guardMost)
}

// PerBlock is how many operations a block of a side has on average, without its guard.
func (r DuetRound) PerBlock() float64 {
	n := len(r.Ops[DuetBase]) + len(r.Ops[DuetHead])
	return float64(n) * float64(r.Block-r.Guard) / math.Max(1, float64(r.End-r.Warmup))
}
