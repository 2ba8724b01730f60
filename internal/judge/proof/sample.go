package proof

import (
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/embedded"
	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/judge/stats"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Level is the confidence of intervals and bounds, unless the user says otherwise.
const Level = 0.95

// Sample is a latency of one run: each value, to three digits, and the counts by block.
type Sample struct {
	counts *Counts
	tops   []float64 // of the buckets in use, in µs
	below  []float64 // number of values up to each of them
	n      float64
	like   *Sample // with the counts, if this one has none
	// worst is the largest effect at p50, p75 and p90, and careful that without what chance explains.
	worst, careful effect
}

// usual are the percentiles at which the dependence of operations shows, also that of a few slow ones.
var usual = [...]float64{0.5, 0.75, 0.9}

// NewSample returns the sample of a latency; nil: there are no counts of all its values, or in too few blocks.
func NewSample(h *hist.Histogram, counts *Counts) *Sample {
	n := h.Count()
	if !counts.counted() || counts.used-counts.first < leastBlock || counts.Count() != n || n == 0 {
		return nil
	}
	s := sampleOf(h)
	s.counts = counts
	for _, p := range usual {
		e := s.at(s.quantile(p))
		if e.d >= s.worst.d {
			s.worst = e
		}
		if e = e.unlessChance(); e.d >= s.careful.d {
			s.careful = e
		}
	}
	return s
}

// Like is the sample of another latency of the same operations, or of a part of them. What says how far they
// depend on one another are the counts of s.
func (s *Sample) Like(h *hist.Histogram) *Sample {
	other := sampleOf(h)
	other.like, other.counts, other.worst, other.careful = s, s.counts, s.worst, s.careful
	return other
}

// sampleOf is a sample without counts by block.
func sampleOf(h *hist.Histogram) *Sample {
	s := new(Sample)
	for _, b := range h.Buckets() {
		s.n += float64(b.Count)
		s.tops, s.below = append(s.tops, hist.Micros(b.To)), append(s.below, s.n)
	}
	return s
}

// SampleOf is the sample of a latency as a report has it; nil: it has no counts by block, or too few.
func SampleOf(l takt.Latency) (*Sample, error) {
	if l.Blocks == nil || l.Count == 0 {
		return nil, nil
	}
	c, err := Read(l.Blocks)
	if err != nil {
		return nil, err
	}
	h, err := hist.Decode(l.HDR)
	if err != nil {
		return nil, err
	}
	return NewSample(h, c), nil
}

// value is the value of a rank, in µs.
func (s *Sample) value(rank float64) float64 {
	i := sort.SearchFloat64s(s.below, min(max(rank, 1), s.n))
	return s.tops[min(i, len(s.tops)-1)]
}

// quantile is the value at p, by nearest rank.
func (s *Sample) quantile(p float64) float64 { return s.value(rank(p, s.n)) }

// rank is the nearest one of p, of n values.
func rank(p, n float64) float64 { return math.Ceil(math.Nextafter(p, 0) * n) }

// at is the effect at a value in µs: of the share of operations in bins above it.
func (s *Sample) at(us float64) effect { return effectOf(s.counts.above(binOf(us))) }

// binOf is the bin of a value in µs.
func binOf(us float64) int { return bin(time.Duration(us * float64(time.Microsecond))) }

// Independent is how many independent operations say as much as all, at the worst of p50, p75 and p90.
func (s *Sample) Independent() float64 { return s.n / s.worst.d }

// largest is the largest effect at p and at the usual percentiles below.
func (s *Sample) largest(p float64) effect {
	q := s.quantile(p)
	largest := s.at(q)
	for _, c := range usual {
		if v := s.quantile(c); v <= q {
			if e := s.at(v); e.d > largest.d {
				largest = e
			}
		}
	}
	return largest
}

// Alone is as how many independent operations all count for the interval of the percentile p.
func (s *Sample) Alone(p float64) float64 {
	return min(s.Independent(), s.largest(p).size(s.n, (1-Level)/2))
}

// Interval is the interval of the percentile p with the confidence level; not ok: it is not known. Both ends are
// values of the sample, in µs: those of ranks that the number of values up to the true percentile is between.
func (s *Sample) Interval(p, level float64) (low, high float64, ok bool) {
	if s == nil || s.Independent() < leastAlone {
		return 0, 0, false
	}
	miss := (1 - level) / 2
	from, to, ok := ranks(s.largest(p).size(s.n, miss), p, miss)
	if !ok {
		return 0, 0, false
	}
	return s.value(math.Floor(from*s.n + rounding)), s.value(math.Ceil(to*s.n - rounding)), true
}

const rounding = 1e-9

// Needs is about how many operations a run has to have so that the interval of a high percentile is known, if they
// depend on one another as these do.
func (s *Sample) Needs(p, level float64) float64 {
	miss := (1 - level) / 2
	return max(leastAlone*s.worst.d, math.Log(miss)/math.Log(p)*s.n/max(1, s.largest(p).size(s.n, miss)))
}

// Exact is half of the interval of a percentile ÷ the percentile; not ok: the interval is not known.
func (s *Sample) Exact(p, level float64) (part float64, ok bool) {
	low, high, ok := s.Interval(p, level)
	if !ok {
		return 0, false
	}
	return (high - low) / 2 / s.quantile(p), true
}

// LookLevel is the level of an interval at one of several looks. Who looks often, and ends when an interval is
// narrow, sees too narrow ones more often than 1 − Level. Half of the error at each look makes up for it.
const LookLevel = 1 - (1-Level)/2

// Words is a confidence level for people: 95 % confidence.
func Words(level float64) string {
	return strconv.FormatFloat(math.Round(1e6*level)/1e4, 'f', -1, 64) + " % confidence"
}

// Looks are the numbers of operations at which a run that may end early looks at its interval: 500, and each time
// half as many more. The zero value is before the first look.
type Looks struct{ next float64 }

// Due reports whether n operations are enough for the next look.
func (l *Looks) Due(n uint64) bool {
	l.next = max(l.next, 500)
	if float64(n) < l.next {
		return false
	}
	for l.next <= float64(n) {
		l.next *= 1.5
	}
	return true
}

// Rounded is a number of operations, or of seconds, upwards to two significant digits.
func Rounded(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return figure.Round(math.Ceil(v/unit-1e-3)*unit, 2)
}

// ranks are the ends of the interval as shares of all values. Of m independent values, as many as Bin(m, p) says
// are up to the percentile; m need not be whole. Not ok: the sample has no value that is certainly beyond.
func ranks(m, p, miss float64) (from, to float64, ok bool) {
	if m < 2 || math.Pow(p, m) > miss || math.Pow(1-p, m) > miss {
		return 0, 0, false
	}
	low := solve(0, m*p, func(k float64) bool { return stats.BinomialCDF(k, m, p) > miss })
	return min((low+1)/m, p), upper(m, p, miss), true
}

// upper is the upper end as a share of all values.
func upper(m, p, miss float64) float64 {
	high := solve(m*p, m, func(k float64) bool { return stats.BinomialCDF(k, m, p) >= 1-miss })
	return min((high+1)/m, 1)
}

// solve is where holds begins to be true, between two values, by bisection to 10⁻¹² of their distance.
func solve(low, high float64, holds func(float64) bool) float64 { return bisect(low, high, 40, holds) }

// bisect is solve by so many steps.
func bisect(low, high float64, steps int, holds func(float64) bool) float64 {
	for range steps {
		if middle := (low + high) / 2; holds(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// Length is a run of so many seconds, as a setting of the program that made r: -z 7s.
func Length(r *takt.Report, seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
	if whole := d.Truncate(time.Second); d >= time.Second && d > whole { // a shorter run would have too few
		d = whole + time.Second
	}
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} { // 2m, and not 2m0s
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	if r.Kind == embedded.Kind || r.Schedule.Profile == "replay" { // a log is as long as it is
		return s
	}
	return "-z " + s
}

// Shown is a percentile that takt shows, and its interval.
type Shown struct {
	P     float64
	Name  string      // p99.9
	Field string      // p99_9_us, in a report
	Value float64     // in µs
	Range *takt.Range // nil: not known
}

// Intervals are the percentiles of a latency with their intervals.
func Intervals(l *takt.Latency) []Shown {
	c := l.CI
	if c == nil {
		c = new(takt.Confidence)
	}
	return []Shown{
		{0.5, "p50", "p50_us", l.P50, c.P50}, {0.75, "p75", "p75_us", l.P75, c.P75}, {0.9, "p90", "p90_us", l.P90, c.P90},
		{0.95, "p95", "p95_us", l.P95, c.P95}, {0.99, "p99", "p99_us", l.P99, c.P99},
		{0.999, "p99.9", "p99_9_us", l.P99_9, c.P99_9}, {0.9999, "p99.99", "p99_99_us", l.P99_99, c.P99_99},
	}
}

// IsMax reports whether the percentile p of n values is the largest one under another name.
func IsMax(p float64, n uint64) bool { return rank(p, float64(n)) >= float64(n) }

// Of returns the intervals of a latency that takt shows; nil: the sample has none.
func (s *Sample) Of() *takt.Confidence {
	if s == nil {
		return nil
	}
	c := &takt.Confidence{Level: Level, Independent: figure.Round(s.Independent(), 3)}
	for p, to := range map[float64]**takt.Range{0.5: &c.P50, 0.75: &c.P75, 0.9: &c.P90, 0.95: &c.P95, 0.99: &c.P99, 0.999: &c.P99_9, 0.9999: &c.P99_99} {
		if low, high, ok := s.Interval(p, Level); ok {
			*to = &takt.Range{Low: low, High: high}
		}
	}
	return c
}

// With sets the intervals and the counts of a latency whose histogram is h.
func With(l takt.Latency, h *hist.Histogram, c *Counts) takt.Latency {
	if c.counted() && c.Count() == l.Count {
		l.Blocks = c.Text()
		l.CI = NewSample(h, c).Of()
	}
	return l
}

// Beyond is the number of values above a bound, in µs, or at it if closed.
func Beyond(h *hist.Histogram, bound float64, closed bool) float64 {
	return sampleOf(h).beyond(bound, closed)
}

// beyond is the number of values above a bound, in µs, or at it if closed. A bucket counts by its top, as in
// percentiles.
func (s *Sample) beyond(bound float64, closed bool) float64 {
	i := sort.Search(len(s.tops), func(i int) bool { return s.tops[i] > bound || closed && s.tops[i] == bound })
	if i == 0 {
		return s.n
	}
	return s.n - s.below[i-1]
}
