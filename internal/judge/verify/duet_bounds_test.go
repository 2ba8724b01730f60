package verify

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/judge/stats"
)

// The order of blocks is that of SplitMix64, whose first numbers for 0 its authors published.
func TestDealIsSplitMix64(t *testing.T) {
	d, z := Deal{Block: 50 * ms}, uint64(0)
	for pair, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f, 0xf88bb8a8724c81ec, 0x1b39896a51a8749b, 0x53cb9f0c747ea2ea, 0x2c829abe1f4532e1, 0xc584133ac916ab3c} {
		if got := mixed(z); got != want {
			t.Errorf("number %d is %#x, want %#x", pair, got, want)
		}
		if first := int(want >> 63); d.Side(2*pair) != first || d.Side(2*pair+1) != 1-first {
			t.Errorf("pair %d is of %d and %d, want %d first", pair, d.Side(2*pair), d.Side(2*pair+1), first)
		}
		z += 0x9e3779b97f4a7c15
	}
}

// A side is named when the sign test rejects chance at 5 %, exactly up to 60 pairs.
func TestOneSidedBounds(t *testing.T) {
	for counts, want := range map[[2]int]string{
		{0, 0}: "", {5, 0}: "", {0, 5}: "", {6, 0}: "base", {0, 6}: "head", {7, 1}: "", {8, 1}: "base", {9, 2}: "", {2, 10}: "head",
		{30, 30}: "", {38, 22}: "", {39, 21}: "base", {38, 23}: "", {39, 22}: "base", {22, 39}: "head", {500, 500}: "",
	} {
		if got := (Disturbed{Base: counts[0], Head: counts[1]}).oneSided(); got != want {
			t.Errorf("%v: %q, want %q", counts, got, want)
		}
	}
}

func TestDisturbedAdvice(t *testing.T) {
	const odd = "chance does not explain why nearly all invalid runs are of head: it disturbs the generator, and the pairs that were kept may flatter it"
	for _, c := range []struct {
		d    Disturbed
		want []string
	}{
		{Disturbed{Most: 3}, nil},
		{Disturbed{Base: 1, Most: 3}, []string{"1 pair was disturbed, since a run was invalid: base 1, head 0; at most 3 are replaced"}},
		{Disturbed{Head: 6, BudgetS: 90}, []string{"6 pairs were disturbed, since a run was invalid: base 0, head 6; they are replaced within the budget of 1m30s", odd}},
		{Disturbed{Base: 2, Head: 2, BudgetS: 90, Most: 9}, []string{"4 pairs were disturbed, since a run was invalid: base 2, head 2; at most 9 are replaced"}},
	} {
		if got := c.d.advice(); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.d, got, c.want)
		}
	}
}

// Each look has half the slices of the next, as long as it can prove anything: from 9 slices on.
func TestDuetLooks(t *testing.T) {
	long, short := DuetParts{Block: BlockMost}, DuetParts{Block: 50 * ms}
	if a, b := long.perSlice(), short.perSlice(); a != 4 || b != 10 {
		t.Errorf("a slice has %d pairs of the longest blocks and %d of 50 ms, want 4 and 10", a, b)
	}
	for budget, want := range map[time.Duration][]int{17: {17}, 18: {9, 18}, 35: {17, 35}, 36: {9, 18, 36}, 100: {25, 50, 100}} {
		d, err := NewDuet(DuetParts{Block: 50 * ms}, budget*time.Second, "http", DefaultOptions())
		if err != nil || !slices.Equal(d.Looks, want) {
			t.Errorf("%d s: looks %v, %v, want %v", budget, d.Looks, err, want)
		}
	}
}

// A round whose servers started for it is one slice, if enough of its pairs count.
func TestRoundsAreSlices(t *testing.T) {
	d, err := NewDuet(DuetParts{50 * ms, 2 * time.Second}, 40*time.Second, "http", DefaultOptions())
	if err != nil || !slices.Equal(d.Looks, []int{10, 20}) {
		t.Fatalf("looks %v, %v, want those after 10 and 20 rounds", d.Looks, err)
	}
	for _, pairs := range []int{20, 3, 4, 20} {
		d.pairs = append(d.pairs, make([]duetPair, pairs)...)
		d.rounds = append(d.rounds, len(d.pairs))
	}
	var got []int
	for _, s := range d.slices() {
		got = append(got, len(s))
	}
	if !slices.Equal(got, []int{20, 4, 20}) {
		t.Errorf("slices of %v pairs, want 20, 4, 20", got)
	}
	if f := d.facts(d.slices()); !f.Fresh || f.Slices != 3 || f.PerEach != 20 || f.Seconds != 4.4 {
		t.Errorf("%+v", f)
	}
	if err := (Options{}).CheckDuet(DuetParts{50 * ms, 2 * time.Second}, 4*time.Second, "http"); err != nil {
		t.Error("options that are not valid have other faults: ", err)
	}
	if err := DefaultOptions().CheckDuet(DuetParts{50 * ms, 2 * time.Second}, 4*time.Second, "http"); err == nil || !strings.Contains(err.Error(), "gives 2 rounds") || !strings.Contains(err.Error(), "give 16s or more") {
		t.Error(err)
	}
}

// A round that is left out is counted by its side.
func TestLeaveOut(t *testing.T) {
	var d Duet
	d.LeaveOut(DuetHead)
	d.LeaveOut(DuetBase)
	d.LeaveOut(DuetHead)
	if c := d.Counts(); c != (DuetCounts{Rounds: 3, BadBase: 1, BadHead: 2}) {
		t.Errorf("%+v", c)
	}
}

func TestDuetCountsAdd(t *testing.T) {
	one := DuetCounts{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, Disturbed{Base: 13, Head: 14}}
	sum := one
	sum.add(one)
	if want := (DuetCounts{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, Disturbed{Base: 26, Head: 28}}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
}

// The least bounds of what a pair and a round count.
func TestDuetRoundBounds(t *testing.T) {
	var c DuetCounts
	if one := (duetBlock{response: []float64{5}, overlapped: 1}); !c.count(&duetPair{one, one}) || c.Pairs != 1 || c.Operations != 2 || c.Overlapped != 2 {
		t.Errorf("%+v", c)
	}
	if one := (duetBlock{dropped: 1}); c.count(&duetPair{one, {response: []float64{5}}}) || c.count(&duetPair{{response: []float64{5}}, one}) || c.EmptyPairs != 2 {
		t.Errorf("%+v", c)
	}
	all := roundOf(time.Second, func(int, int, *DuetOp) {})
	all.Guard = 10 * ms
	if _, c := all.pairs(); c.Rounds != 1 || c.Guarded != 20 || c.Operations != 80 {
		t.Errorf("%+v", c)
	}
	c = DuetCounts{}
	late, prompt := duetBlock{response: make([]float64, 10), late: 2}, duetBlock{response: make([]float64, 10), late: 1}
	if !c.late(&duetPair{late, prompt}) || !c.late(&duetPair{late, late}) || c.late(&duetPair{prompt, prompt}) || c != (DuetCounts{LateBase: 2, LateHead: 1, only: Disturbed{Base: 1}}) {
		t.Errorf("%+v", c)
	}
	guard := roundOf(2*time.Second, func(_, n int, op *DuetOp) {
		if op.Done = op.Due + 12*ms; op.Due == 0 {
			op.Done = op.Due + 20*ms // one of 100
		}
	}).GuardOf()
	if guard < 12*ms || guard > 13*ms {
		t.Errorf("the guard is %v, want the p99 of 12 ms", guard)
	}
	r := roundOf(time.Second, func(int, int, *DuetOp) {})
	r.Warmup = 500 * ms
	if got := r.PerBlock(); got != 9 { // 100 operations, 45 of 500 ms
		t.Errorf("%v operations in a block, want 9", got)
	}
	if u := (DuetRound{Deal: Deal{Block: 50 * ms}, End: 150 * ms, Ops: [2][]DuetOp{{{Due: 0, Done: 170 * ms}, {Due: 60 * ms, Done: 70 * ms}, {Due: 200 * ms, Done: 300 * ms}}}}).busy(DuetBase); !slices.Equal(u, busyUntil{170 * ms, 170 * ms, 170 * ms, 170 * ms}) {
		t.Errorf("busy until %v", u)
	}
}

// An operation overlaps that is due while the other side is busy with an earlier block.
func TestDuetOverlaps(t *testing.T) {
	d := Deal{50 * ms, 1}
	r := DuetRound{Deal: d, End: 200 * ms}
	for n := range 4 {
		due := time.Duration(n)*50*ms + 10*ms
		r.Ops[d.Side(n)] = append(r.Ops[d.Side(n)], DuetOp{Due: due, Done: due + 51*ms}, DuetOp{Due: due + 2*ms, Done: due + 3*ms})
	}
	want := uint64(0)
	for n := 1; n < 4; n++ {
		if d.Side(n) != d.Side(n-1) {
			want++ // only the first operation of the block
		}
	}
	if _, c := r.pairs(); c.Overlapped != want || want == 0 {
		t.Errorf("%d operations overlap, want %d", c.Overlapped, want)
	}
}

func TestPercentileOf(t *testing.T) {
	for name, want := range map[string]float64{"p50": 0.5, "p99.9": 0.999, "p0.5": 0.005, "p1": 0.01, "p99": 0.99} {
		if q, ok := percentileOf(name); !ok || math.Abs(q-want) > 1e-15 {
			t.Errorf("%s: %v, %v, want %v", name, q, ok, want)
		}
	}
	for _, name := range []string{"p0", "p100", "p100.5", "p-1", "50", "p", "max"} {
		if q, ok := percentileOf(name); ok {
			t.Errorf("%s is a percentile: %v", name, q)
		}
	}
}

// Quantiles of a block are interpolated; those of all blocks are the nearest rank, with weights.
func TestDuetQuantiles(t *testing.T) {
	for q, want := range map[float64]float64{0: 10, 0.25: 15, 0.5: 20, 0.75: 30, 1: 40} {
		if got := quantileOf([]float64{10, 20, 40}, q); got != want {
			t.Errorf("the quantile %v of 10, 20, 40 is %v, want %v", q, got, want)
		}
	}
	if got := quantileOf([]float64{0}, 0.5); got != 1e-3 {
		t.Errorf("the quantile of 0 is %v", got)
	}
	two := responsesOf([]duetSlice{{{{response: []float64{8, 10}}, {response: []float64{0}}}}, {{{response: []float64{7, 9}}, {response: []float64{0}}}}}, 0.5)
	for weight, want := range map[[2]int]float64{{1, 1}: 8, {2, 0}: 8, {0, 1}: 7, {1, 3}: 8, {3, 1}: 8, {0, 0}: 1e-3} {
		if got := two[DuetBase].quantile(weight[:]); got != want {
			t.Errorf("the median with the weights %v is %v, want %v", weight, got, want)
		}
	}
	if got := two[DuetHead].quantile([]int{1, 1}); got != 1e-3 {
		t.Errorf("the median of 0 is %v", got)
	}
}

// Shares of counts, of at least one operation; a logarithm counts at least half an operation.
func TestDuetShares(t *testing.T) {
	list := []duetSlice{{{{failed: 1, dropped: 4}, {}}, {{failed: 2, dropped: 2}, {}}}, {{{failed: 0, dropped: 10}, {}}}}
	counts := tallySlices(list, func(b *duetBlock) (float64, float64) { return float64(b.failed), float64(b.dropped) })
	for weight, want := range map[[2]int][2]float64{{1, 0}: {0.5, 0.5}, {0, 1}: {0, 0.05}, {1, 1}: {3.0 / 16, 3.0 / 16}, {0, 0}: {0, 0.5}} {
		if share, some := counts[DuetBase].share(weight[:]), counts[DuetBase].some(weight[:]); share != want[0] || some != want[1] {
			t.Errorf("weights %v: %v, %v, want %v", weight, share, some, want)
		}
	}
	one := tallySide{of: []float64{1}, all: []float64{1}}
	if one.share([]int{1}) != 1 || one.some([]int{1}) != 1 {
		t.Errorf("1 of 1: %v, %v", one.share([]int{1}), one.some([]int{1}))
	}
	if got := each(2, func(w []int) float64 { return float64(10*w[0] + w[1]) }); !slices.Equal(got, []float64{10, 1}) {
		t.Errorf("the figures of each slice are %v", got)
	}
	if low, high := resample(20, func([]int) float64 { return 0 }).Interval(0.1); low != 0 || high != 0 {
		t.Errorf("nothing but 0 lies from %v to %v", low, high)
	}
}

// A window of p99 has 75 operations of each side, and what is left at the end is none.
func TestDuetWindows(t *testing.T) {
	slice := func(base, head int) duetSlice {
		return duetSlice{{{response: slices.Repeat([]float64{10}, base)}, {response: slices.Repeat([]float64{20}, head)}}}
	}
	for _, c := range []struct {
		list []duetSlice
		want int
	}{
		{[]duetSlice{slice(74, 99)}, 0}, {[]duetSlice{slice(75, 75)}, 1}, {[]duetSlice{slice(40, 99), slice(35, 1), slice(75, 75), slice(40, 40)}, 2},
	} {
		got := eachWindow(0.99, c.list)
		if len(got) != c.want || slices.ContainsFunc(got, func(v float64) bool { return v != math.Log(2) }) {
			t.Errorf("%d slices: %v, want %d times log 2", len(c.list), got, c.want)
		}
	}
}

// apart is a gate whose estimate lies so far above the tolerance.
func apart(metric string, by, sd float64) gate {
	return gate{Finding: Finding{Metric: metric}, s: known{at: 0.05 + by}, bound: 0.05, sd: sd}
}

func duetOf(looks ...int) *Duet {
	o := DefaultOptions()
	o.Metrics = []string{"p50", "p99", "errors", "rate"}
	return &Duet{Options: o, DuetParts: DuetParts{Block: 50 * ms}, Looks: looks}
}

// What a duet needs follows from the distance and the spread, and is never less than the least number
// that can prove anything.
func TestDuetNeeds(t *testing.T) {
	d := duetOf(9, 18, 36)
	const alpha = 0.05 / 3 / 4
	power := func(ratio, power float64) int { return byPower(ratio*ratio, alpha, 2, power) }
	for name, c := range map[string]struct {
		g    gate
		want need
	}{
		"nothing varies":          {apart("p50", 0.1, 0), need{n: 9, likely: 9}},
		"nothing is known":        {apart("p50", 0.1, math.NaN()), need{n: mostNeeded, likely: mostNeeded}},
		"endless":                 {apart("p50", 0.1, math.Inf(1)), need{n: mostNeeded, likely: mostNeeded, unknown: true}},
		"at the tolerance":        {apart("p50", 0, 0), need{n: mostNeeded, likely: mostNeeded}},
		"far":                     {apart("p50", 10, 0.1), need{n: 9, likely: 9}},
		"near":                    {apart("p50", 0.1, 0.2), need{n: power(0.2/(0.1-0.025), surePower), likely: power(2, needPower)}},
		"below":                   {apart("p50", -0.1, 0.2), need{n: power(0.2/(0.1-0.025), surePower), likely: power(2, needPower)}},
		"less than an error away": {apart("p50", 0.01, 0.2), need{n: power(4, surePower), likely: power(4, needPower), unknown: true}},
	} {
		if got := d.need(c.g, 16); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	near, nearer, below := apart("p50", 0.1, 0.2), apart("p99", 0.05, 0.2), apart("rate", -0.04, 0.2)
	for name, c := range map[string]struct {
		gates []gate
		want  need
	}{
		"the largest":            {[]gate{below, apart("errors", -10, 0.2)}, d.need(below, 16)},
		"the clearest":           {[]gate{nearer, near, below}, d.need(near, 16)},
		"the clearest is first":  {[]gate{near, nearer, below}, d.need(near, 16)},
		"the clearest is faster": {[]gate{nearer, apart("errors", -10, 0.2)}, d.need(nearer, 16)},
		"none":                   {nil, need{}},
	} {
		if got := d.needed(c.gates, 16); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A forecast is a look, in whole seconds of load. There is none before the first look, and none if the
// slices cannot tell.
func TestDuetSaysWhatItNeeds(t *testing.T) {
	d := duetOf(9, 18, 36)
	for _, c := range []struct {
		have int
		g    gate
		want string
	}{
		{4, apart("p50", 0.1, 0), ""},
		{8, apart("p50", 0.1, 0), ""},
		{9, apart("p50", 0.1, 0), "18s of load is needed"},
		{17, apart("p50", 0.1, 0), "18s of load is needed"},
		{16, apart("p50", 0.1, 0.12), "likely 36s of load is needed, perhaps 47s"},
		{16, apart("p50", 0.1, 0.14), "likely 40s of load is needed, perhaps 1m6s, more than --budget"},
		{16, apart("p50", 0.01, 0.2), ""},
		{36, apart("p50", 0.1, 0), "37s of load is needed, more than --budget"},
		{35, apart("p50", 0.1, 0), "36s of load is needed"},
		{16, apart("p50", 0.1, math.NaN()), ""},
		{900, apart("p50", 0.1, 0.72), "likely 15m38s of load is needed, but it may also be more than 16m39s, more than --budget"},
	} {
		d.said = estimate{}
		if got := d.forecast([]gate{c.g}, c.have); got != c.want {
			t.Errorf("%d slices: %s, want %s", c.have, got, c.want)
		}
	}
	d.said = estimate{}
	for _, c := range []struct { // one duet
		have int
		g    gate
		want string
	}{
		{9, apart("p50", 0.1, math.NaN()), ""},
		{10, apart("p50", 0.01, 0.2), ""},
		{16, apart("p50", 0.1, 0.14), "likely 40s of load is needed, perhaps 1m6s, more than --budget"},
		{17, apart("p50", 0.1, 0.2), ""}, // far more: no word against the one before
		{18, apart("p50", 0.1, 0.15), "likely 45s of load is needed, perhaps 1m6s, more than --budget"},
		{19, apart("p50", 0.1, 0.14), "likely 45s of load is needed, perhaps 1m4s, more than --budget"},
		{20, apart("p50", 0.1, 0), ""},    // far less
		{65, apart("p50", 0.1, 0.14), ""}, // all of that was not enough
	} {
		if got := d.forecast([]gate{c.g}, c.have); got != c.want {
			t.Errorf("then %d slices: %s, want %s", c.have, got, c.want)
		}
	}
	if got := (&Duet{DuetParts: DuetParts{Block: 125 * ms}}).seconds(1); got != time.Second {
		t.Errorf("a slice of 125 ms is told as %v", got)
	}
	if got := (&Duet{DuetParts: DuetParts{Block: 50*ms + 1}}).seconds(1); got != time.Second { // 9 pairs: 0.9 s
		t.Errorf("a slice of 50 ms is told as %v", got)
	}
}

// A duet ends early only if no metric may become regressed, and names those that may not become ok.
func TestDuetStuckBounds(t *testing.T) {
	d := duetOf(9, 18, 36)
	muddled := apart("p99", 10, 1)
	muddled.muddled = true
	for name, c := range map[string]struct {
		gates []gate
		want  string
	}{
		"it may be worse":     {[]gate{apart("p50", 0.1, 0.2)}, ""},
		"it may be as good":   {[]gate{apart("p50", -0.1, 0.2)}, ""},
		"it varies too much":  {[]gate{apart("p50", -0.001, 0.2)}, "p50"},
		"errors and spread":   {[]gate{apart("p50", -0.001, 0.2), muddled, apart("rate", -1, 0.2)}, "p50, p99"},
		"nothing varies":      {[]gate{apart("p50", -0.001, 0)}, ""},
		"the spread is NaN":   {[]gate{apart("p50", -0.001, math.NaN())}, ""},
		"the spread is +Inf":  {[]gate{apart("p50", -0.001, math.Inf(1))}, ""},
		"just not worse":      {[]gate{apart("p50", 0.025, 0.2)}, "p50"},
		"just perhaps worse":  {[]gate{apart("p50", 0.0256, 0.2)}, ""},
		"just not as good":    {[]gate{apart("p50", -0.025, 0.2)}, "p50"},
		"just perhaps better": {[]gate{apart("p50", -0.0256, 0.2)}, ""},
	} {
		if got := d.stuck(c.gates, 18); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What is advised has the counts, from their bounds on.
func TestDuetAdviceBounds(t *testing.T) {
	for _, c := range []struct {
		counts DuetCounts
		want   []string // beginnings
	}{
		{DuetCounts{}, nil},
		{DuetCounts{LatePairs: 1, Pairs: 5, EmptyPairs: 0, LateBase: 1, only: Disturbed{Base: 1}}, []string{"1 pair of blocks was left out of 6, since the generator was late in a block of base (1) or of head (0)"}},
		{DuetCounts{LatePairs: 6, Pairs: 5, EmptyPairs: 2, LateHead: 6, only: Disturbed{Head: 6}}, []string{
			"6 pairs of blocks were left out of 13, since the generator was late in a block of base (0) or of head (6)",
			"chance does not explain why the generator was late mostly in blocks of head:",
			"2 pairs of blocks were left out, since no answer came to a block; raise --block",
		}},
		{DuetCounts{only: Disturbed{Head: 6}}, nil},
		{DuetCounts{BadHead: 1}, []string{"1 round was left out, since a run was invalid: base 0, head 1"}},
		{DuetCounts{BadBase: 2, BadHead: 2}, []string{"4 rounds were left out, since a run was invalid: base 2, head 2"}},
		{DuetCounts{EmptyPairs: 1}, []string{"1 pair of blocks was left out, since no answer came to a block; raise --block"}},
		{DuetCounts{Operations: 100, Overlapped: 10}, nil},
		{DuetCounts{Operations: 100, Overlapped: 11}, []string{"11 % of the operations began while the other side was still busy,"}},
		{DuetCounts{Operations: 1, Overlapped: 1}, []string{"100 % of the operations began while"}},
	} {
		got := c.counts.advice()
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%+v: %q, want %q", c.counts, got, c.want)
		}
	}
	for needed, want := range map[int][]string{0: {}, 20: {"p50: perhaps 20s of load is needed; repeat with --budget 20s"}, mostNeeded: {"p50: no reasonable time would be enough, because"}} {
		got := duetOf(9).advice(&Comparison{Verdict: Inconclusive, Findings: []Finding{{Metric: "p50", Verdict: Inconclusive, Needed: needed}, {Metric: "p99", Verdict: OK}}}, "head")
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%d needed: %q, want %q", needed, got, want)
		}
	}
	blind := duetOf(9).advice(&Comparison{Findings: []Finding{{Metric: "p50", Needed: 95, Unknown: true}}}, "head")
	if want := []string{"p50: this load cannot tell how much is needed, and it may be more than 1m35s; quieten"}; !slices.EqualFunc(blind, want, strings.HasPrefix) {
		t.Errorf("%q, want %q", blind, want)
	}
	got := duetOf(9).advice(&Comparison{Base: Side{Name: "base"}, Verdict: Regressed, Findings: []Finding{{Metric: "p50", Verdict: Regressed}, {Metric: "p99", Verdict: OK}}}, "head")
	if !slices.Equal(got, []string{"base outperforms head: p50"}) {
		t.Errorf("%q", got)
	}
}

// A duet gives up after 6 s if less than a tenth of its pairs of blocks count.
func TestDuetGiveUpBounds(t *testing.T) {
	for _, c := range []struct {
		counts DuetCounts
		spent  time.Duration
		ends   bool
	}{
		{DuetCounts{Pairs: 9, LatePairs: 90, EmptyPairs: 1}, 6 * time.Second, true},
		{DuetCounts{Pairs: 9, LatePairs: 90, EmptyPairs: 1}, 6*time.Second - 1, false},
		{DuetCounts{Pairs: 10, LatePairs: 88, EmptyPairs: 2}, 6 * time.Second, false},
	} {
		if got := (&Duet{counts: c.counts}).GiveUp(c.spent); (got != "") != c.ends || c.ends && !strings.HasPrefix(got, "the generator was late in 90 of 100 pairs of blocks (base 0, head 0)") {
			t.Errorf("%+v after %v: %q", c.counts, c.spent, got)
		}
	}
}

// The spread of slices is that of their mean, from whatever evidence.
func TestSpreadOf(t *testing.T) {
	for name, c := range map[string]struct {
		s    stats.Shift
		want float64
	}{
		"resampled":   {stats.Resampled{Se: 0.5, N: 16}, 2},
		"a tail":      {stats.Tail{Pooled: stats.Resampled{Se: 0.25, N: 16, Draws: []float64{0}}, Each: stats.Serial{Paired: stats.Paired{-1, -1.1, -1.2, -1.3, -1.4, -1.5, -1.6, -1.7}}}, 1},
		"an interval": {between{-1, 2}, 6},
	} {
		if got := spreadOf(c.s, 16); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for _, s := range []between{{math.Inf(-1), 1}, {1, math.Inf(1)}} {
		if got := spreadOf(s, 16); !math.IsNaN(got) {
			t.Errorf("%v: %v", s, got)
		}
	}
}

// between is a shift whose interval of about one standard error is given.
type between struct{ low, high float64 }

func (between) Estimate() float64 { return 0 }
func (between) Least() float64    { return 0 }
func (between) P(float64) float64 { return 1 }
func (b between) Interval(alpha float64) (low, high float64) {
	if alpha != 0.32 {
		return 0, 0
	}
	return b.low, b.high
}

// Only high percentiles leave out the pairs in which the generator was a little late.
func TestDuetCleanPairs(t *testing.T) {
	block := func(v float64, late int) duetBlock {
		return duetBlock{response: slices.Repeat([]float64{v}, 100), late: late}
	}
	all := []duetSlice{{{block(10, 0), block(10, 0)}, {block(90, 2), block(90, 2)}}, {{block(10, 1), block(10, 0)}, {block(90, 2), block(90, 0)}}}
	for q, want := range map[float64]float64{0.75: 90, 0.76: 10} {
		if _, base, head := shiftOfLatency(q, all); base != want || head != want {
			t.Errorf("the quantile %v is %v and %v, want %v", q, base, head, want)
		}
	}
}
