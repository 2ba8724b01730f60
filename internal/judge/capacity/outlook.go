package capacity

import "math"

// exampleTimes is the limit of Outlook's example, as a multiple of the first rate.
const exampleTimes = 32

// Outlook is what a search will do, if no step is disturbed.
type Outlook struct {
	Rates  []float64 // the first rates
	Around int       // steps around the limit, after a rate broke the SLO
	Limit  float64   // a possible limit: the highest rate, or an example
	Steps  int       // steps to find Limit
	Most   int       // largest number of steps; 0: only the budget limits it
}

// Outlook returns what the search will do.
func (s Search) Outlook() Outlook {
	o := Outlook{Around: 2 * (s.Repeats - 1), Limit: s.Max, Most: s.Steps}
	if s.Step == 0 {
		o.Around += int(math.Ceil(math.Log2(math.Ln2 / math.Log1p(s.Precision))))
	}
	if o.Limit == 0 {
		o.Limit = exampleTimes * s.Start
	}
	if s.Steps == math.MaxInt {
		o.Most = 0
	}
	rate, ended := s.Start, Ending("")
	for ended == "" && o.Steps < s.Steps {
		if o.Steps++; len(o.Rates) < 3 {
			o.Rates = append(o.Rates, rate)
		}
		if rate > o.Limit {
			break
		}
		rate, ended = s.raise(rate)
	}
	o.Steps = min(o.Steps+o.Around, s.Steps)
	return o
}
