package html

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/functions"
)

// Bounds of a flame graph: what is smaller could not be read, and names are those of another program.
const (
	flameLeast  = 0.005 // share of a request
	flameFrames = 1500
	flameLevels = 44 // as many as fit a printed page
	flameLevel  = 18 // height in pixels
	flameName   = 160
	flameText   = 0.025 // least width of a frame with its name
)

// flameShades are the differences, as shares of a request of base, from which a frame has a darker colour.
var flameShades = []float64{0.01, 0.03, 0.1}

// flame is a flame graph as it is drawn.
type flame struct {
	*functions.Stacks
	*drawing
	whole  [][2]float64
	calls  map[int][]int // frames that are drawn, by their caller
	total  [2]float64
	levels int
	lowest int // first level that is drawn
}

// flameGraph draws the stacks of head: width is the time of head, colour the difference to base. Callers are below.
func flameGraph(a answer.Flame) []block {
	f := &flame{Stacks: a.Stacks, whole: a.Stacks.Whole(), calls: map[int][]int{}}
	for i, frame := range f.Frames {
		if frame.Caller < 0 {
			f.total[0], f.total[1] = f.total[0]+f.whole[i][0], f.total[1]+f.whole[i][1]
		}
	}
	if f.total[0] <= 0 || f.total[1] <= 0 {
		return nil
	}
	gone := f.choose()
	f.levels = f.depth(-1)
	f.lowest = f.trunk(f.levels - flameLevels)
	shown := min(f.levels-f.lowest, flameLevels)
	f.drawing = newDrawing(float64(shown * flameLevel))
	f.draw(-1, 0, 0)
	b := block{Title: "Flame graph: CPU time of a request of head, by stack"}
	for i, share := range flameShades {
		b.Legend = append(b.Legend, legend{fmt.Sprintf("more-%d", i+1), overShare(share, " more", i)})
	}
	for i, share := range flameShades {
		b.Legend = append(b.Legend, legend{fmt.Sprintf("less-%d", i+1), overShare(share, " less", i)})
	}
	b.Picture = f.svgOf("plot flame", "flame graph of head, coloured by the difference to base; the table has the functions", "")
	b.Help = fmt.Sprintf("Callers are below. Width: time of head, %s in all. Colour: how much more or less than in base, of a request of base; an estimate: the table says what is proven. Parts below %s %% are left out.",
		figure.Micros(f.total[1]), page.Short(flameLeast*100))
	if f.lowest > 0 {
		b.Help += fmt.Sprintf(" So are the outermost %d calls, which all stacks share.", f.lowest)
	}
	if gone >= flameLeast*f.total[0] {
		b.Help += fmt.Sprintf(" Calls that only base makes have no width: %s of a request.", figure.Micros(gone))
	}
	return []block{b}
}

func overShare(share float64, word string, i int) string {
	if i > 0 {
		word = ""
	}
	return "over " + page.Short(share*100) + " %" + word
}

// choose finds the frames that are drawn. gone is the time of calls that only base makes.
func (f *flame) choose() (gone float64) {
	least := flameLeast * f.total[1]
	times := make([]float64, 0, len(f.whole))
	for _, w := range f.whole {
		times = append(times, w[1])
	}
	slices.SortFunc(times, func(a, b float64) int { return cmp.Compare(b, a) })
	if len(times) > flameFrames {
		least = max(least, math.Nextafter(times[flameFrames], math.Inf(1)))
	}
	for i, frame := range f.Frames {
		switch {
		case f.whole[i][1] >= least:
			f.calls[frame.Caller] = append(f.calls[frame.Caller], i)
		case f.whole[i][1] == 0 && (frame.Caller < 0 || f.whole[frame.Caller][1] > 0):
			gone += f.whole[i][0]
		}
	}
	for _, list := range f.calls {
		slices.SortFunc(list, func(a, b int) int { return cmp.Compare(f.Frames[a].Name, f.Frames[b].Name) })
	}
	return gone
}

// depth is the number of levels of what a frame calls.
func (f *flame) depth(of int) (levels int) {
	for _, i := range f.calls[of] {
		levels = max(levels, 1+f.depth(i))
	}
	return levels
}

// trunk is the number of levels, at most most, with one frame that calls all others.
func (f *flame) trunk(most int) (levels int) {
	at := -1
	for levels < most && len(f.calls[at]) == 1 && len(f.calls[f.calls[at][0]]) > 0 {
		at = f.calls[at][0]
		levels++
	}
	return levels
}

// draw adds what a frame calls, from x on.
func (f *flame) draw(caller, level int, x float64) {
	for _, i := range f.calls[caller] {
		width := f.whole[i][1] / f.total[1]
		if at := level - f.lowest; at >= 0 && at < flameLevels {
			f.frame(i, at, x, width)
		}
		f.draw(i, level+1, x)
		x += width
	}
}

// frame draws a frame. Its own picture cuts its name at its edge.
func (f *flame) frame(i, level int, x, width float64) {
	name, w := page.Cut(page.Clean(f.Frames[i].Name), flameName), f.whole[i]
	text := ""
	if width >= flameText {
		short := name[strings.LastIndexByte(strings.SplitN(name, "[", 2)[0], '/')+1:]
		text = fmt.Sprintf(`<text x="4" y="13">%s</text>`, html.EscapeString(short))
	}
	title := fmt.Sprintf("%s: %s of a request (%s), base %s (%s), %s", name, figure.Micros(w[1]), page.Percent(w[1], f.total[1]),
		figure.Micros(w[0]), page.Percent(w[0], f.total[0]), answer.MicrosMore(w[1]-w[0]))
	fmt.Fprintf(&f.over, `<svg x="%s" y="%s" width="%s" height="%d"><title>%s</title><rect class="%s" width="100%%" height="100%%"/>%s</svg>`,
		fine(x), short(f.height-float64((level+1)*flameLevel)), fine(width), flameLevel, html.EscapeString(title), f.shade(w), text)
}

// shade is the class of a frame's colour.
func (f *flame) shade(w [2]float64) string {
	share, word := (w[1]-w[0])/f.total[0], "more"
	if share < 0 {
		share, word = -share, "less"
	}
	n := 0
	for n < len(flameShades) && share >= flameShades[n] {
		n++
	}
	if n == 0 {
		return "alike"
	}
	return fmt.Sprintf("%s-%d", word, n)
}
