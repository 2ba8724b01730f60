package answer

import (
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/generators"
)

// HonestyCurves is a picture of trials.
type HonestyCurves struct {
	Title   string
	Columns []string // names of pathologies
	Rows    []HonestyCurve
}

// HonestyCurve is a generator under one load.
type HonestyCurve struct {
	Name      string
	Trials    []*generators.Trial // one for each column; nil: there is none
	Generator int                 // its number, from 0: a line separates generators
}

// The picture of trials, in pixels.
const (
	honestLeft, honestTop = 200.0, 84.0
	honestRow             = 24.0
	honestBox             = 9.0 // of a figure
	honestGap             = 10.0
)

// honestColours are the fills of figures by their state.
func honestColours() map[generators.State]string {
	return map[generators.State]string{
		generators.Right: "#2a7", generators.Wrong: "#c33", generators.Silent: "#7a1010", generators.Admitted: "#e0a100", generators.NotPrinted: "#ddd", generators.Unclear: "#bbb",
	}
}

// honestNames are the states in words.
func honestNames() map[generators.State]string {
	return map[generators.State]string{
		generators.Right: "right", generators.Wrong: "wrong", generators.Silent: "silent", generators.Admitted: "wrong, and it says so", generators.NotPrinted: "not printed", generators.Unclear: "unclear",
	}
}

// HonestySVG draws a box for each figure of each trial.
func HonestySVG(w io.Writer, h HonestyCurves) error {
	d := &drawing{}
	width, height := 760.0, honestTop+30
	column := (honestBox+1)*float64(len(generators.Figures())) + honestGap
	if len(h.Rows) > 0 {
		width = max(width, honestLeft+column*float64(len(h.Columns))+20)
		height += honestRow*float64(len(h.Rows)) + 24
	}
	d.linef(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="12">`, width, height)
	d.linef(`<rect width="100%%" height="100%%" fill="#fff"/>`)
	d.text(width/2, 24, "middle", h.Title)
	d.text(width/2, 42, "middle", "a row: a generator with that many connections; in each column: "+strings.Join(generators.Figures(), ", "))
	for k, name := range h.Columns {
		d.text(honestLeft+column*float64(k)+column/2-honestGap/2, honestTop-10, "middle", name)
	}
	for i, row := range h.Rows {
		y := honestTop + honestRow*float64(i)
		if i > 0 && h.Rows[i-1].Generator != row.Generator {
			d.segment(10, y-3, width-10, y-3, `stroke="#ccc"`)
		}
		d.text(honestLeft-10, y+honestBox+1, "end", page.Cut(row.Name, 30))
		for k, t := range row.Trials {
			d.honestGroup(honestLeft+column*float64(k), y, t)
		}
	}
	d.honestLegend(height - 30)
	d.linef("</svg>")
	_, err := io.WriteString(w, d.b.String())
	return err
}

// honestGroup draws the figures of a trial.
func (d *drawing) honestGroup(x, y float64, t *generators.Trial) {
	if t == nil || t.Cells == nil {
		d.text(x, y+honestBox, "start", "left out")
		return
	}
	colours, names := honestColours(), honestNames()
	for i, figure := range generators.Figures() {
		if c := t.Cell(figure); c != nil {
			fmt.Fprintf(&d.b, `<rect x="%.1f" y="%.1f" width="%.0f" height="%.0f" fill="%s"><title>%s: %s</title></rect>`+"\n",
				x+(honestBox+1)*float64(i), y, honestBox, honestBox+5, colours[c.State], c.Figure, names[c.State])
		}
	}
}

// honestLegend explains the colours.
func (d *drawing) honestLegend(y float64) {
	x, colours, names := honestLeft, honestColours(), honestNames()
	for _, s := range generators.States() {
		name := names[s]
		d.linef(`<rect x="%.1f" y="%.1f" width="%.0f" height="%.0f" fill="%s"/>`, x, y, honestBox, honestBox+5, colours[s])
		d.text(x+honestBox+5, y+honestBox+2, "start", name)
		x += 7*float64(len(name)) + 34
	}
}
