package html

import (
	"fmt"
	"io"
	"slices"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/pkg/takt"
)

// writeCapacity writes the page of a report of kind capacity.
func (f *Frame) writeCapacity(w io.Writer, r *takt.Report) error {
	found, err := answer.Capacity(r)
	if err != nil {
		return err
	}
	d, err := f.answered(found, nil, r)
	if err != nil {
		return err
	}
	c, err := capacity.In(r)
	if err != nil {
		return err
	}
	about := heading(r)
	d.Tool, d.Subtitle, d.Cards = about.Tool, about.Subtitle, capacityCards(c)
	return d.write(w, r)
}

func capacityCards(c capacity.Answer) (list []part.Card) {
	switch {
	case c.Ranged():
		list = append(list, part.Card{Name: "highest rate", Value: rateRange(c.Interval), Note: percentOf(c.Confidence) + " interval"})
	case c.Sustainable > 0:
		note := ""
		if c.Interval.Low != nil && c.Interval.High != nil {
			note = rateRange(c.Interval)
		}
		list = append(list, part.Card{Name: "highest rate", Value: page.Rate(page.Round3(c.Sustainable)), Note: note})
	}
	if c.Knee != nil {
		list = append(list, part.Card{Name: "knee", Value: "near " + page.Rate(page.Round3(*c.Knee)), Note: ""})
	}
	if c.Machines != nil {
		n, note := fmt.Sprint(c.Machines.Planned), "planned for "+page.Rate(c.Need)
		if c.Machines.Planned == 0 {
			n, note = fmt.Sprint("≤ ", c.Machines.Count), "for "+page.Rate(c.Need)+", as far as is known"
		}
		list = append(list, part.Card{Name: "machines", Value: n, Note: note})
	}
	return append(list, part.Card{Name: "steps", Value: fmt.Sprint(len(c.Steps)), Note: ""})
}

func rateRange(i capacity.Range) string {
	low, high := page.Ends(*i.Low, *i.High)
	return page.Rate(low) + " – " + page.Rate(high)
}

func percentOf(share float64) string { return page.Short(share*100) + " %" }

// capacityCurve draws the hockey stick.
func capacityCurve(c capacity.Answer) block {
	rate, time, bound := answer.CapacityRange(c)
	if rate <= 0 || time <= 0 {
		return block{Notes: []string{"No step has a latency."}}
	}
	x, y := linear(rate*1.03), linear(time*1.03)
	d := newDrawing(heroHeight + 60)
	ticks := x.ticks(8)
	var at []float64
	for _, v := range ticks {
		at = append(at, x.at(v))
	}
	d.columns(at, func(i int) string { return page.Rate(ticks[i]) })
	for _, v := range y.ticks(5) {
		d.horizontal(y.at(v), "grid", figure.Micros(v))
	}
	b := block{Legend: []legend{{"dotkey", "response " + c.Statistic}, {"ring", "service " + c.Statistic}}}
	b.Legend = append(b.Legend, capacityFit(d, c, x, y)...)
	b.Legend = append(b.Legend, capacityLimits(d, c, x, y, bound)...)
	for i, s := range c.Steps {
		response, service := c.Shown(s)
		if service > 0 {
			d.upright(x.at(s.Offered), y, service, 4, "ring", "service "+c.Statistic+" "+figure.Micros(service))
		}
		class := "dot"
		switch {
		case !c.Counts(s):
			class += " gone"
		case !s.Met:
			class += " over"
		}
		d.link(x.at(s.Offered), y, response, answer.StepID(i), class, fmt.Sprintf("%s: response %s %s, %s", page.Rate(s.Offered), c.Statistic, figure.Micros(response), answer.StepWord(c, s)))
	}
	b.Legend = append(b.Legend, legend{"dotkey over", "broke the SLO"})
	b.Picture = d.svg("response and service time over the offered rate; the table has the steps", "")
	b.Help = "An arrow at the upper edge is a step above the picture. Grey steps do not count: the generator or its host shaped them."
	return b
}

// capacityFit draws the fitted curve with its band.
func capacityFit(d *drawing, c capacity.Answer, x, y scale) []legend {
	var line, band, lower []point
	for _, p := range c.Fit() {
		at := x.at(p.Rate)
		line, band, lower = append(line, point{from: at, y: y.at(p.Time)}), append(band, point{from: at, y: y.at(p.High)}), append(lower, point{from: at, y: y.at(p.Low)})
	}
	if line == nil {
		return nil
	}
	slices.Reverse(lower)
	d.line(append(band, lower...), "fit-band")
	d.line(line, "fit")
	return []legend{{"fit-band", "fitted response " + c.Statistic + " and its 95 % band"}}
}

// capacityLimits draws the SLO, the limit with its interval, and the knee.
func capacityLimits(d *drawing, c capacity.Answer, x, y scale, bound float64) (list []legend) {
	if i := c.Interval; i.Low != nil && i.High != nil {
		d.area(x.at(*i.Low), x.at(*i.High), 0, 1, "range")
		list = append(list, legend{"range", "interval of the limit"})
	}
	if c.Sustainable > 0 && !c.Ranged() {
		d.vertical(x.at(c.Sustainable), "mark")
		d.text(x.at(c.Sustainable), -6, "middle", "quiet", page.Rate(page.Round3(c.Sustainable)))
	}
	if c.Knee != nil {
		d.vertical(x.at(*c.Knee), "knee")
		d.text(x.at(*c.Knee), 12, "middle", "quiet", "knee")
	}
	if bound > 0 {
		d.horizontal(y.at(bound), "bound", "")
		d.text(0.005, d.y(y.at(bound))-5, "start", "bound-name", "SLO "+figure.Micros(bound))
		list = append(list, legend{"bound", "SLO"})
	}
	if l := c.Line; l != nil && l.Rate >= 0 && l.Rate <= x.high {
		top := min(x.high, l.Rate+l.Slope*y.high)
		d.line([]point{{from: x.at(l.Rate), y: 0}, {from: x.at(top), y: 1}}, "limit")
	}
	return list
}
