package history

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/taktload/takt/internal/judge/stats"
)

// each calls do for every series, several at a time: a series has no part in another.
func each(groups []Group, do func(*Group, *Series)) {
	var wait sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range groups {
		for k := range groups[i].Series {
			free <- struct{}{}
			wait.Go(func() {
				do(&groups[i], &groups[i].Series[k])
				<-free
			})
		}
	}
	wait.Wait()
}

// values are the points on the scale on which differences are judged: logarithms unless Absolute.
func (s *Series) values() []float64 {
	list := make([]float64, len(s.Points))
	for i, p := range s.Points {
		if list[i] = p.Value; !s.Absolute {
			list[i] = math.Log(p.Value)
		}
	}
	return list
}

// judge finds the changes of a series. level is the probability of a false one.
func (s *Series) judge(g *Group, o Options, level float64) {
	values := s.values()
	rho := correlated(values, level)
	found := largeOnly(values, segment(values, level, rho), s.size(o.Tolerance, o))
	for i, at := range found {
		s.Changes = append(s.Changes, s.change(g, o, values, found, i, at, rho))
	}
	s.levels(values, found)
	s.Noise = s.noise(values, found, rho, level, s.size(o.Detect, o))
	s.open(values, found, s.size(o.Tolerance, o))
	switch {
	case slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Open }):
		s.Verdict = Regressed
	case s.Noise.Missing > 0:
		s.Verdict = Inconclusive
	default:
		s.Verdict = OK
	}
}

// size is a relative change on the scale of values. For metrics in percent, it is as many error
// tolerances as the relative change is tolerances.
func (s *Series) size(relative float64, o Options) float64 {
	if s.Absolute {
		return o.ErrorTolerance * relative / o.Tolerance
	}
	return math.Log1p(relative)
}

// worse is a difference of values as a difference for the worse.
func (s *Series) worse(difference float64) float64 {
	if s.Better == "higher" {
		return -difference
	}
	return difference
}

// shown is a difference of values as reports have it.
func (s *Series) shown(difference float64) float64 {
	if s.Absolute {
		return difference
	}
	return math.Expm1(difference)
}

// levels sets the level of each point.
func (s *Series) levels(values []float64, found []int) {
	eachLevel(found, len(values), func(from, to int) {
		level := s.inUnit(stats.MedianOf(values[from:to]))
		for i := from; i < to; i++ {
			s.Points[i].Level = level
		}
	})
}

// inUnit is a value in the metric's unit.
func (s *Series) inUnit(v float64) float64 {
	if s.Absolute {
		return v
	}
	return math.Exp(v)
}

// open marks the changes for the worse that are still there: the newest level is worse than the one
// before the change by more than the tolerance.
func (s *Series) open(values []float64, found []int, tolerance float64) {
	if len(found) == 0 {
		return
	}
	last := values[found[len(found)-1]:]
	for i := range s.Changes {
		c := &s.Changes[i]
		from, _ := around(found, i, len(values))
		now := stats.Groups{Base: values[max(from, found[i]-nearest):found[i]], Head: last[max(0, len(last)-nearest):]}
		c.Open = c.Worse && !c.Accepted && s.worse(now.Estimate()) > tolerance
	}
}
