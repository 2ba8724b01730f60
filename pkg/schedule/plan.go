package schedule

import (
	"math"
	"math/big"
	"time"
)

// plan is a Spec prepared for iteration. It does not change, so all iterations share it.
type plan struct {
	segs   []segment
	warm   int    // number of segs in the warm-up: 0 or 1
	limit  uint64 // number of measured operations; MaxUint64: no limit
	stop   uint64 // number of uniform operations, warm-up included; of other arrivals, their expected number
	end    time.Duration
	closed bool
	drawn  bool     // the instants follow from drawn or recorded numbers, not from 0, 1, 2 …
	gamma  float64  // as in Spec
	like   *Pattern // as in Spec
	seed   uint64
}

// endless is the end of a schedule without an end.
const endless time.Duration = -1

func newPlan(s Spec) (*plan, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	p := &plan{limit: s.Limit, end: endless, closed: s.Closed(), drawn: s.drawn(), gamma: s.Gamma, like: s.Like, seed: s.Seed}
	if p.limit == 0 {
		p.limit = math.MaxUint64
	}
	if p.closed {
		if s.Stages[0].Duration > 0 {
			p.end = s.Warmup + s.Stages[0].Duration
		}
		return p, nil
	}
	b := builder{sum: new(big.Rat)}
	if s.Warmup > 0 {
		p.warm = 1
		b.add(Stage{Duration: s.Warmup, From: s.Stages[0].From, To: s.Stages[0].From})
	}
	for _, g := range s.Stages {
		b.add(g)
	}
	p.segs, p.end = b.segs, b.at
	p.applyLimit(&b)
	return p, nil
}

// applyLimit computes where a Limit ends the schedule. A uniform schedule ends where measured
// operation number Limit would be due: n/rate at a constant rate. So does a schedule of other
// arrivals, whose end must be drawn.
func (p *plan) applyLimit(b *builder) {
	p.stop = p.segs[len(p.segs)-1].stop
	if p.limit == math.MaxUint64 {
		return
	}
	warm := b.marks[p.warm]
	stop := ceil(warm) + p.limit
	if p.drawn {
		if stop >= p.limit {
			p.stop = min(p.stop, stop)
		}
		p.end = newDrawn(p).drawEnd()
		return
	}
	if stop >= p.limit && stop <= p.stop {
		x := new(big.Rat).SetInt(new(big.Int).SetUint64(p.limit))
		end := b.instant(x.Add(x, warm), stop-1)
		if p.end == endless || end < p.end { // a warm-up of 9.5 operations shifts x by half a gap
			p.end = end
		}
		p.stop = stop
	}
}

// builder places stages one after the other.
type builder struct {
	segs  []segment
	marks []*big.Rat    // Λ at the start of each segment
	at    time.Duration // end of the last stage placed, or endless
	sum   *big.Rat      // Λ at at
}

// add places g at the end.
func (b *builder) add(g Stage) {
	seg := segment{start: b.at, length: g.Duration, stop: math.MaxUint64, high: math.Inf(1)}
	seg.low, _ = b.sum.Float64()
	b.marks = append(b.marks, b.sum)
	from, to := rational(g.From), rational(g.To)
	if g.From == g.To && g.From != 0 {
		slope := new(big.Rat).Quo(big.NewRat(1e9, 1), from) // ns an operation
		seg.period, _ = slope.Float64()
		seg.line = newLine(slope, b.offset(slope))
	}
	if g.Duration == 0 {
		seg.length, b.at = math.MaxInt64-b.at, endless
		b.segs = append(b.segs, seg)
		return
	}
	n := from.Add(from, to).Mul(from, big.NewRat(int64(g.Duration), 2e9)) // d·(from+to)/2
	total, _ := n.Float64()
	seg.ramp = newRamp(g, total)
	b.sum = short(n.Add(n, b.sum))
	b.at += g.Duration
	seg.stop = ceil(b.sum)
	seg.high, _ = b.sum.Float64()
	b.segs = append(b.segs, seg)
}

// offset is the shift of a line with this slope that makes it meet Λ = sum at the instant at.
func (b *builder) offset(slope *big.Rat) *big.Rat {
	at := new(big.Rat).SetInt64(int64(b.at))
	return at.Sub(at, new(big.Rat).Mul(b.sum, slope))
}

// instant returns the first instant at which x operations are expected, rounded up, and later
// than the instant of the whole number last < x. Such an instant exists.
func (b *builder) instant(x *big.Rat, last uint64) time.Duration {
	i := 0
	for i+1 < len(b.marks) && x.Cmp(b.marks[i+1]) > 0 {
		i++
	}
	seg := &b.segs[i]
	if seg.period == 0 {
		f, _ := x.Float64()
		if f >= seg.high {
			return seg.start + seg.length
		}
		return b.after(seg.at(f), last)
	}
	slope := new(big.Rat).SetFrac(new(big.Int).SetUint64(seg.line.num), new(big.Int).SetUint64(seg.line.den))
	ns := new(big.Rat).Sub(x, b.marks[i])
	ns.Mul(ns, slope)
	end := uint64(seg.start) + min(ceil(ns), math.MaxInt64)
	return b.after(time.Duration(min(end, math.MaxInt64)), last)
}

// after returns t, or the instant after last's if t is not later.
func (b *builder) after(t time.Duration, last uint64) time.Duration {
	i := 0
	for last >= b.segs[i].stop {
		i++
	}
	if due, ok := b.segs[i].whole(last); ok && due >= t {
		return due + 1
	}
	return t
}
