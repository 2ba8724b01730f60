package figures

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/trace"
)

// Stamps is a stream that notes how fine the stamps of its requests are. It comes before trace.Timed, which
// spreads them.
type Stamps struct {
	Src     trace.Stream
	unit    time.Duration // of the stamps with a fraction; 0: there were none
	whole   uint64        // stamps in whole seconds
	records uint64        // with a stamp
}

// Next implements trace.Stream.
func (s *Stamps) Next(rec *trace.Record) error {
	err := s.Src.Next(rec)
	switch {
	case err != nil || rec.At.IsZero():
		return err
	case rec.Second:
		s.whole++
	default:
		if s.unit == 0 {
			s.unit = time.Second
		}
		for rec.At.Nanosecond()%int(s.unit) != 0 {
			s.unit /= 10
		}
	}
	s.records++
	return nil
}

// wholeMost is the share of stamps without a fraction in a log whose other stamps have one: some programs
// leave out a fraction of zeros.
const wholeMost = 0.05

// Resolution is the power of ten of which the stamps are multiples, 1 s at most; 0: there were none.
func (s *Stamps) Resolution() time.Duration {
	if s.unit == 0 && s.whole > 0 || float64(s.whole) > wholeMost*float64(s.records) {
		return time.Second
	}
	return s.unit
}

// gapsAtLeast is how many units of its stamps a mean gap must have: rounding adds at most 1/6 of a squared unit
// to the variance of the gaps, so with 4 units at most 0.01 to the square of their CV.
const gapsAtLeast = 4

// Blurs reports whether stamps of this resolution are too coarse for gaps with this mean: then their
// coefficient of variation is that of the rounding.
func Blurs(resolution, mean time.Duration) bool { return mean < gapsAtLeast*resolution }

// Burstiness says how unevenly requests come. Of Poisson arrivals GapCV and each Index are 1; even spacing has
// less, and bursts have more.
type Burstiness struct {
	StampsS    float64      `json:"stamps_s,omitempty"`       // resolution of the stamps; 0: not known
	GapCV      float64      `json:"gap_cv,omitempty"`         // coefficient of variation (standard deviation ÷ mean) of the times between requests
	GapUnknown string       `json:"gap_cv_unknown,omitempty"` // why there is no GapCV
	Dispersion []Dispersion `json:"dispersion,omitempty"`     // of the windows that the log is long enough, and fine enough, for
}

// Dispersion is the index of dispersion for counts: variance ÷ mean of the requests in windows of one length.
type Dispersion struct {
	WindowS float64 `json:"window_s"`
	Windows uint64  `json:"windows"`
	Index   float64 `json:"index"`
}

// windows are the lengths for which Burstiness has the dispersion.
var windows = [...]time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute}

// fewest is the least number of gaps, and of windows, of which a variance says something.
const fewest = 10

// burstiness collects Burstiness.
type burstiness struct {
	n             float64 // gaps
	mean, squares float64 // of the gaps, in seconds: mean, and sum of the squared deviations
	last          time.Time
	counts        [len(windows)]windowed
}

// windowed counts requests in windows of the wall clock. The first one and the last one, which the log may not fill,
// do not count.
type windowed struct {
	begun        bool
	first, at    int64 // numbers of windows
	n            float64
	sum, squares float64
}

func (b *burstiness) add(at time.Time) {
	if !b.last.IsZero() {
		gap := max(0, at.Sub(b.last).Seconds())
		b.n++
		d := gap - b.mean
		b.mean += d / b.n
		b.squares += d * (gap - b.mean)
	}
	if at.After(b.last) {
		b.last = at
	}
	for i, length := range windows {
		b.counts[i].add(at.UnixNano() / int64(length))
	}
}

func (w *windowed) add(at int64) {
	if !w.begun {
		w.begun, w.first, w.at = true, at, at
	}
	if at > w.at {
		if w.at > w.first {
			w.sum += w.n
			w.squares += w.n * w.n
		}
		w.at, w.n = at, 0
	}
	w.n++
}

// dispersion is that of n whole windows.
func (w *windowed) dispersion() (index float64, n uint64) {
	if !w.begun || w.at-w.first-1 < fewest || w.sum == 0 {
		return 0, 0
	}
	whole := float64(w.at - w.first - 1)
	mean := w.sum / whole
	return max(0, (w.squares-w.sum*mean)/(whole-1)) / mean, uint64(whole)
}

// found is what the stamps of this resolution allow; 0: it is not known.
func (b *burstiness) found(resolution time.Duration) Burstiness {
	f := Burstiness{StampsS: resolution.Seconds()}
	mean := time.Duration(b.mean * 1e9)
	switch {
	case b.n < fewest:
		return f
	case b.mean == 0:
		f.GapUnknown = "all requests have one stamp"
	case Blurs(resolution, mean):
		f.GapUnknown = fmt.Sprintf("the stamps are multiples of %v, and the mean gap is %s", resolution, figure.Micros(b.mean*1e6))
	default:
		f.GapCV = math.Sqrt(b.squares/(b.n-1)) / b.mean
	}
	for i, length := range windows {
		if index, n := b.counts[i].dispersion(); n > 0 && length >= resolution {
			f.Dispersion = append(f.Dispersion, Dispersion{WindowS: length.Seconds(), Windows: n, Index: index})
		}
	}
	return f
}

// text is one line for people; "": nothing is known.
func (b *Burstiness) text() string {
	var parts []string
	switch {
	case b.GapCV > 0:
		parts = append(parts, fmt.Sprintf("CV of the gaps %.3g", b.GapCV))
	case b.GapUnknown != "":
		parts = append(parts, "CV of the gaps unknown: "+b.GapUnknown)
	}
	var counts []string
	for _, d := range b.Dispersion {
		counts = append(counts, fmt.Sprintf("%.3g in %s", d.Index, trace.Span(time.Duration(d.WindowS*1e9))))
	}
	if len(counts) > 0 {
		parts = append(parts, "dispersion of the counts "+strings.Join(counts, ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + " (Poisson: 1)"
}
