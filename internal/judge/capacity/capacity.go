// Package capacity finds the highest rate at which a target meets an SLO: the search, what its steps
// prove, and the curve through them.
package capacity

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/judge/assert"
	"github.com/taktload/takt/internal/judge/overload"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/steps"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Answer answers "how much load can the target handle?". It is the extra section of a report of
// kind capacity.
type Answer struct {
	SLO         string     `json:"slo"`
	Sustainable float64    `json:"sustainable_per_s"` // the highest rate that meets the SLO; 0: none does
	Interval    Range      `json:"interval_per_s"`    // of Sustainable
	Confidence  float64    `json:"confidence"`        // of Interval: 0.95; 0: the ends are tested rates, and the limit is between them
	Ended       Ending     `json:"ended"`
	LimitedBy   string     `json:"limited_by"` // the condition of the SLO that breaks first; "": none broke
	Statistic   string     `json:"statistic"`  // of the latencies in a curve: p95
	Need        float64    `json:"need_per_s"` // the rate to plan machines for; 0: not asked for
	Headroom    float64    `json:"headroom"`   // share of each machine's limit that Machines.Planned leaves free
	Machines    *Machines  `json:"machines"`
	Knee        *float64   `json:"knee_per_s"`
	KneeRange   Range      `json:"knee_interval_per_s"` // the tested rates next to Knee
	Repeats     int        `json:"repeats"`             // runs at each rate next to the limit, the smaller number; 1: the limit is a single measurement
	USL         *USL       `json:"usl"`
	Line        *LimitLine `json:"limit_line"`
	Steps       []Step     `json:"steps"` // in the order of the runs
}

// Range is an interval of rates, per second; nil: the end is not known.
type Range struct {
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

// Wide reports whether the upper end is more than twice the lower end. A single figure between such
// ends says less than the ends.
func (r Range) Wide() bool { return r.Low != nil && r.High != nil && *r.High > widest**r.Low }

// Machines is how many machines like the measured one the needed rate requires, if they share the
// load equally and nothing else.
type Machines struct {
	Count   int `json:"count"`   // at Sustainable
	Low     int `json:"low"`     // at the upper end of the interval; 0: that end is not known
	High    int `json:"high"`    // at the lower end of the interval; 0: that end is not known
	Planned int `json:"planned"` // each with the headroom below the lower end, and one spare machine (N+1); 0: every step above Sustainable is invalid
}

// DefaultHeadroom is the share of its limit that a planned machine leaves free. Near the limit a
// small peak causes a long queue.
const DefaultHeadroom = 0.2

// Ranged reports whether the limit's interval is so wide, or rests on so little, that a single
// figure would claim too much. Texts then show the ends instead.
func (c Answer) Ranged() bool {
	return c.Confidence > 0 && (BroadRange(c.Interval) || c.Repeats == 1)
}

// BroadRange reports whether an interval is too wide for a single figure.
func BroadRange(i Range) bool { return i.Low != nil && i.High != nil && *i.High > broad**i.Low }

// broad is upper end ÷ lower end of the widest interval for which texts name a single figure.
const broad = 1.2

// Ending is why a search ended.
type Ending string

// The endings.
const (
	EndFound   Ending = "found"   // the limit lies between a rate that met the SLO and a rate that broke it
	EndMax     Ending = "max"     // the SLO was met up to the highest rate asked for
	EndNone    Ending = "none"    // the SLO broke at the lowest rate, in each of its repeats
	EndInvalid Ending = "invalid" // the generator was the bottleneck where the limit lies
	EndSteps   Ending = "steps"   // the number of steps was used up
	EndBudget  Ending = "budget"  // the time of --budget was used up
	EndFutile  Ending = "futile"  // the rest of the budget would most probably not help
	EndBroken  Ending = "broken"  // a step could not be run, or a signal came
)

// Step is the result of one run at one rate, or of all seconds of a run at about one rate.
type Step struct {
	Offered   float64      `json:"offered_per_s"`
	Achieved  float64      `json:"achieved_per_s"`                 // also operations that ended in the drain
	Completed float64      `json:"completed_per_s,omitempty"`      // while the step lasted; 0: unknown, of an older report
	PerRound  float64      `json:"operations_per_round,omitempty"` // on average, if the rates are of rounds; 0: they are of operations
	Verdict   takt.Verdict `json:"verdict"`
	Stolen    float64      `json:"stolen_percent,omitempty"` // CPU time that the hypervisor took
	ReportID  string       `json:"report_id"`
	Proven    bool         `json:"proven,omitempty"`  // Verdict is invalid, but the generator's lateness cannot be why the SLO was met, or was broken
	Warming   bool         `json:"warming,omitempty"` // the target warmed up: later it met the SLO at this rate or a higher one
	Met       bool         `json:"met"`               // the SLO was met
	Margin    float64      `json:"margin"`            // 1 − bound ÷ value of the condition of the SLO nearest to breaking, from −3 up to 0.75; above 0 it is broken
	Nearest   string       `json:"nearest"`           // the condition nearest to breaking: p95<300ms
	Reason    string       `json:"reason"`            // the value of Nearest: p95 was 281ms; or why the step failed
	Errors    float64      `json:"errors_percent"`
	Response  StepLatency  `json:"response"`
	Service   StepLatency  `json:"service"`
}

// StepLatency contains the figures of a latency that a curve can show, µs.
type StepLatency struct {
	Mean  float64 `json:"mean_us"`
	P50   float64 `json:"p50_us"`
	P95   float64 `json:"p95_us"`
	P99   float64 `json:"p99_us"`
	P99_9 float64 `json:"p99_9_us"`
}

// Get returns the figure of that name: mean, p50, p95, p99 or p99.9.
func (l StepLatency) Get(statistic string) (us float64, ok bool) {
	us, ok = map[string]float64{"mean": l.Mean, "p50": l.P50, "p95": l.P95, "p99": l.P99, "p99.9": l.P99_9}[statistic]
	return us, ok
}

// Throughput is how many operations per second the target completed.
func (s Step) Throughput() float64 {
	if s.Completed > 0 {
		return s.Completed
	}
	return s.Achieved
}

// Overload is the Nearest of a step that met the SLO only because it was short: its target was overloaded.
// Its value is due ÷ completed, and its bound is 1.
const Overload = "overload"

// worst is the largest possible margin.
const worst = 1 - 1/mostOver

// StepOf judges a run at the offered rate, per second, by the SLO. A run does not meet the SLO,
// whatever its latencies are, if it was aborted because the target failed, or if no operation
// succeeded. It is an error if the report lacks a figure that the SLO needs.
func StepOf(r *takt.Report, offered float64, slo SLO) (Step, error) {
	s := Step{
		Offered: offered, Achieved: r.Rate.Achieved, Verdict: r.Verdict, Stolen: r.Generator.Stolen, ReportID: r.ID,
		Response: stepLatency(r.Latency[takt.LatencyResponse]), Service: stepLatency(r.Latency[takt.LatencyService]),
	}
	s.Completed, _ = stored.Completed(r)
	s.inRounds(r)
	s.Errors, _ = stored.Share(r.Counts.Failed+r.Counts.Unfinished, r.Counts.OK+r.Counts.Failed+r.Counts.Unfinished, "")
	var err error
	switch aborted := slices.IndexFunc(r.Warnings, func(w takt.Warning) bool { return w.Code == warn.Aborted }); {
	case aborted >= 0:
		s.Margin, s.Reason = worst, r.Warnings[aborted].Message
	case r.Counts.Scheduled == 0:
		err = fmt.Errorf("no operation was due at %v/s; make the steps longer", offered)
	case r.Counts.OK == 0:
		s.Margin, s.Reason = worst, "not one operation succeeded"
	default:
		s.Met, err = slo.judge(r, &s)
		if o := overload.Of(r); err == nil && o != nil { // whatever the latencies are now, a longer step would break the SLO
			s.Met = false
			if m := 1 - o.CompletedPerS/o.DuePerS; m > s.Margin {
				s.Margin, s.Nearest, s.Reason = m, Overload, overload.Words(o)
			}
		}
	}
	s.Proven = slo.proves(r, s.Met)
	return s, err
}

// inRounds makes the rates of s those of rounds, if the rate of r is. Then all rates of a step have one unit.
func (s *Step) inRounds(r *takt.Report) {
	rounds, _ := r.Extra[steps.Rounds].(map[string]any)
	begun, _ := rounds["begun"].(float64)
	if begun == 0 || r.Counts.Scheduled == 0 {
		return
	}
	s.PerRound = float64(r.Counts.Scheduled) / begun
	s.Achieved, s.Completed = s.Achieved/s.PerRound, s.Completed/s.PerRound
}

// PerRound is the mean number of operations of a round over all steps, if the rates are of rounds; 0: they are of operations.
func (c Answer) PerRound() (mean float64) {
	for _, s := range c.Steps {
		mean += s.PerRound / float64(len(c.Steps))
	}
	return mean
}

func stepLatency(l takt.Latency) StepLatency {
	return StepLatency{Mean: l.Mean, P50: l.P50, P95: l.P95, P99: l.P99, P99_9: l.P99_9}
}

// Conclude concludes from steps, which come from a search or from runs whose rate rose. ended is
// why there are no more steps; EndFound and EndNone are replaced by what the steps show. need is the
// rate to plan machines for, per second; 0: none.
func Conclude(steps []Step, slo SLO, ended Ending, need float64) Answer {
	steps = warming(steps)
	c := Answer{SLO: slo.String(), Statistic: slo.statistic(), Need: need, Steps: steps}
	l := limitOf(steps)
	c.Ended = l.ending(steps, ended)
	switch {
	case l.low == nil && l.high == nil:
	case l.low == nil:
		c.Interval.High = &l.high.rate
	case l.high == nil:
		c.Sustainable, c.Interval.Low = l.low.rate, &l.low.rate
	case c.Ended == EndInvalid || l.interval == Range{} || l.interval.Wide(): // the limit is somewhere between the tested rates
		c.Sustainable, c.Interval = l.low.rate, Range{&l.low.rate, &l.high.rate}
	default:
		c.Sustainable, c.Interval, c.Confidence = l.rate, l.interval, sure
	}
	c.LimitedBy = limitedBy(l)
	c.Plan(need, DefaultHeadroom)
	c.Repeats = l.repeats()
	c.Knee, c.KneeRange = knee(steps)
	c.USL, c.Line = uslOf(steps), limitLine(steps, c.Statistic)
	return c
}

// limitedBy is the condition of the SLO that broke at the lowest rate above the limit.
func limitedBy(l limit) string {
	if l.high == nil {
		return ""
	}
	for _, s := range l.high.steps {
		if !s.Met {
			return s.Nearest
		}
	}
	return ""
}

// Plan computes how many machines the rate need, per second, requires. Machines is nil if need is 0
// or no rate is sustainable. headroom is at least 0 and below 1.
func (c *Answer) Plan(need, headroom float64) {
	c.Need, c.Headroom, c.Machines = need, headroom, nil
	if need <= 0 || c.Sustainable <= 0 {
		return
	}
	count := func(rate *float64, share float64) int {
		if rate == nil || *rate <= 0 {
			return 0
		}
		return int(math.Ceil(need / (*rate * share)))
	}
	safe := c.Interval.Low
	if safe == nil || *safe <= 0 {
		safe = &c.Sustainable
	}
	c.Machines = &Machines{
		Count: count(&c.Sustainable, 1), Low: count(c.Interval.High, 1), High: count(c.Interval.Low, 1),
	}
	if c.Ended != EndInvalid || c.Interval.High != nil { // else the limit may be anywhere above
		c.Machines.Planned = count(safe, 1-headroom) + 1
	}
}

// ByRate returns the steps sorted by rate; runs at one rate stay in their order. It merges no runs,
// because percentiles of several runs have no mean.
func (c Answer) ByRate() []Step {
	steps := slices.Clone(c.Steps)
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(a.Offered, b.Offered) })
	return steps
}

// Offered is the highest rate that was offered.
func (c Answer) Offered() (most float64) {
	for _, s := range c.Steps {
		most = max(most, s.Offered)
	}
	return most
}

// Known reports whether the search ended with an answer: between which rates the limit is, or that no offered rate, or
// each of them, meets the SLO.
func (c Answer) Known() bool {
	switch c.Ended {
	case EndNone:
		return true
	case EndFound, EndMax:
		return c.Sustainable > 0
	case EndBudget, EndFutile:
		return c.Confidence > 0
	}
	return false
}

// Late reports whether the generator was late in steps beside the limit that count.
func (c Answer) Late() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool {
		i := c.Interval
		return s.Proven && c.Counts(s) && (i.Low != nil && s.Offered == *i.Low || i.High != nil && s.Offered == *i.High)
	})
}

// Shown returns the response time and service time of a step that a curve shows, µs.
func (c Answer) Shown(s Step) (response, service float64) {
	response, _ = s.Response.Get(c.Statistic)
	service, _ = s.Service.Get(c.Statistic)
	return response, service
}

// Extra returns c as the extra section of a report.
func (c Answer) Extra() (map[string]any, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var extra map[string]any
	err = json.Unmarshal(text, &extra)
	return extra, err
}

// In reads c back from a report's extra section. Its error says that the report is damaged.
func In(r *takt.Report) (c Answer, err error) {
	text, err := json.Marshal(r.Extra)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, fmt.Errorf("the report %s is damaged: %w", r.ID, err)
	}
	return c, nil
}

// Bound is the SLO's bound on the response-time statistic that a curve shows, µs; 0: the SLO does
// not bound it.
func (c Answer) Bound() float64 {
	for _, part := range strings.Split(c.SLO, ",") {
		if a, err := assert.ParseAssertion(part); err == nil && a.Of == takt.LatencyResponse && a.Metric == c.Statistic {
			return a.Bound
		}
	}
	return 0
}
