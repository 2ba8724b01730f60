package capacity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// mostMissing is the largest part of the operations that may have no end in a step that proves that
// its rate meets the SLO.
const mostMissing = 0.01

// proves reports whether a step that is invalid for the generator's lateness is evidence
// nevertheless. Lateness only adds to latencies, so a step that meets the SLO with all operations
// would meet it without the lateness, too. And lateness cannot cause the target's own refusals.
func (s SLO) proves(r *takt.Report, met bool) bool {
	c := r.Counts
	switch {
	case !verdict.ByLateness(r):
		return false
	case met:
		return float64(c.OK+c.Failed) >= (1-mostMissing)*float64(c.Scheduled)
	}
	refused := *r
	own := min(c.Failed, answered(r.Errors))
	refused.Counts.OK, refused.Counts.Failed, refused.Counts.Unfinished, refused.Counts.Dropped = c.Scheduled-own, own, 0, 0
	if r.Goodput != nil {
		refused.Goodput = &takt.Goodput{Good: c.Scheduled - own}
	}
	for _, a := range s {
		if v, missing := a.Value(&refused); missing == "" && a.Of == "" && a.Metric != "rate" && !a.Holds(v) {
			return true
		}
	}
	return false
}

// answered is the number of operations that failed by an answer of the target: the class of such an
// error is the status, as in 503.
func answered(errors []takt.ErrorClass) (n uint64) {
	for _, e := range errors {
		if _, err := strconv.Atoi(strings.TrimSpace(e.Class)); err == nil {
			n += e.Count
		}
	}
	return n
}

// warming marks the steps in which the target warmed up, as a JVM does: they broke the SLO before any
// step met it, at a rate that meets it when it is repeated. The search only repeats a rate that was
// broken before any was met if it is the lowest.
func warming(steps []Step) []Step {
	first, least := -1, 0.0 // the first step that met the SLO, and the lowest rate before it
	for i, s := range steps {
		switch {
		case !s.counting():
		case s.Met:
			first = i
		case least == 0 || s.Offered < least:
			least = s.Offered
		}
		if first >= 0 {
			break
		}
	}
	again := func(s Step) bool { return s.counting() && !s.Met && s.Offered <= least }
	if first < 0 || least == 0 || steps[first].Offered < least || slices.ContainsFunc(steps[first:], again) {
		return steps // a target that is warm does not break the SLO at that rate again
	}
	marked := append([]Step(nil), steps...)
	for i := range marked[:first] {
		marked[i].Warming = marked[i].counting()
	}
	return marked
}
