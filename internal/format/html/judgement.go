package html

import (
	"io"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Judgement writes the page of verify.
func Judgement(w io.Writer, j verify.Judgement) error {
	d, err := (*Frame)(nil).answered(answer.Judgement(j), j, nil)
	if err != nil {
		return err
	}
	return d.write(w)
}

// Contrast writes the page of compare, with the reports of both sides in it.
func Contrast(w io.Writer, c verify.Contrast, base, head []*takt.Report) error {
	return (*Frame)(nil).Contrast(w, c, base, head)
}

// Contrast writes the page of compare.
func (f *Frame) Contrast(w io.Writer, c verify.Contrast, base, head []*takt.Report) error {
	d, err := f.answered(answer.Contrast(c, base, head), nil, nil)
	if err != nil {
		return err
	}
	names := [2]string{answer.Revision(c.Base.Name), answer.Revision(c.Head.Name)}
	for i, side := range [][]*takt.Report{base, head} {
		if f != nil && len(side) == 1 { // a page of takt ui was not asked for by name
			d.Subtitle = append(d.Subtitle, names[i]+": "+heading(side[0]).Subtitle[0]+", "+heading(side[0]).Title)
		}
	}
	return d.writeSides(w, base, head)
}

// mostCurves is the largest number of runs of a side that have a curve each.
const mostCurves = 12

// overlaid draws a latency of all runs, laid over each other; nothing if a run has no such latency.
func overlaid(o answer.Spectra) ([]block, error) {
	var single, merged []curve
	for i, side := range o.Sides {
		class := []string{"base", "response"}[i]
		all := hist.New()
		for _, r := range side {
			h, err := hist.Decode(r.Latency[o.Latency].HDR)
			if err != nil {
				return nil, err
			}
			if h.Count() == 0 {
				return nil, nil
			}
			all.Merge(h)
			single = append(single, curve{class: class + " thin", h: h})
		}
		name := o.Names[i]
		if len(side) > 1 {
			name += ", all runs merged"
		}
		merged = append(merged, curve{name: name, class: class, h: all})
	}
	if len(single) == 2 || len(single) > 2*mostCurves {
		single = nil
	}
	b := spectrum(append(single, merged...))
	if single != nil {
		b.Help = "The thin curves are the single runs."
	}
	return []block{b}, nil
}
