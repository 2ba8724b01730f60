package verify

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

const (
	sliceLength = time.Second
	slicePairs  = 4 // least number of pairs of blocks in a slice
)

// FreshRound is the longest round of a duet whose servers start anew for each round.
const FreshRound = 2 * time.Second

// DuetParts says how a duet divides its load into slices. Conclusions are drawn from slices, because
// neighbouring blocks depend on each other. A slice is a second of pairs of blocks, but at least
// slicePairs of them.
type DuetParts struct {
	Block time.Duration
	// Round is the length of a round that is one slice, however many of its pairs count: its servers
	// started for it, and all its blocks share what that start made of them, such as the layout of
	// memory. 0: the servers run all the time.
	Round time.Duration
}

// perSlice is how many pairs of blocks a slice has; in a slice that is a round, at most.
func (p DuetParts) perSlice() int {
	if p.Round > 0 {
		return max(1, int(p.Round/(2*p.Block)))
	}
	return max(slicePairs, int(sliceLength/(2*p.Block)))
}

// load is the load that so many slices contain.
func (p DuetParts) load(slices int) time.Duration {
	return time.Duration(slices*p.perSlice()) * 2 * p.Block
}

// word is what a slice is called.
func (p DuetParts) word() string {
	if p.Round > 0 {
		return "round"
	}
	return "slice"
}

// slicesIn is how many slices the load is enough for.
func (p DuetParts) slicesIn(load time.Duration) int { return int(load / p.load(1)) }

// duetSlice contains consecutive pairs of blocks, without those left out.
type duetSlice []duetPair

// percentileOf is the quantile that a metric such as p50 or p99.9 names: 0.5 or 0.999.
func percentileOf(metric string) (q float64, ok bool) {
	digits, found := strings.CutPrefix(metric, "p")
	v, err := strconv.ParseFloat(digits, 64)
	return v / 100, found && err == nil && v > 0 && v < 100
}

// duetLatency is the percentile of a latency that a metric names: of the response time, row is -1. A duet that does not
// know yet what the load measures believes in all names but those that each load has.
func (o Options) duetLatency(metric string) (row int, q float64, ok bool) {
	of, statistic := stored.SplitName(metric)
	if q, ok = percentileOf(statistic); !ok || of == takt.LatencyResponse {
		return -1, q, ok
	}
	if o.Rows == nil {
		every := []string{takt.LatencyService, takt.LatencyResponseOK, takt.LatencyOnTime, takt.LatencySend, takt.LatencySendDelay, takt.LatencyScheduleLag}
		return 0, q, !slices.Contains(every, of)
	}
	row = slices.Index(o.Rows, of)
	return row, q, row >= 0
}

// ofRow are the slices with another latency of their operations in place of the response time, without pairs in which
// a block has none.
func ofRow(all []duetSlice, row int) (of []duetSlice) {
	for _, s := range all {
		var kept duetSlice
		for _, p := range s {
			for side := range p {
				b := &p[side]
				b.dropped += len(b.response) - len(b.timed[row])
				b.response = b.timed[row]
			}
			if len(p[DuetBase].response) > 0 && len(p[DuetHead].response) > 0 {
				kept = append(kept, p)
			}
		}
		if kept != nil {
			of = append(of, kept)
		}
	}
	return of
}

// mostPaired is the highest quantile at which the two blocks of a pair are compared. Above it, a block
// has too few operations, so all blocks are pooled. A median of the p99 of blocks would not see a
// pause that only every tenth block has.
const mostPaired = 0.75

// shiftOfSlices returns the evidence about a metric, and the figures of both sides. A positive shift
// is a change for the worse, in percentage points for errors and in logarithms for others.
func shiftOfSlices(metric string, q float64, latency bool, all []duetSlice) (s stats.Shift, base, head float64) {
	switch {
	case latency && len(all) < 2: // of a latency that few operations have
		return stats.Resampled{Se: math.Inf(1), N: len(all)}, 0, 0
	case latency:
		return shiftOfLatency(q, all)
	}
	whole := ones(len(all))
	if metric == "errors" {
		t := tallySlices(all, failedOf)
		s = resample(len(all), func(w []int) float64 { return 100 * (t[DuetHead].share(w) - t[DuetBase].share(w)) })
		return s, 100 * t[DuetBase].share(whole), 100 * t[DuetHead].share(whole)
	}
	t := tallySlices(all, func(b *duetBlock) (float64, float64) { return float64(b.achieved), float64(b.scheduled()) })
	s = resample(len(all), func(w []int) float64 { return -math.Log(t[DuetHead].some(w) / t[DuetBase].some(w)) })
	return s, t[DuetBase].share(whole), t[DuetHead].share(whole)
}

func shiftOfLatency(q float64, all []duetSlice) (s stats.Shift, base, head float64) {
	if q > mostPaired {
		all = cleanOnly(all)
	}
	a := responsesOf(all, q)
	whole := ones(len(all))
	base, head = a[DuetBase].quantile(whole), a[DuetHead].quantile(whole)
	if q <= mostPaired {
		return stats.NewSerial(pairedSlices(all, q)), base, head
	}
	return resample(len(all), a.worse), base, head
}

// A window has at least enoughInWindow ÷ (1 − q) operations of each side, so that its largest ones are
// about the quantile q.
const enoughInWindow = 0.75

// eachWindow is how much worse the quantile q of head is in each window. A window is the fewest
// consecutive slices with enough operations.
func eachWindow(q float64, all []duetSlice) (worse []float64) {
	all = cleanOnly(all)
	var window duetSlice
	var ops [2]int
	for _, s := range all {
		window = append(window, s...)
		for side := range ops {
			for k := range s {
				ops[side] += len(s[k][side].response)
			}
		}
		if float64(min(ops[DuetBase], ops[DuetHead]))*(1-q) >= enoughInWindow {
			worse = append(worse, responsesOf([]duetSlice{window}, q).worse([]int{1}))
			window, ops = nil, [2]int{}
		}
	}
	return worse
}

// cleanOnly removes the pairs in which the generator shaped the tail.
func cleanOnly(all []duetSlice) (some []duetSlice) {
	for _, s := range all {
		var kept duetSlice
		for k := range s {
			if s[k].clean() {
				kept = append(kept, s[k])
			}
		}
		if kept != nil {
			some = append(some, kept)
		}
	}
	return some
}

// resample is newResampled with the dependence between slices that the values of of show.
func resample(n int, of func(weight []int) float64) stats.Resampled {
	values := each(n, of)
	if !slices.ContainsFunc(values, func(v float64) bool { return v != 0 }) {
		return stats.Resampled{N: n, Draws: []float64{0}} // for example without errors: all draws are equal
	}
	return stats.NewResampled(n, stats.StretchOf(values), of)
}

func ones(n int) []int {
	w := make([]int, n)
	for i := range w {
		w[i] = 1
	}
	return w
}

// each returns the figure of each slice by itself.
func each(n int, of func(weight []int) float64) []float64 {
	w, list := make([]int, n), make([]float64, n)
	for i := range w {
		w[i] = 1
		list[i] = of(w)
		w[i] = 0
	}
	return list
}

// pairedSlices is how much worse head is in each slice: the Hodges–Lehmann centre of the differences
// of its pairs of blocks.
func pairedSlices(all []duetSlice, q float64) []float64 {
	list := make([]float64, len(all))
	for i, s := range all {
		d := make(stats.Paired, len(s))
		for k := range s {
			d[k] = math.Log(quantileOf(s[k][DuetHead].response, q) / quantileOf(s[k][DuetBase].response, q))
		}
		list[i] = d.Estimate()
	}
	return list
}

// quantileOf is the quantile of ascending values, interpolated: with ten values in a block, the
// nearest rank would move in steps of a tenth of the distribution.
func quantileOf(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return max(sorted[low]+(at-float64(low))*(sorted[high]-sorted[low]), 1e-3)
}

// responses are the response times of all slices, by side.
type responses [2]responsesSide

type responsesSide struct {
	q      float64
	values []answer // descending
	counts []int    // number of values of each slice
}

type answer struct {
	v     float64
	slice int
}

func responsesOf(all []duetSlice, q float64) *responses {
	var a responses
	for side := range a {
		s := responsesSide{q: q, counts: make([]int, len(all))}
		for i, slice := range all {
			for k := range slice {
				for _, v := range slice[k][side].response {
					s.values = append(s.values, answer{v, i})
				}
				s.counts[i] += len(slice[k][side].response)
			}
		}
		slices.SortFunc(s.values, func(x, y answer) int { return cmp.Compare(y.v, x.v) })
		a[side] = s
	}
	return &a
}

func (a *responses) worse(weight []int) float64 {
	return math.Log(a[DuetHead].quantile(weight) / a[DuetBase].quantile(weight))
}

// quantile is the nearest rank, counted from the top, because that is short for high percentiles.
func (s *responsesSide) quantile(weight []int) float64 {
	n := 0
	for i, w := range weight {
		n += w * s.counts[i]
	}
	above := n - int(math.Ceil(s.q*float64(n)))
	for _, v := range s.values {
		if above -= weight[v.slice]; above < 0 {
			return max(v.v, 1e-3)
		}
	}
	return 1e-3 // cannot happen: no operations
}

// duetTally are two counts of each slice, by side: such as failed operations and all operations.
type duetTally [2]tallySide

type tallySide struct{ of, all []float64 }

// failedOf and droppedOf are the failed operations of those that were sent, and the dropped ones of all.
func failedOf(b *duetBlock) (n, all float64) { return float64(b.failed), float64(len(b.response)) }

func droppedOf(b *duetBlock) (n, all float64) { return float64(b.dropped), float64(b.scheduled()) }

func tallySlices(list []duetSlice, of func(*duetBlock) (n, all float64)) *duetTally {
	var t duetTally
	for side := range t {
		t[side] = tallySide{make([]float64, len(list)), make([]float64, len(list))}
		for i, s := range list {
			for k := range s {
				n, all := of(&s[k][side])
				t[side].of[i] += n
				t[side].all[i] += all
			}
		}
	}
	return &t
}

func (t *tallySide) sums(weight []int) (of, all float64) {
	for i, w := range weight {
		of += float64(w) * t.of[i]
		all += float64(w) * t.all[i]
	}
	return of, all
}

func (t *tallySide) share(weight []int) float64 {
	of, all := t.sums(weight)
	return of / math.Max(all, 1)
}

// some is share, but counts at least half an operation, because zero has no logarithm.
func (t *tallySide) some(weight []int) float64 {
	of, all := t.sums(weight)
	return math.Max(of, 0.5) / math.Max(all, 1)
}
