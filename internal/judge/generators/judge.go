package generators

import (
	"math"
	"slices"

	"github.com/taktload/takt/internal/judge/stats"
)

// The tolerances. They are wide, so that a busy machine and a client in a slow language are not called wrong:
// the lies that trials find are tens of percent, or hundreds of ms.
const (
	nearShare   = 0.10 // of the truth
	nearTime    = 5.0  // ms, of percentiles: the client's own time, and whole ms
	nearWorst   = 25.0 // ms, of the maximum: one pause of the machine
	nearRate    = 0.05 // of rates
	fullLoad    = 0.99 // share of the due requests that must arrive
	busyLoad    = 0.95 // or, on a busy machine, may be less for this reason
	moreLoad    = 1.02 // and may arrive
	nearErrors  = 0.05 // of the broken requests
	lateTarget  = 5.0  // ms: a target that is later at p99 shows a busy machine
	spacingTime = 10.0 // ms, p99 of arrivals after the schedule
	busy        = 2    // times the target's worst lateness may be the machine's part of a figure
)

// Judge fills in the cells of a trial with runs.
func Judge(t *Trial) {
	j := judging{t: t, runs: t.quiet()}
	j.load()
	j.counts()
	for _, name := range []string{P50, P90, P99, Max} {
		j.latency(name)
	}
	j.included()
	if t.Weak {
		j.words()
	}
	slices.SortStableFunc(t.Cells, func(a, b Cell) int {
		return slices.Index(Figures(), a.Figure) - slices.Index(Figures(), b.Figure)
	})
}

// judging is the judgement of one trial.
type judging struct {
	t    *Trial
	runs []TrialRun // those that count
}

// median is that of the runs for which of knows a figure.
func (j judging) median(of func(r *TrialRun) (float64, bool)) (float64, bool) {
	var list []float64
	for i := range j.runs {
		if v, ok := of(&j.runs[i]); ok && !math.IsNaN(v) {
			list = append(list, v)
		}
	}
	if list == nil {
		return 0, false
	}
	return stats.MedianOf(list), true
}

// recorded is a median of what every run has.
func (j judging) recorded(of func(r *TrialRun) float64) float64 {
	v, _ := j.median(func(r *TrialRun) (float64, bool) { return of(r), true })
	return v
}

// said is the median of a figure of the generator.
func (j judging) said(name string) (float64, bool) {
	return j.median(func(r *TrialRun) (float64, bool) { v, ok := r.Said.Figures[name]; return v, ok })
}

// most reports whether more than half of the runs are so.
func (j judging) most(is func(r *TrialRun) bool) bool {
	n := 0
	for i := range j.runs {
		if is(&j.runs[i]) {
			n++
		}
	}
	return 2*n > len(j.runs)
}

// invalid: the generator itself calls the run invalid, or says how late it sent.
func (j judging) invalid() bool {
	return j.most(func(r *TrialRun) bool {
		return r.Said.Invalid || r.Served.LateP99 > spacingTime && r.Said.Figures[Late] > r.Served.LateP99/2
	})
}

// warned: the generator says by any word that something is wrong.
func (j judging) warned() bool {
	return j.invalid() || j.most(func(r *TrialRun) bool {
		return len(r.Said.Words) > 0 || r.Failed || r.Said.Figures[Dropped] > 0
	})
}

// lateness is how late the target itself was, in ms: p99 and the worst.
func (j judging) lateness() (p99, worst float64) {
	return j.recorded(func(r *TrialRun) float64 { return r.Served.TargetP99 }), j.recorded(func(r *TrialRun) float64 { return r.Served.TargetWorst })
}

// unclear reports whether a figure that is above the truth by off may be so because the machine was busy: then the
// target was late itself. What makes a figure smaller is not the machine.
func (j judging) unclear(off, tolerance float64) bool {
	p99, worst := j.lateness()
	return p99 > lateTarget && off > 0 && off <= tolerance+busy*worst
}

// quiet are the runs whose target was not late, if there are any.
func (t *Trial) quiet() []TrialRun {
	var list []TrialRun
	for _, r := range t.Runs {
		if r.Served.TargetP99 <= lateTarget {
			list = append(list, r)
		}
	}
	if list == nil {
		return t.Runs
	}
	return list
}

func (j judging) add(figure string, state State, said, truth float64) {
	j.t.Cells = append(j.t.Cells, Cell{Figure: figure, State: state, Said: &said, True: &truth})
}

// judge adds a cell of a figure that is near the truth or not.
func (j judging) judge(figure string, near bool, said, truth float64) {
	switch {
	case near:
		j.add(figure, Right, said, truth)
	case j.invalid():
		j.add(figure, Admitted, said, truth)
	default:
		j.add(figure, Wrong, said, truth)
	}
}

// notPrinted adds a cell of a figure that the generator does not print.
func (j judging) notPrinted(figure string, truth float64) {
	j.t.Cells = append(j.t.Cells, Cell{Figure: figure, State: NotPrinted, True: &truth})
}

// load judges whether the load arrived that was asked for, and when.
func (j judging) load() {
	due := j.recorded(func(r *TrialRun) float64 { return r.Felt.Due })
	sent := j.recorded(func(r *TrialRun) float64 { return r.Served.Requests - r.Said.Figures[Retried] })
	dropped, _ := j.said(Dropped)
	missing := due - sent
	own, _ := j.lateness()
	switch {
	case missing > (1-fullLoad)*due && missing <= (1-busyLoad)*due && own > lateTarget:
		j.add(Sent, Unclear, sent, due)
	case sent >= fullLoad*due && sent <= moreLoad*due+float64(j.t.Connections):
		j.add(Sent, Right, sent, due)
	case missing > 0 && (j.warned() && j.t.Weak || j.invalid() || math.Abs(missing-dropped) <= nearShare*missing+float64(j.t.Connections) && dropped > 0):
		j.add(Sent, Admitted, sent, due)
	case missing > 0:
		j.add(Sent, Silent, sent, due)
	default:
		j.judge(Sent, false, sent, due)
	}
	late := j.recorded(func(r *TrialRun) float64 { return r.Served.LateP99 })
	j.judgeTime(Spacing, late, 0, spacingTime+own)
}

// included pardons late arrivals that the latencies contain: the generator waited for a connection, and its p99
// has the wait.
func (j judging) included() {
	spacing, p99 := j.t.Cell(Spacing), j.t.Cell(P99)
	if spacing.State != Wrong || p99.Said == nil || *p99.Said < (1-nearShare)**spacing.Said {
		return
	}
	for _, name := range []string{P50, P90, P99} {
		if j.t.Cell(name).State != Right {
			return
		}
	}
	if j.t.Cell(Sent).State == Right {
		spacing.State = Admitted
	}
}

// counts judges the figures that the record of the target has.
func (j judging) counts() {
	open := float64(j.t.Connections) // may be open at the end, or be used before the start
	answered := j.recorded(func(r *TrialRun) float64 { return r.Served.Answered })
	if said, ok := j.said(Answered); ok {
		j.judge(Answered, math.Abs(said-answered) <= open, said, answered)
	} else {
		j.notPrinted(Answered, answered)
	}
	broken := j.recorded(func(r *TrialRun) float64 { return r.Served.Broken })
	if said, ok := j.said(Errors); ok {
		again, _ := j.said(Retried)
		said += again
		near := math.Abs(said-broken) <= max(1, nearErrors*broken)
		if !near && said < broken/2 && !j.warned() {
			j.add(Errors, Silent, said, broken)
		} else {
			j.judge(Errors, near, said, broken)
		}
	} else {
		j.notPrinted(Errors, broken)
	}
	j.rate()
}

// rate judges the rate that was said: it may be that of the arrivals, or that of answers in the time of the
// schedule.
func (j judging) rate() {
	arrived := j.recorded(func(r *TrialRun) float64 { return r.Served.Rate })
	said, ok := j.said(Rate)
	if !ok {
		j.notPrinted(Rate, arrived)
		return
	}
	truth := arrived
	for _, other := range []float64{
		j.recorded(func(r *TrialRun) float64 { return r.Served.Rate * r.Served.Answered / max(1, r.Served.Requests) }),
		j.recorded(func(r *TrialRun) float64 { return r.Served.Whole }),
	} {
		if math.Abs(other-said) < math.Abs(truth-said) {
			truth = other
		}
	}
	j.judge(Rate, math.Abs(said-truth) <= nearRate*truth, said, truth)
}

// latency judges a latency: said to users, and felt by them.
func (j judging) latency(name string) {
	felt := j.recorded(func(r *TrialRun) float64 { return r.Felt.of(name) })
	said, ok := j.said(name)
	if !ok {
		j.notPrinted(name, felt)
		return
	}
	own, worst := j.lateness()
	least := nearTime
	if name == Max {
		own, least = worst, nearWorst
	}
	j.judgeTime(name, said, felt, max(least, nearShare*felt)+own)
}

// judgeTime is judge for a time in ms.
func (j judging) judgeTime(figure string, said, truth, tolerance float64) {
	near := math.Abs(said-truth) <= tolerance
	if !near && j.unclear(said-truth, tolerance) {
		j.add(figure, Unclear, said, truth)
		return
	}
	j.judge(figure, near, said, truth)
}

// of is a latency by its name, in ms.
func (f *Felt) of(name string) float64 {
	switch name {
	case P50:
		return f.P50
	case P90:
		return f.P90
	case P99:
		return f.P99
	}
	return f.Max
}

// words judges whether a generator that could not send what it was to send says so: if requests came too late or
// not at all.
func (j judging) words() {
	late := j.recorded(func(r *TrialRun) float64 { return r.Served.LateP99 })
	due := j.recorded(func(r *TrialRun) float64 { return r.Felt.Due })
	sent := j.recorded(func(r *TrialRun) float64 { return r.Served.Requests })
	state := Silent
	if late <= spacingTime && sent >= fullLoad*due || j.warned() {
		state = Right
	}
	j.t.Cells = append(j.t.Cells, Cell{Figure: Words, State: state})
}
