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
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/text"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

const (
	heatRows    = 48
	heatColumns = 300 // at most
	heatHeight  = 240 // pixels
)

// heat is the heat map: the number of operations by time and latency.
type heat struct {
	columns int
	end     float64
	y       scale
	counts  [][heatRows]uint64 // by column, from the fastest
}

// newHeat is an empty map for the latencies of r.
func newHeat(r *takt.Report, end float64) heat {
	l := r.Latency[text.Primary(r)]
	columns := len(r.Intervals)
	if first := r.Intervals[0].T; first > 0 { // the last interval may be short
		columns = int(min(float64(columns), max(1, math.Round(end/first))))
	}
	columns = min(heatColumns, columns)
	return heat{columns: columns, end: end, y: logarithmic(max(l.Min, 1e-3), max(l.Max, 1e-3)*1.02), counts: make([][heatRows]uint64, columns)}
}

// add counts the operations of an interval in the column of its middle.
func (m *heat) add(from, to float64, h *hist.Histogram) {
	column := max(0, min(m.columns-1, int((from+to)/2/max(m.end, 1e-9)*float64(m.columns))))
	for _, b := range h.Buckets() {
		row := int(m.y.at(hist.Micros(b.To)) * heatRows)
		m.counts[column][min(heatRows-1, row)] += b.Count
	}
}

// levels are the cells, a byte each, column by column: the square root of a cell's part of its
// column, so that few slow operations can be seen beside many fast ones.
func (m *heat) levels() []byte {
	var list []byte
	for _, column := range m.counts {
		var sum uint64
		for _, n := range column {
			sum += n
		}
		for _, n := range column {
			level := 0.0
			if n > 0 {
				level = max(12, 255*math.Sqrt(float64(n)/float64(sum)))
			}
			list = append(list, byte(level))
		}
	}
	return list
}

// picture is the map as PNG, in one colour that is more or less transparent, for light and dark
// pages.
func (m *heat) picture() (string, error) {
	palette := make(color.Palette, 256)
	for i := range palette {
		palette[i] = color.NRGBA{R: 0x0e, G: 0x8a, B: 0x8a, A: uint8(i)}
	}
	img := image.NewPaletted(image.Rect(0, 0, m.columns, heatRows), palette)
	for i, level := range m.levels() {
		img.SetColorIndex(i/heatRows, heatRows-1-i%heatRows, level)
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
		return block{Note: "The heat map could not be drawn."} // cannot happen: writes to memory
	}
	d := newDrawing(heatHeight)
	for _, v := range m.y.ticks(6) {
		d.horizontal(m.y.at(v), "grid", figure.Micros(v))
	}
	s.time(d)
	label := "heat map of latencies by second; the table of every interval has its percentiles"
	var b strings.Builder
	fmt.Fprintf(&b, `<div class="heat" data-columns="%d" data-rows="%d" data-low="%g" data-high="%g" data-end="%g">`,
		m.columns, heatRows, m.y.low, m.y.high, m.end)
	fmt.Fprintf(&b, `<img alt="" src="%s">`, picture)
	b.WriteString(string(d.svg(label, "")))
	b.WriteString(`</div>`)
	return block{Picture: template.HTML(b.String())} // numbers, constants and base64
}
