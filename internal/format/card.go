package format

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math"
	"strings"
	"time"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// The card is a picture of 1200 × 630, the size that chats and forges show of a link. These are places in it.
const (
	cardLeft, cardRight       = 60, 1140
	curveLeft, curveRight     = 150, 760
	curveTop, curveBottom     = 290, 540
	cardLine, cardFigures     = 44, 800 // height of a line of the verdict; left edge of the key figures
	cardColumns, cardSentence = 62, 3   // characters of a line of the verdict, and lines
	curvePoints               = 200
)

// card draws.
type card struct{ b bytes.Buffer }

func (c *card) linef(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

// text writes at most so many characters.
func (c *card) text(x, y float64, size int, more, s string, most int) {
	c.linef(`<text x="%.1f" y="%.1f" font-size="%d"%s>%s</text>`, x, y, size, more, html.EscapeString(page.Cut(page.Clean(s), most)))
}

// writeCard draws the verdict, a curve and the key figures of a run, or of a capacity.
func writeCard(w io.Writer, r *takt.Report) error {
	var c card
	if r.Kind == capacity.Kind {
		found, err := capacity.In(r)
		if err != nil {
			return err
		}
		tone := page.Yellow
		if found.Ended == capacity.EndFound {
			tone = page.Green
		}
		c.open(report.Title(r), tone, answer.CapacityWords(found)[0])
		c.steps(found)
		c.figures(capacityCards(found))
	} else {
		colour, words := report.VerdictWords(r)
		c.open(report.Title(r), colour, words)
		c.curve(r)
		c.figures(report.Cards(r))
	}
	c.text(cardLeft, 605, 17, ` fill="#57606a"`, report.Started(r)+" · "+r.Tool.Name+" "+r.Tool.Version, 80)
	c.linef("</svg>")
	_, err := w.Write(c.b.Bytes())
	return err
}

// open draws the title and the verdict.
func (c *card) open(title, colour, words string) {
	c.linef(`<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630" viewBox="0 0 1200 630" font-family="sans-serif" fill="#1b2430">`)
	c.linef(`<rect width="1200" height="630" fill="#fff"/>`)
	tone := map[string]string{page.Red: "#b3261e", page.Yellow: "#9a6700", page.Green: "#1a7f37"}[colour]
	c.linef(`<rect width="18" height="630" fill="%s"/>`, tone)
	c.text(cardLeft, 70, 34, ` font-weight="bold"`, "takt", 10)
	c.text(cardLeft+100, 70, 26, ` fill="#57606a"`, title, 70)
	for i, line := range page.Wrap(page.Clean(words), cardColumns) {
		if i < cardSentence {
			c.text(cardLeft, 135+float64(i)*cardLine, 32, fmt.Sprintf(` fill="%s" font-weight="bold"`, tone), line, cardColumns+10)
		}
	}
}

// figures writes the first four key figures.
func (c *card) figures(list []part.Card) {
	for i, f := range list[:min(4, len(list))] {
		y := 300 + float64(i)*72
		c.text(cardFigures, y, 20, ` fill="#57606a"`, f.Name, 26)
		c.text(cardRight, y, 30, ` font-weight="bold" text-anchor="end"`, f.Value, 16)
		c.text(cardFigures, y+26, 17, ` fill="#57606a"`, f.Note, 42)
	}
}

func capacityCards(c capacity.Answer) []part.Card {
	list := []part.Card{{Name: "sustainable", Value: page.Rate(page.Round3(c.Sustainable)), Note: c.SLO}}
	if c.Interval.High != nil {
		list = append(list, part.Card{Name: "breaks at", Value: page.Rate(page.Round3(*c.Interval.High))})
	}
	return append(list, part.Card{Name: "steps", Value: fmt.Sprint(len(c.Steps)), Note: "the highest at " + page.Rate(c.Offered())})
}

// axes draws the frame of a curve, with its title, up to the time most.
func (c *card) axes(title string, most time.Duration) (y func(time.Duration) float64) {
	y = func(d time.Duration) float64 {
		return curveBottom - (curveBottom-curveTop)*float64(d)/float64(most)
	}
	c.text(curveLeft, curveTop-18, 20, ` fill="#57606a"`, title, 50)
	for _, d := range []time.Duration{0, most / 2, most} {
		c.linef(`<path d="M%d %.1fH%d" stroke="#d0d7de"/>`, curveLeft, y(d), curveRight)
		c.text(curveLeft-12, y(d)+6, 18, ` text-anchor="end"`, figure.Duration(d), 12)
	}
	return y
}

// label names a place of a curve below it.
func (c *card) label(x float64, text string) {
	c.text(x, curveBottom+28, 18, ` text-anchor="middle"`, text, 10)
}

// stroke draws the line of a curve.
func (c *card) stroke(points []string) {
	if len(points) > 0 {
		c.linef(`<path d="M%s" fill="none" stroke="#0969da" stroke-width="4"/>`, strings.Join(points, "L"))
	}
}

func point(x, y float64) string { return fmt.Sprintf("%.1f %.1f", x, y) }

// steps draws the response time of each step over its rate.
func (c *card) steps(found capacity.Answer) {
	list := found.ByRate()
	most, rate := 0.0, found.Offered()
	for _, s := range list {
		response, _ := found.Shown(s)
		most = max(most, response)
	}
	if most <= 0 || rate <= 0 {
		c.text(curveLeft, (curveTop+curveBottom)/2, 22, ` fill="#57606a"`, "no step has a latency", 60)
		return
	}
	y := c.axes("response time by offered rate", time.Duration(most*1000))
	var points []string
	for _, s := range list {
		if response, _ := found.Shown(s); response > 0 {
			points = append(points, point(curveLeft+(curveRight-curveLeft)*s.Offered/rate, y(time.Duration(response*1000))))
		}
	}
	c.label(curveLeft, "0")
	c.label(curveRight, page.Rate(rate))
	c.stroke(points)
}

// curve draws the percentiles of the run's first latency, each further nine as wide as the one before.
func (c *card) curve(r *takt.Report) {
	name := report.Primary(r)
	l := r.Latency[name]
	h, err := hist.Decode(l.HDR)
	if err != nil || l.Count == 0 {
		c.text(curveLeft, (curveTop+curveBottom)/2, 22, ` fill="#57606a"`, "no operation has a latency", 60)
		return
	}
	nines := max(1, min(4, math.Log10(float64(l.Count)))) // beyond, a percentile is the maximum
	most := max(h.Quantile(1-math.Pow(10, -nines)), time.Nanosecond)
	x := func(nine float64) float64 { return curveLeft + (curveRight-curveLeft)*nine/nines }
	y := c.axes(page.Words(name)+" time by percentile", most)
	for i, text := range []string{"p0", "p90", "p99", "p99.9", "p99.99"} {
		if float64(i) <= nines {
			c.label(x(float64(i)), text)
		}
	}
	var points []string
	for i := range curvePoints + 1 {
		nine := nines * float64(i) / curvePoints
		points = append(points, point(x(nine), y(h.Quantile(1-math.Pow(10, -nine)))))
	}
	c.stroke(points)
}
