package html

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

const (
	heatRows    = 48
	heatColumns = 300  // at most
	heatHeight  = 240  // pixels
	faintest    = 12   // level of a cell that is not empty
	heatWidth   = 1000 // of the picture, before the browser stretches it
)

// heat is the heat map: the number of operations by time and latency.
type heat struct {
	edges  []float64 // ends of the columns in seconds: each is the end of an interval
	y      scale
	counts [][heatRows]uint64 // by column, from the fastest
}

// newHeat is an empty map for the latencies of r. If there are too many intervals, a column has
// several whole ones.
func newHeat(r *takt.Report) heat {
	l := r.Latency[report.Primary(r)]
	m := heat{y: logarithmic(max(l.Min, 1e-3), max(l.Max, 1e-3)*1.02)}
	each := (len(r.Intervals) + heatColumns - 1) / heatColumns
	for i, iv := range r.Intervals {
		if (i+1)%each == 0 || i == len(r.Intervals)-1 {
			m.edges = append(m.edges, iv.T)
		}
	}
	m.counts = make([][heatRows]uint64, len(m.edges))
	return m
}

// add counts the operations of an interval that ends at t.
func (m *heat) add(t float64, h *hist.Histogram) {
	column, _ := slices.BinarySearch(m.edges, t)
	for _, b := range h.Buckets() {
		row := int(m.y.at(hist.Micros(b.To)) * heatRows)
		m.counts[min(column, len(m.counts)-1)][min(heatRows-1, row)] += b.Count
	}
}

// levels are the cells, a byte each, column by column: the logarithm of a cell's count as a part of
// the largest's, so that a single slow operation can be seen beside thousands of fast ones, and is pale.
func (m *heat) levels() []byte {
	whole := math.Log1p(float64(m.most()))
	var list []byte
	for _, column := range m.counts {
		for _, n := range column {
			level := 0.0
			if n > 0 {
				level = max(faintest, 255*math.Log1p(float64(n))/whole)
			}
			list = append(list, byte(math.Round(level)))
		}
	}
	return list
}

// most is the largest count of a cell.
func (m *heat) most() (n uint64) {
	for _, column := range m.counts {
		n = max(n, slices.Max(column[:]))
	}
	return n
}

func (m *heat) end() float64 { return max(1e-9, m.edges[len(m.edges)-1]) }

// picture is the map as PNG, in one colour that is more or less transparent, for light and dark
// pages.
func (m *heat) picture() (string, error) {
	palette := make(color.Palette, 256)
	for i := range palette {
		palette[i] = color.NRGBA{R: 0x0e, G: 0x8a, B: 0x8a, A: uint8(i)}
	}
	img := image.NewPaletted(image.Rect(0, 0, heatWidth, heatRows), palette)
	levels, column := m.levels(), 0
	for x := range heatWidth {
		for column < len(m.edges)-1 && (float64(x)+0.5)/heatWidth > m.edges[column]/m.end() {
			column++
		}
		for row := range heatRows {
			img.SetColorIndex(x, heatRows-1-row, levels[column*heatRows+row])
		}
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, img); err != nil {
		return "", err
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// block is the map with its axes. The script reads the levels from the picture and draws them on a
// canvas; without it the picture is shown.
func (m *heat) block(s *series) block {
	picture, err := m.picture()
	if err != nil {
		return block{Notes: []string{"The heat map could not be drawn."}} // cannot happen: writes to memory
	}
	d := newDrawing(heatHeight)
	for _, v := range m.y.ticks(6) {
		d.horizontal(m.y.at(v), "grid", figure.Micros(v))
	}
	s.time(d)
	label := "heat map of latencies by second; the table of every interval has its percentiles"
	var b strings.Builder
	var edges []string
	for _, t := range m.edges {
		edges = append(edges, strconv.FormatFloat(t, 'g', 6, 64))
	}
	fmt.Fprintf(&b, `<div class="heat" data-edges="%s" data-low="%g" data-high="%g" data-most="%d">`, strings.Join(edges, " "), m.y.low, m.y.high, m.most())
	fmt.Fprintf(&b, `<img alt="" src="%s">`, picture)
	b.WriteString(string(d.svg(label, "")))
	b.WriteString(`</div>`)
	return block{Picture: template.HTML(b.String())} // numbers, constants and base64
}
