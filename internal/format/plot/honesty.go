package plot

import (
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/honest"
)

// HonestyRow is a generator under one load: a group of cells for each pathology.
type HonestyRow struct {
	Name       string
	Groups     []HonestyGroup
	Pathology  []string // names of the columns
	Generators int      // number of the generator, from 0: a line separates generators
}

// HonestyGroup are the figures of one trial; no cells: it was left out.
type HonestyGroup struct{ Cells []honest.Cell }

// The picture of trials, in pixels.
const (
	honestLeft, honestTop = 200.0, 84.0
	honestRow             = 24.0
	honestBox             = 9.0 // of a figure
	honestGap             = 10.0
)

// HonestyColours are the fills of figures by their state.
func HonestyColours() map[honest.State]string {
	return map[honest.State]string{
		honest.Right: "#2a7", honest.Wrong: "#c33", honest.Silent: "#7a1010", honest.Admitted: "#e0a100", honest.NotPrinted: "#ddd", honest.Unclear: "#bbb",
	}
}

// HonestyNames are the states in words.
func HonestyNames() map[honest.State]string {
	return map[honest.State]string{
		honest.Right: "right", honest.Wrong: "wrong", honest.Silent: "silent", honest.Admitted: "wrong, and it says so", honest.NotPrinted: "not printed", honest.Unclear: "unclear",
	}
}

// HonestySVG draws a box for each figure of each trial.
func HonestySVG(w io.Writer, rows []HonestyRow, title string) error {
	d := &drawing{}
	width, height := 760.0, honestTop+30
	column := (honestBox+1)*float64(len(honest.Figures())) + honestGap
	if len(rows) > 0 {
		width = max(width, honestLeft+column*float64(len(rows[0].Groups))+20)
		height += honestRow*float64(len(rows)) + 24
	}
	d.linef(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="12">`, width, height)
	d.linef(`<rect width="100%%" height="100%%" fill="#fff"/>`)
	d.text(width/2, 24, "middle", title)
	d.text(width/2, 42, "middle", "a row: a generator with that many connections; in each column: "+strings.Join(honest.Figures(), ", "))
	for i, row := range rows {
		y := honestTop + honestRow*float64(i)
		if i == 0 {
			for k, name := range row.Pathology {
				d.text(honestLeft+column*float64(k)+column/2-honestGap/2, honestTop-10, "middle", name)
			}
		} else if rows[i-1].Generators != row.Generators {
			d.segment(10, y-3, width-10, y-3, `stroke="#ccc"`)
		}
		d.text(honestLeft-10, y+honestBox+1, "end", page.Cut(row.Name, 30))
		for k, group := range row.Groups {
			d.honestGroup(honestLeft+column*float64(k), y, group)
		}
	}
	d.honestLegend(height - 30)
	d.linef("</svg>")
	_, err := io.WriteString(w, d.b.String())
	return err
}

// honestGroup draws the figures of a trial.
func (d *drawing) honestGroup(x, y float64, g HonestyGroup) {
	if g.Cells == nil {
		d.text(x, y+honestBox, "start", "left out")
		return
	}
	colours := HonestyColours()
	for i, figure := range honest.Figures() {
		for _, c := range g.Cells {
			if c.Figure == figure {
				fmt.Fprintf(&d.b, `<rect x="%.1f" y="%.1f" width="%.0f" height="%.0f" fill="%s"><title>%s: %s</title></rect>`+"\n",
					x+(honestBox+1)*float64(i), y, honestBox, honestBox+5, colours[c.State], c.Figure, HonestyNames()[c.State])
			}
		}
	}
}

// honestLegend explains the colours.
func (d *drawing) honestLegend(y float64) {
	x := honestLeft
	for _, s := range honest.States() {
		name := HonestyNames()[s]
		d.linef(`<rect x="%.1f" y="%.1f" width="%.0f" height="%.0f" fill="%s"/>`, x, y, honestBox, honestBox+5, HonestyColours()[s])
		d.text(x+honestBox+5, y+honestBox+2, "start", name)
		x += 7*float64(len(name)) + 34
	}
}
