package analysis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// Capacity is the answer to "how much load does it take": the extra section of a report
// of kind capacity.
type Capacity struct {
	SLO         string         `json:"slo"`
	Sustainable float64        `json:"sustainable_per_s"` // up to this rate the SLO holds; 0: at none
	Interval    Range          `json:"interval_per_s"`    // of Sustainable
	Confidence  float64        `json:"confidence"`        // of Interval: 0.95; 0: its ends were measured, and the limit lies between
	Ended       Ending         `json:"ended"`
	LimitedBy   string         `json:"limited_by"` // the part of the SLO that breaks first; "": none did
	Statistic   string         `json:"statistic"`  // of the latencies that a curve shows: p95
	Need        float64        `json:"need_per_s"` // 0: nothing was asked for
	Headroom    float64        `json:"headroom"`   // part of each machine's limit that Machines.Planned leaves free
	Machines    *Machines      `json:"machines"`
	Knee        *float64       `json:"knee_per_s"`
	KneeRange   Range          `json:"knee_interval_per_s"` // the tested rates beside Knee
	Repeats     int            `json:"repeats"`             // of the rates beside the limit, that of the fewer; of one run the limit is a single measurement
	USL         *USL           `json:"usl"`
	Line        *LimitLine     `json:"limit_line"`
	Steps       []CapacityStep `json:"steps"` // in the order in which they were run
}

// Range has ends per second; nil: not known.
type Range struct {
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

// Wide reports whether the upper end is more than twice the lower: a figure between such ends
// says less than the ends.
func (r Range) Wide() bool { return r.Low != nil && r.High != nil && *r.High > widest**r.Low }

// Machines is how many machines like the measured one the needed rate takes, when each
// takes an equal share of it and they share nothing. Low and High follow from the ends of
// the interval; 0: from no end. Planned is how many to plan: each keeps the headroom below the low
// end of the interval, and one more lets one of them fail (N+1).
type Machines struct {
	Count   int `json:"count"`
	Low     int `json:"low"`
	High    int `json:"high"`
	Planned int `json:"planned"`
}

// DefaultHeadroom is the part of its limit that a planned machine leaves free: near the limit a
// small peak makes a long queue.
const DefaultHeadroom = 0.2

// Broad reports whether the interval of the limit is so wide that a single figure would claim
// too much: a reader gets the ends.
func (c Capacity) Broad() bool { return c.Confidence > 0 && BroadRange(c.Interval) }

// BroadRange reports the same of any interval.
func BroadRange(i Range) bool { return i.Low != nil && i.High != nil && *i.High > broad**i.Low }

// broad times its lower end is the upper end of the widest interval that has a figure in words.
const broad = 1.2

// Ending is why a search ended.
type Ending string

// The endings.
const (
	EndFound   Ending = "found"   // between a rate that holds and one that breaks
	EndMax     Ending = "max"     // the SLO held up to the highest rate asked for
	EndNone    Ending = "none"    // it broke at the lowest
	EndInvalid Ending = "invalid" // the generator was the bottleneck before the SLO broke
	EndSteps   Ending = "steps"   // there were no more steps
	EndBudget  Ending = "budget"  // the time of --budget was used up
	EndFutile  Ending = "futile"  // the rest of the budget would most probably not help
	EndBroken  Ending = "broken"  // a step could not be run, or a signal came
)

// CapacityStep is what one rate did.
type CapacityStep struct {
	Offered  float64      `json:"offered_per_s"`
	Achieved float64      `json:"achieved_per_s"`
	Verdict  takt.Verdict `json:"verdict"`
	Stolen   float64      `json:"stolen_percent,omitempty"` // of the CPU, by the hypervisor
	ReportID string       `json:"report_id"`
	Met      bool         `json:"met"`     // the SLO held
	Margin   float64      `json:"margin"`  // 1 − bound ÷ value of the part of the SLO that is nearest to breaking, from −3 up to 0.75; it breaks above 0
	Nearest  string       `json:"nearest"` // that part: p95<300ms
	Reason   string       `json:"reason"`  // its value: p95 was 281ms
	Errors   float64      `json:"errors_percent"`
	Response StepLatency  `json:"response"`
	Service  StepLatency  `json:"service"`
}

// StepLatency are the figures of a latency that stand in a curve, µs.
type StepLatency struct {
	Mean  float64 `json:"mean_us"`
	P50   float64 `json:"p50_us"`
	P95   float64 `json:"p95_us"`
	P99   float64 `json:"p99_us"`
	P99_9 float64 `json:"p99_9_us"`
}

// Get is the figure of that name: mean, p50, p95, p99 or p99.9.
func (l StepLatency) Get(statistic string) (us float64, ok bool) {
	us, ok = map[string]float64{"mean": l.Mean, "p50": l.P50, "p95": l.P95, "p99": l.P99, "p99.9": l.P99_9}[statistic]
	return us, ok
}

// worst is the highest margin.
const worst = 1 - 1/mostOver

// StepOf is what a run at the offered rate, per second, says about the SLO. A run that
// was ended early because the target failed, or of which no operation succeeded, did not
// meet it whatever its latencies are. A report without a figure that the SLO needs is an
// error.
func StepOf(r *takt.Report, offered float64, slo SLO) (CapacityStep, error) {
	s := CapacityStep{
		Offered: offered, Achieved: r.Rate.Achieved, Verdict: r.Verdict, Stolen: r.Generator.Stolen, ReportID: r.ID,
		Response: stepLatency(r.Latency[takt.LatencyResponse]), Service: stepLatency(r.Latency[takt.LatencyService]),
	}
	s.Errors, _ = share(r.Counts.Failed+r.Counts.Unfinished, r.Counts.OK+r.Counts.Failed+r.Counts.Unfinished, "")
	for _, w := range r.Warnings {
		if w.Code == "aborted" {
			s.Margin, s.Reason = worst, w.Message
			return s, nil
		}
	}
	switch {
	case r.Counts.Scheduled == 0:
		return s, fmt.Errorf("no operation was due at %v/s; make the steps longer", offered)
	case r.Counts.OK == 0:
		s.Margin, s.Reason = worst, "not one operation succeeded"
		return s, nil
	}
	var err error
	s.Met, err = slo.judge(r, &s)
	return s, err
}

func stepLatency(l takt.Latency) StepLatency {
	return StepLatency{Mean: l.Mean, P50: l.P50, P95: l.P95, P99: l.P99, P99_9: l.P99_9}
}

// CapacityOf draws the answer from steps, which may come from a search or from a run
// whose rate rose. ended is why there are no more of them; EndFound and EndNone are held
// against what the steps show. need is per second, 0: none.
func CapacityOf(steps []CapacityStep, slo SLO, ended Ending, need float64) Capacity {
	c := Capacity{SLO: slo.String(), Ended: ended, Statistic: slo.statistic(), Need: need, Steps: steps}
	l := limitOf(steps)
	if ended == EndFound || ended == EndNone {
		c.Ended = l.ending(steps)
	}
	if l.low == nil && l.high == nil && ended == EndBudget {
		c.Ended = EndInvalid
	}
	switch {
	case l.low == nil && l.high == nil:
	case l.low == nil:
		c.Interval.High = &l.high.rate
	case l.high == nil:
		c.Sustainable, c.Interval.Low = l.low.rate, &l.low.rate
	case c.Ended == EndInvalid || l.interval == Range{} || l.interval.Wide(): // somewhere between
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

// limitedBy is the part of the SLO that broke at the lowest rate that breaks.
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

// Plan finds how many machines a rate per second takes; none of rate 0, or when no rate is
// sustainable. headroom is from 0 to below 1.
func (c *Capacity) Plan(need, headroom float64) {
	c.Need, c.Headroom, c.Machines = need, headroom, nil
	if need <= 0 || c.Sustainable <= 0 {
		return
	}
	count := func(rate *float64, part float64) int {
		if rate == nil || *rate <= 0 {
			return 0
		}
		return int(math.Ceil(need / (*rate * part)))
	}
	safe := c.Interval.Low
	if safe == nil || *safe <= 0 {
		safe = &c.Sustainable
	}
	c.Machines = &Machines{
		Count: count(&c.Sustainable, 1), Low: count(c.Interval.High, 1), High: count(c.Interval.Low, 1),
		Planned: count(safe, 1-headroom) + 1,
	}
}

// ByRate are the steps by rising rate; runs at one rate in their order. Each stands for
// itself: percentiles of several runs have no mean.
func (c Capacity) ByRate() []CapacityStep {
	steps := slices.Clone(c.Steps)
	slices.SortStableFunc(steps, func(a, b CapacityStep) int { return cmp.Compare(a.Offered, b.Offered) })
	return steps
}

// Shown are the response and the service time that a curve shows of a step, µs.
func (c Capacity) Shown(s CapacityStep) (response, service float64) {
	response, _ = s.Response.Get(c.Statistic)
	service, _ = s.Service.Get(c.Statistic)
	return response, service
}

// Extra is c as the extra section of a report.
func (c Capacity) Extra() (map[string]any, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var extra map[string]any
	err = json.Unmarshal(text, &extra)
	return extra, err
}

// CapacityIn reads what Extra wrote.
func CapacityIn(r *takt.Report) (c Capacity, err error) {
	text, err := json.Marshal(r.Extra)
	if err != nil {
		return c, err
	}
	err = json.Unmarshal(text, &c)
	return c, err
}

// Bound is what the SLO allows the statistic of the response time that a curve shows, µs;
// 0: the SLO says nothing of it.
func (c Capacity) Bound() float64 {
	for _, part := range strings.Split(c.SLO, ",") {
		if a, err := ParseAssertion(part); err == nil && a.of == takt.LatencyResponse && a.metric == c.Statistic {
			return a.bound
		}
	}
	return 0
}
