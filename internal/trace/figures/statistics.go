// Package figures sums up the records of a log: as a whole, by the second, and by the rate.
package figures

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// maxMethods limits the methods that have their own count; others count as "other".
const maxMethods = 32

// Statistics says what is in a log.
type Statistics struct {
	Requests  uint64            `json:"requests"`
	First     time.Time         `json:"first,omitzero"` // starts of the first and the last request; zero: no times
	Last      time.Time         `json:"last,omitzero"`
	PerSecond Distribution      `json:"per_second"`           // requests in each second from First to Last, including seconds without requests
	PeakAt    time.Time         `json:"peak_at,omitzero"`     // the first second with PerSecond.Max
	MeanPerS  float64           `json:"mean_per_s,omitempty"` // (requests − 1) ÷ (Last − First); 0 if Last is First
	Gap       *trace.Gap        `json:"-"`                    // the longest time without a request; nil: fewer than two different times
	GapS      float64           `json:"longest_gap_s,omitempty"`
	Bursts    Burstiness        `json:"burstiness,omitzero"`
	Bytes     Distribution      `json:"bytes"`   // sizes of the answers whose size is known
	Latency   takt.Latency      `json:"latency"` // count 0: the log has no latencies
	Methods   map[string]uint64 `json:"methods"`
	Statuses  map[int]uint64    `json:"statuses"` // 0: not logged
}

// Distribution summarises whole numbers. Percentiles have three significant digits.
type Distribution struct {
	Count uint64 `json:"count"`
	Sum   uint64 `json:"sum"`
	P50   uint64 `json:"p50"`
	P90   uint64 `json:"p90"`
	P99   uint64 `json:"p99"`
	Max   uint64 `json:"max"`
}

// tally counts whole numbers. The histogram cannot record 0, so tally counts zeros itself.
type tally struct {
	h     *hist.Histogram
	zeros uint64
	sum   uint64
	max   uint64
}

func (t *tally) add(n uint64) {
	t.sum += n
	t.max = max(t.max, n)
	if n == 0 {
		t.zeros++
		return
	}
	t.h.Record(time.Duration(min(n, uint64(hist.Highest))))
}

// quantile is the quantile of all numbers, zeros included.
func (t *tally) quantile(q float64) uint64 {
	total := float64(t.zeros + t.h.Count())
	rank := math.Ceil(q*total) - float64(t.zeros)
	if rank <= 0 {
		return 0
	}
	return min(uint64(t.h.Quantile(rank/float64(t.h.Count()))), t.max)
}

func (t *tally) distribution() Distribution {
	return Distribution{Count: t.zeros + t.h.Count(), Sum: t.sum, P50: t.quantile(0.5), P90: t.quantile(0.9), P99: t.quantile(0.99), Max: t.max}
}

// Survey reads a stream to its end. The stream must be in order, as after trace.Timed. stamps is asked at
// the end for the resolution of the stamps; nil: they are exact.
func Survey(src trace.Stream, stamps *Stamps) (Statistics, error) {
	s := Statistics{Methods: map[string]uint64{}, Statuses: map[int]uint64{}}
	rates, sizes, latency := tally{h: hist.New()}, tally{h: hist.New()}, hist.New()
	var counted time.Time // the last second that rates has
	var n uint64          // requests of the second after it
	var before trace.Place
	var bursts burstiness
	err := bySecond(src, func(r *trace.Record) error {
		s.note(r)
		if r.Bytes != trace.Unknown {
			sizes.add(uint64(r.Bytes))
		}
		if r.Latency != trace.Unknown {
			latency.Record(r.Latency)
		}
		if r.At.IsZero() {
			return nil
		}
		s.noteGap(before, r)
		bursts.add(r.At)
		before = trace.PlaceOf(r)
		n++
		return nil
	}, func(second time.Time) {
		if n > rates.max {
			s.PeakAt = second
		}
		if !counted.IsZero() {
			rates.zeros += uint64(second.Unix() - counted.Unix() - 1)
		}
		rates.add(n)
		counted, n = second, 0
	})
	if !counted.IsZero() {
		s.PerSecond = rates.distribution()
	}
	if span := s.Last.Sub(s.First).Seconds(); span > 0 {
		s.MeanPerS = float64(rates.sum-1) / span
	}
	if stamps == nil {
		stamps = &Stamps{}
	}
	s.Bursts = bursts.found(stamps.Resolution())
	s.Bytes, s.Latency = sizes.distribution(), withZeros(latency.Summary())
	return s, err
}

// withZeros makes 0 of latencies that a histogram has as its lowest value, 1 ns: no log is that fine, and
// one of milliseconds has many zeros.
func withZeros(l takt.Latency) takt.Latency {
	for _, v := range []*float64{&l.Min, &l.Mean, &l.P50, &l.P75, &l.P90, &l.P95, &l.P99, &l.P99_9, &l.P99_99, &l.Max} {
		if *v <= hist.Micros(hist.Lowest) {
			*v = 0
		}
	}
	return l
}

func (s *Statistics) noteGap(before trace.Place, r *trace.Record) {
	if d := r.At.Sub(before.At); !before.At.IsZero() && d > 0 && (s.Gap == nil || d > s.Gap.Length) {
		s.Gap, s.GapS = &trace.Gap{From: before, To: trace.PlaceOf(r), Length: d}, d.Seconds()
	}
}

func (s *Statistics) note(r *trace.Record) {
	if s.First.IsZero() {
		s.First = r.At
	}
	s.Requests++
	if r.At.After(s.Last) {
		s.Last = r.At
	}
	s.Statuses[r.Status]++
	method := string(r.Method)
	if _, known := s.Methods[method]; !known && len(s.Methods) >= maxMethods {
		method = "other"
	}
	s.Methods[method]++
}

// WriteText writes s for people, one subject per line.
func (s *Statistics) WriteText(w io.Writer) error {
	var b []byte
	line := func(name, form string, args ...any) {
		b = append(fmt.Appendf(fmt.Appendf(b, "%-12s", name), form, args...), '\n')
	}
	line("requests", "%d", s.Requests)
	if s.PerSecond.Count > 0 {
		const form = "2006-01-02 15:04:05.000 -0700"
		line("time", "%s to %s, %v", s.First.Format(form), s.Last.Format(form), s.Last.Sub(s.First).Round(time.Millisecond))
		p := s.PerSecond
		mean := ""
		if s.MeanPerS > 0 {
			mean = fmt.Sprintf("mean %.6g/s, ", s.MeanPerS)
		}
		line("rate", "%sby the second p50 %d, p90 %d, p99 %d, max %d at %s", mean, p.P50, p.P90, p.P99, p.Max, s.PeakAt.Format("2006-01-02 15:04:05"))
	}
	if s.Gap != nil && s.Gap.Length >= time.Minute {
		line("longest gap", "%v", s.Gap)
	}
	if text := s.Bursts.text(); text != "" {
		line("burstiness", "%s", text)
	}
	line("methods", "%s", mix(s.Methods, s.Requests, func(m string) string { return m }))
	line("status", "%s", mix(s.Statuses, s.Requests, statusName))
	if p := s.Bytes; p.Count > 0 {
		line("bytes", "total %d, p50 %d, p90 %d, p99 %d, max %d", p.Sum, p.P50, p.P90, p.P99, p.Max)
	}
	if l := s.Latency; l.Count > 0 {
		line("latency", "mean %s, p50 %s, p90 %s, p95 %s, p99 %s, max %s", figure.Micros(l.Mean), figure.Micros(l.P50), figure.Micros(l.P90), figure.Micros(l.P95), figure.Micros(l.P99), figure.Micros(l.Max))
	}
	_, err := w.Write(b)
	return err
}

func statusName(status int) string {
	if status == 0 {
		return "none"
	}
	return strconv.Itoa(status)
}

// mix lists counts with their shares, most frequent first.
func mix[K cmp.Ordered](counts map[K]uint64, total uint64, name func(K) string) string {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	text := ""
	for i, k := range keys {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s %d (%.3g %%)", name(k), counts[k], 100*float64(counts[k])/float64(total))
	}
	return text
}
