package html

import (
	"fmt"
	"math"
	"slices"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/pkg/hist"
)

// curve is a latency of a run in the percentile spectrum.
type curve struct {
	name, class string
	h           *hist.Histogram
	ranges      []proof.Shown // intervals of percentiles
}

// beyond is how many operations must be slower than a quantile for it to mean something.
const beyond = 10

const spectrumHeight = 280

// spectrum draws latencies over 1 ÷ (1 − q), on a logarithmic axis: every nine is equally wide.
func spectrum(curves []curve) block {
	most, fewest, high, low := uint64(0), uint64(math.MaxUint64), 0.0, math.Inf(1)
	var b block
	for _, c := range curves {
		most, fewest = max(most, c.h.Count()), min(fewest, c.h.Count())
		high, low = max(high, hist.Micros(c.h.Max())), min(low, hist.Micros(c.h.Min()))
		if c.name != "" {
			b.Legend = append(b.Legend, legend{c.class, c.name})
		}
	}
	if most == 0 {
		return block{Notes: []string{"Nothing was measured."}}
	}
	x, y := logarithmic(1, float64(most)), latencyScale(low, high)
	d := newDrawing(spectrumHeight)
	for _, v := range y.ticks(5) {
		d.horizontal(y.at(v), "grid", figure.Micros(v))
	}
	var at []float64
	var names []string
	for _, q := range spectrumTicks(most) {
		at, names = append(at, x.at(1/(1-q))), append(names, page.TrimZeros(fmt.Sprintf("%.7f", q*100))+"%")
	}
	d.columns(at, func(i int) string { return names[i] })
	if from := x.at(float64(fewest) / beyond); from < 1 {
		d.area(from, 1, 0, 1, "doubtful")
		d.text(0.99, spectrumHeight-10, "end", "tick", "fewer than 10 are slower")
	}
	for _, c := range curves {
		if band := spectrumBand(c, x, y); band != nil {
			d.line(band, "fit-band")
			b.Legend = append(b.Legend, legend{"fit-band", "where the percentile is, with 95 % confidence"})
		}
		d.line(spectrumPoints(c.h, x, y), c.class)
	}
	b.Picture = d.svg("percentile spectrum: latency over the percentile, on the axis of HdrHistogram; the table has the percentiles", "")
	return b
}

// spectrumTicks are 0, 90, 99 … % as far as n operations reach.
func spectrumTicks(n uint64) []float64 {
	list := []float64{0, 0.5, 0.9}
	for rest := 0.01; 1/rest <= float64(n); rest /= 10 {
		list = append(list, 1-rest)
	}
	return list
}

// spectrumBand is a band between the ends of the intervals of neighbouring percentiles; nil: fewer than two are
// known.
func spectrumBand(c curve, x, y scale) []point {
	var low, high []point
	for _, s := range c.ranges {
		if s.Range != nil {
			at := x.at(1 / (1 - s.P))
			low, high = append(low, point{from: at, y: y.at(s.Range.Low)}), append(high, point{from: at, y: y.at(s.Range.High)})
		}
	}
	if len(low) < 2 {
		return nil
	}
	slices.Reverse(low)
	return append(high, low...)
}

// perDecade is the number of points of a curve for each nine.
const perDecade = 24

func spectrumPoints(h *hist.Histogram, x, y scale) (list []point) {
	n := float64(h.Count())
	if n == 0 {
		return nil
	}
	for i := 0; ; i++ {
		v := math.Pow(10, float64(i)/perDecade)
		if v >= n {
			break
		}
		list = append(list, point{from: x.at(v), y: y.at(hist.Micros(h.Quantile(1 - 1/v)))})
	}
	return append(list, point{from: x.at(n), y: y.at(hist.Micros(h.Max()))})
}
