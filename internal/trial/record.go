package trial

import (
	"math"
	"slices"
	"time"

	"github.com/taktload/takt/internal/judge/generators"
	"github.com/taktload/takt/internal/target"
)

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// FeltBy is what users feel who come at the rate for that long, each on a connection of its own, to a target
// with these options.
func FeltBy(o target.Options, rate float64, length time.Duration) (f generators.Felt, err error) {
	m, err := target.NewModel(o)
	if err != nil {
		return f, err
	}
	var times []float64
	for i := range int(math.Round(rate * length.Seconds())) {
		due := time.Duration(float64(i) / rate * float64(time.Second))
		end, outcome := m.Request(due)
		times = append(times, millis(end-due))
		if outcome != target.OK {
			f.Broken++
		}
	}
	slices.Sort(times)
	f.Due = float64(len(times))
	f.P50, f.P90, f.P99, f.Max = generators.Quantile(times, 0.5), generators.Quantile(times, 0.9), generators.Quantile(times, 0.99), generators.Quantile(times, 1)
	return f, nil
}

// ServedBy is the record of a target, of requests that were to come at the rate.
func ServedBy(t *target.Truth, rate float64) (s generators.Served) {
	c := t.Counts
	s.Requests, s.Answered, s.Broken = float64(c.Requests), float64(c.OK), float64(c.Resets+c.Closed+c.HalfOpen+c.Errors)
	if len(t.Records) == 0 {
		return s
	}
	var came []time.Duration
	var late []float64
	last := time.Duration(0)
	for _, r := range t.Records {
		came = append(came, r.Came)
		late = append(late, millis(r.Arrival-r.Came))
		if r.Released >= 0 {
			late = append(late, millis(r.Released-r.End))
			last = max(last, r.Released)
		}
	}
	slices.Sort(came)
	slices.Sort(late)
	s.TargetP99, s.TargetWorst = generators.Quantile(late, 0.99), generators.Quantile(late, 1)
	if span := (came[len(came)-1] - came[0]).Seconds(); span > 0 {
		s.Rate = float64(len(came)-1) / span
	}
	if span := (last - came[0]).Seconds(); span > 0 {
		s.Whole = s.Answered / span
	}
	s.LateP50, s.LateP99 = spacing(came, rate)
	return s
}

// spacing is how late requests came after their schedule, in ms, p50 and p99: the n-th is due n/rate after an
// origin. A first request may be late itself, so the origin is that of the earliest of the first tenth. A generator that
// sends much faster has no schedule: it is late only where it falls behind the first request's.
func spacing(came []time.Duration, rate float64) (p50, p99 float64) {
	off := make([]float64, len(came))
	for i, at := range came {
		off[i] = millis(at) - float64(i)/rate*1000
	}
	origin := slices.Min(off[:max(1, len(off)/10)])
	if off[len(off)-1]-off[0] < -muchFaster*millis(came[len(came)-1]-came[0]) {
		origin = off[0]
	}
	for i := range off {
		off[i] = max(0, off[i]-origin)
	}
	slices.Sort(off)
	return generators.Quantile(off, 0.5), generators.Quantile(off, 0.99)
}

// muchFaster is by how much of its time a generator is ahead of its schedule if it has none.
const muchFaster = 0.2
