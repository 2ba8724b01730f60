package replay

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// comparison compares recorded with replayed answers, by class: the method and the first digit of the
// recorded status, such as GET 2xx.
type comparison struct {
	classes  map[string]*classPair
	statuses map[[2]int]uint64 // number of pairs of recorded and replayed status; status 0: none
}

// classPair is one class. All its histograms have the same requests: those that were answered and
// have a recorded latency.
type classPair struct {
	count                       uint64
	recorded, response, service *hist.Histogram
}

// The limits of a comparison. Further classes become "other"; further pairs are not counted.
const (
	maxClasses  = 16  // each takes 0.8 MB
	maxStatuses = 200 // pairs
)

func newComparison() *comparison {
	return &comparison{classes: map[string]*classPair{}, statuses: map[[2]int]uint64{}}
}

// add adds an operation, if it was sent and has ended.
func (c *comparison) add(e *entry, s *takt.Sample) {
	if s.Sent == takt.NotSent || s.Class == takt.ClassUnfinished {
		return
	}
	pair := [2]int{e.recorded(), s.Status}
	if _, known := c.statuses[pair]; known || len(c.statuses) < maxStatuses {
		c.statuses[pair]++
	}
	p := c.class(e)
	p.count++
	if e.latency != trace.Unknown && s.Status > 0 {
		p.recorded.Record(time.Duration(e.latency))
		p.response.Record(s.Done - s.Due)
		p.service.Record(s.Done - s.Sent)
	}
}

// recorded is the status that the answer should have. If the row in the log is itself a failed replay,
// that is the status of the original recording (expected).
func (e *entry) recorded() int { return cmp.Or(e.expected, max(e.status, 0)) }

func (c *comparison) class(e *entry) *classPair {
	var buf [24]byte
	name := append(append(buf[:0], e.name()...), " none"...)
	if hundred := e.recorded() / 100; hundred > 0 {
		name = append(strconv.AppendInt(append(append(buf[:0], e.name()...), ' '), int64(hundred), 10), "xx"...)
	}
	p := c.classes[string(name)]
	if p == nil && len(c.classes) >= maxClasses {
		name = []byte("other")
		p = c.classes["other"]
	}
	if p == nil {
		p = &classPair{recorded: hist.New(), response: hist.New(), service: hist.New()}
		c.classes[string(name)] = p
	}
	return p
}

// report returns the comparison for Report.Extra: times in µs, sorted by name.
func (c *comparison) report() map[string]any {
	var classes, statuses []any
	for _, name := range slices.Sorted(maps.Keys(c.classes)) {
		p := c.classes[name]
		row := map[string]any{"class": name, "count": float64(p.count), "with_latency": float64(p.recorded.Count())}
		for kind, h := range map[string]*hist.Histogram{"recorded": p.recorded, "response": p.response, "service": p.service} {
			for q, at := range map[string]float64{"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1} {
				if h.Count() > 0 {
					row[kind+"_"+q+"_us"] = hist.Micros(h.Quantile(at))
				}
			}
		}
		classes = append(classes, row)
	}
	pairs := slices.SortedFunc(maps.Keys(c.statuses), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	for _, p := range pairs {
		verdict := "failed"
		switch {
		case p[1] == 0:
			verdict = "no answer"
		case !trace.IsAnswer(p[0]):
			verdict = "not comparable"
		case p[0] == p[1]:
			verdict = "same"
		case trace.IsExpected(p[0], p[1]):
			verdict = "as good"
		}
		statuses = append(statuses, map[string]any{"recorded": float64(p[0]), "replayed": float64(p[1]), "count": float64(c.statuses[p]), "verdict": verdict})
	}
	return map[string]any{"classes": classes, "statuses": statuses}
}
