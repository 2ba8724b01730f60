package html

import (
	"math"
	"strconv"
)

// scale maps values to 0 … 1.
type scale struct {
	low, high float64
	log       bool
}

// linear is the scale from 0 to high.
func linear(high float64) scale { return scale{high: max(high, 1e-9)} }

// logarithmic is the scale from low to high, at least a factor of two.
func logarithmic(low, high float64) scale {
	low = max(low, 1e-3) // a nanosecond in µs, a histogram's smallest value
	return scale{low: low, high: max(high, 2*low), log: true}
}

// steep is the ratio from which a linear scale would hide the smaller values.
const steep = 8

// latencyScale is linear or logarithmic, whichever shows all values from low to high, and has some
// room at both ends.
func latencyScale(low, high float64) scale {
	if low > 0 && high/low > steep {
		return logarithmic(low/1.25, high*1.25)
	}
	return linear(high * 1.1)
}

func (s scale) at(v float64) float64 {
	f := (v - s.low) / (s.high - s.low)
	if s.log {
		f = math.Log(max(v, s.low)/s.low) / math.Log(s.high/s.low)
	}
	return min(1, max(0, f))
}

// beyond is −1 for a value below the scale, 1 for one above it, else 0.
func (s scale) beyond(v float64) int {
	room := 1e-9 * (s.high - s.low)
	switch {
	case v < s.low-room:
		return -1
	case v > s.high+room:
		return 1
	}
	return 0
}

// ticks are about n round values.
func (s scale) ticks(n int) (list []float64) {
	if !s.log {
		step := roundStep(s.high-s.low, n)
		for i := math.Ceil(s.low / step); i*step <= s.high*(1+1e-9); i++ {
			list = append(list, i*step)
		}
		return list
	}
	for _, within := range [][]float64{{1, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}, {1}} {
		if list = s.decades(within, 1); len(list) <= n+1 {
			return list
		}
	}
	return s.decades([]float64{1}, (len(list)+n-1)/n)
}

// decades are the multiples of every so many powers of ten.
func (s scale) decades(multiples []float64, every int) (list []float64) {
	for e := int(math.Floor(math.Log10(s.low))); e <= int(math.Ceil(math.Log10(s.high))); e++ {
		if e%every != 0 {
			continue
		}
		for _, m := range multiples {
			if v := m * math.Pow10(e); v >= s.low*(1-1e-9) && v <= s.high*(1+1e-9) {
				list = append(list, v)
			}
		}
	}
	return list
}

// roundStep is 1, 2 or 5 times a power of ten, so that length has at most n steps.
func roundStep(length float64, n int) float64 {
	step := math.Pow10(int(math.Floor(math.Log10(length / float64(n)))))
	for _, factor := range []float64{1, 2, 5} {
		if length/(step*factor) <= float64(n) {
			return step * factor
		}
	}
	return 10 * step
}

// timeTicks are about n instants of a run, in seconds: round in seconds, minutes or hours.
func timeTicks(end float64, n int) (list []float64) {
	if end <= 0 {
		return nil
	}
	step := roundStep(end, n)
	for _, s := range []float64{15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 4 * 3600, 12 * 3600, 24 * 3600} {
		if step > 10 && s >= end/float64(n) {
			step = s
			break
		}
	}
	for t := 0.0; t <= end*(1+1e-9); t += step {
		list = append(list, t)
	}
	return list
}

// short writes a coordinate.
func short(v float64) string { return strconv.FormatFloat(tenth(v)+0, 'f', -1, 64) }
