package verify

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Sided is the method of a duet: both sides take turns, block by block, within one run.
const Sided Method = "duet"

// The bounds of a duet's block. In a shorter block, the guard would be most of it. In a longer block,
// the machine changes between the two blocks of a pair.
const (
	BlockLeast = 20 * time.Millisecond
	BlockMost  = 200 * time.Millisecond
)

// duetLooks is the largest number of looks of a duet. Each look has half the slices of the next.
const duetLooks = 3

// Duet is the plan of a duet and its results so far.
type Duet struct {
	Options Options
	DuetParts
	Guard time.Duration
	Looks []int // numbers of slices, ascending; they share the error probability as Pairs.Looks do

	runs   [2][]stored.Run // whole rounds, for the costs
	pairs  []duetPair
	rounds []int // number of pairs after each round
	counts DuetCounts
	looked int
	said   estimate
}

// DuetFacts describe a duet in its judgement.
type DuetFacts struct {
	BlockMS float64 `json:"block_ms"`
	GuardMS float64 `json:"guard_ms"` // at the start of each block; its operations are not counted
	Slices  int     `json:"slices"`
	PerEach int     `json:"pairs_per_slice"`        // at most, where a slice is a round
	Seconds float64 `json:"load_s"`                 // counted load of both sides, in complete slices
	Fresh   bool    `json:"fresh_rounds,omitempty"` // each slice is a round, whose servers started for it
	DuetCounts
}

// NewDuet plans a duet that counts at most budget of load.
func NewDuet(parts DuetParts, budget time.Duration, kind string, o Options) (*Duet, error) {
	if err := o.CheckDuet(parts, budget, kind); err != nil {
		return nil, err
	}
	o.Metrics = o.gated(kind)
	d := &Duet{Options: o, DuetParts: parts, Looks: []int{parts.slicesIn(budget)}}
	for len(d.Looks) < duetLooks {
		earlier := d.Looks[0] / 2
		if earlier < leastPairs((1-o.Confidence)/float64((len(d.Looks)+1)*len(o.Metrics))) {
			break
		}
		d.Looks = slices.Insert(d.Looks, 0, earlier)
	}
	return d, nil
}

// CheckDuet reports why a duet is impossible with these options. If Validate finds faults, it reports
// nothing.
func (o Options) CheckDuet(parts DuetParts, budget time.Duration, kind string) error {
	if o.Validate() != nil {
		return nil
	}
	var faults []error
	names := o.gated(kind)
	for _, name := range names {
		if _, _, ok := o.duetLatency(name); !ok && name != "errors" && name != "rate" {
			faults = append(faults, fmt.Errorf("a duet cannot gate %s: it knows percentiles of %s such as p99, errors and rate; use --pairs for the others", name, strings.Join(append([]string{"the response time"}, o.Rows...), ", ")))
		}
	}
	if block := parts.Block; block < BlockLeast || block > BlockMost {
		faults = append(faults, fmt.Errorf("the block %v is not from %v to %v; give one such as 50ms", block, BlockLeast, BlockMost))
		return errors.Join(faults...)
	}
	least := leastPairs((1 - o.Confidence) / float64(len(names)))
	if n := parts.slicesIn(budget); n < least {
		faults = append(faults, fmt.Errorf("a budget of %v gives %s, which can prove nothing about %s at a confidence of %s %%: give %v or more",
			budget, count(n, parts.word(), parts.word()+"s"), count(len(names), "metric", "metrics"), stored.Decimal(o.Confidence*100), parts.load(least)))
	}
	return errors.Join(faults...)
}

// LoadOf is the load that so many slices contain.
func (d *Duet) LoadOf(slices int) time.Duration { return d.load(slices) }

// Add adds the pairs of blocks of a round.
func (d *Duet) Add(r DuetRound) {
	kept, c := r.pairs()
	d.pairs = append(d.pairs, kept...)
	d.rounds = append(d.rounds, len(d.pairs))
	d.counts.add(c)
}

// AddRuns adds what the sides of a round cost.
func (d *Duet) AddRuns(base, head stored.Run) {
	d.runs[DuetBase], d.runs[DuetHead] = append(d.runs[DuetBase], base), append(d.runs[DuetHead], head)
}

// LeaveOut counts a round that is not added because the run of that side was invalid.
func (d *Duet) LeaveOut(side int) {
	d.counts.Rounds++
	if side == DuetHead {
		d.counts.BadHead++
	} else {
		d.counts.BadBase++
	}
}

// slices returns the complete slices so far.
func (d *Duet) slices() (all []duetSlice) {
	if d.Round > 0 {
		return d.wholeRounds()
	}
	n := d.perSlice()
	for i := n; i <= len(d.pairs); i += n {
		all = append(all, d.pairs[i-n:i])
	}
	return all
}

// wholeRounds returns the rounds of which enough pairs count.
func (d *Duet) wholeRounds() (all []duetSlice) {
	from := 0
	for _, to := range d.rounds {
		if to-from >= min(slicePairs, d.perSlice()) {
			all = append(all, d.pairs[from:to])
		}
		from = to
	}
	return all
}

// Load is the counted load so far.
func (d *Duet) Load() time.Duration { return time.Duration(len(d.pairs)) * 2 * d.Block }

// Counts returns the counts of all rounds so far.
func (d *Duet) Counts() DuetCounts { return d.counts }

// Next says how to continue after a round. last: no other round can follow.
func (d *Duet) Next(last bool) Step {
	all := d.slices()
	due := d.due(len(all))
	last = last || due == len(d.Looks)
	if len(all) < 2 {
		return Step{Forecast: d.forecast(nil, len(all))}
	}
	gates := d.gates(all)
	if due <= d.looked && !last {
		return Step{Forecast: d.forecast(gates, len(all))}
	}
	d.looked = due
	return d.look(gates, all, last)
}

// due is the number of looks for which have slices are enough.
func (d *Duet) due(have int) (n int) {
	for n < len(d.Looks) && d.Looks[n] <= have {
		n++
	}
	return n
}

// look judges the slices so far, and decides whether to give up.
func (d *Duet) look(gates []gate, all []duetSlice, last bool) Step {
	j := d.judge(gates, all)
	s := Step{Judgement: &j, Done: last || j.Verdict != Inconclusive}
	if s.Done {
		return s
	}
	s.Forecast = d.forecast(gates, len(all))
	if stuck := d.stuck(gates, len(all)); stuck != "" {
		s.Done, j.Futile = true, true
		j.Advice = append([]string{fmt.Sprintf("ended after %v of load, because even the %v of --budget would most probably not conclude about %s",
			d.seconds(len(all)), d.seconds(d.Looks[len(d.Looks)-1]), stuck)}, j.Advice...)
	}
	return s
}

// share is the error probability of each look.
func (d *Duet) share() float64 { return (1 - d.Options.Confidence) / float64(len(d.Looks)) }

func (d *Duet) gates(all []duetSlice) (gates []gate) {
	for _, name := range d.Options.Metrics {
		gates = append(gates, d.gate(name, all))
	}
	return gates
}

func (d *Duet) gate(name string, all []duetSlice) gate {
	g := gateOf(name, d.Options, false)
	row, q, latency := d.Options.duetLatency(name)
	if row >= 0 {
		all = ofRow(all, row)
	}
	g.s, g.Base, g.Head = shiftOfSlices(name, q, latency, all)
	if latency && q > mostPaired && len(all) > 1 {
		if worse := eachWindow(q, all); len(worse) > 1 {
			g.s = stats.Tail{Pooled: g.s.(stats.Resampled), Each: stats.NewSerial(worse), Bound: g.bound}
		}
	}
	if name == "rate" {
		per := d.offered(all)
		g.Base, g.Head = g.Base*per[DuetBase], g.Head*per[DuetHead]
	}
	g.sd = spreadOf(g.s, len(all))
	return g
}

// offered is how many operations per second each side got during its blocks.
func (d *Duet) offered(all []duetSlice) (per [2]float64) {
	var pairs float64
	for _, s := range all {
		for k := range s {
			pairs++
			for side := range per {
				per[side] += float64(s[k][side].scheduled() + s[k][side].guarded)
			}
		}
	}
	for side := range per {
		per[side] /= pairs * d.Block.Seconds()
	}
	return per
}

// spreadOf is the standard deviation of n values whose mean has the standard error of s.
func spreadOf(s stats.Shift, n int) float64 {
	if t, ok := s.(stats.Tail); ok {
		s = t.Lead()
	}
	if p, ok := s.(stats.Resampled); ok {
		return p.Se * math.Sqrt(float64(n))
	}
	low, high := s.Interval(0.32) // about ± one standard error
	if math.IsInf(low, 0) || math.IsInf(high, 0) {
		return math.NaN()
	}
	return (high - low) / 2 * math.Sqrt(float64(n))
}

// judge judges slices as Verify judges runs.
func (d *Duet) judge(gates []gate, all []duetSlice) Judgement {
	o := d.Options
	base, head := o.names("base", "head")
	j := Judgement{
		Tolerance: o.Tolerance, ErrorTolerance: o.ErrorTolerance, Confidence: o.Confidence, Look: d.looked, Looks: len(d.Looks),
		Head: Side{Name: head, Runs: []string{}}, Duet: d.facts(all), Advice: []string{},
	}
	decide(gates, d.share())
	reasons := muddleDuet(gates, all, o)
	c := Comparison{Base: Side{Name: base, Runs: []string{}}, Method: Sided}
	var words []Word
	for i := range gates {
		g := &gates[i]
		if g.Verdict == Inconclusive && !g.muddled {
			need := d.need(*g, len(all))
			g.Needed, g.Unknown = max(len(all)+1, need.n), need.unknown
		}
		c.Findings, words = append(c.Findings, g.show()), append(words, g.Verdict)
	}
	c.weigh(gates, match{base: d.runs[DuetBase], head: d.runs[DuetHead], inPairs: true}, o, d.share())
	c.Verdict = overall(words)
	j.Verdict, j.Comparisons = c.Verdict, []Comparison{c}
	j.Advice = append(d.advice(&c, head), reasons...)
	for side := range j.Reports {
		j.Reports[side] = []*takt.Report{{Latency: map[string]takt.Latency{takt.LatencyResponse: {HDR: histogramOf(all, side).Encode()}}}}
	}
	return j
}

// histogramOf has the response times of a side that count.
func histogramOf(all []duetSlice, side int) *hist.Histogram {
	h := hist.New()
	for _, s := range all {
		for k := range s {
			for _, us := range s[k][side].response {
				h.Record(time.Duration(us * 1e3))
			}
		}
	}
	return h
}

func (d *Duet) facts(all []duetSlice) *DuetFacts {
	pairs := 0
	for _, s := range all {
		pairs += len(s)
	}
	ms := func(t time.Duration) float64 { return float64(t) / float64(time.Millisecond) }
	return &DuetFacts{
		BlockMS: ms(d.Block), GuardMS: ms(d.Guard), Slices: len(all), PerEach: d.perSlice(),
		Seconds: (time.Duration(pairs) * 2 * d.Block).Seconds(), Fresh: d.Round > 0, DuetCounts: d.counts,
	}
}

// muddleDuet makes latencies inconclusive that errors or drops may have shaped.
func muddleDuet(gates []gate, all []duetSlice, o Options) (reasons []string) {
	baseName, headName := o.names("base", "head")
	sides := standingsOf(all)
	return muddleBy(gates, sides[DuetBase].Apart(sides[DuetHead], baseName, headName, "p99", o.ErrorTolerance))
}

// standingsOf are the standings of both sides. Both have the load of one schedule.
func standingsOf(all []duetSlice) (sides [2]stored.Standing) {
	whole := ones(len(all))
	errors, drops := tallySlices(all, failedOf), tallySlices(all, droppedOf)
	for side := range sides {
		sides[side] = stored.Standing{Errors: 100 * errors[side].share(whole), Dropped: 100 * drops[side].share(whole)}
	}
	return sides
}

// DuetRunOf is one side's report as a duet sees it. A run that is invalid only because the generator
// was late counts as valid: Add leaves out the pairs of blocks in which the generator was late.
func DuetRunOf(r *takt.Report) stored.Run {
	if verdict.ByLateness(r) {
		valid := *r
		valid.Verdict = takt.Valid
		r = &valid
	}
	return stored.RunOf(r)
}
