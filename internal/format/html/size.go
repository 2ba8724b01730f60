package html

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/merge"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// largest is the size of a page in bytes up to which its report has every interval, and fewest the
// number of intervals that it has anyway.
const (
	largest = 500_000
	fewest  = 4
)

// writeRun writes the page of a run. In a large page the report inside has longer intervals, whose
// histograms are merged exactly. So the page can be sent by mail, and all figures of the run stay.
// The charts have every interval.
func (d *webPage) writeRun(w io.Writer, r *takt.Report) error {
	for {
		var b bytes.Buffer
		if err := d.write(&b, r); err != nil {
			return err
		}
		if rest := b.Len() - len(d.Data); b.Len() <= largest || rest > largest && len(d.Data) <= largest || len(r.Intervals) < 2*fewest {
			_, err := w.Write(b.Bytes())
			return err
		}
		shorter, err := halve(r)
		if err != nil {
			return err
		}
		r = shorter
		d.About = fmt.Sprintf("The intervals of the report inside last %s, so that the page stays below %d KB; -o json has every interval.", page.Span(r.IntervalS), largest/1000)
	}
}

// halve is r with half as many intervals.
func halve(r *takt.Report) (*takt.Report, error) {
	c := *r
	c.IntervalS = 2 * max(1, r.IntervalS)
	var err error
	c.ServerSeconds = timeline.Coarser(r.ServerSeconds, max(fewest, len(r.ServerSeconds)/2))
	c.Intervals, err = merge.Coarser(r.Intervals, c.IntervalS)
	return &c, err
}

// pack returns the element with the reports.
func pack(reports []*takt.Report) (string, error) {
	packed, err := document.PackPage(reports...)
	return document.PageOpen + packed + document.PageClose, err
}

// writeSides writes the page of compare. If the reports are too large for a page, they are in it
// without their intervals.
func (d *webPage) writeSides(w io.Writer, base, head []*takt.Report) error {
	all := slices.Concat(base, head)
	var b bytes.Buffer
	err := d.write(&b, all...)
	if err == nil && b.Len() > largest {
		for i, r := range all {
			short := *r
			short.Intervals, short.ServerSeconds = nil, nil
			all[i] = &short
		}
		b.Reset()
		d.About = fmt.Sprintf("The reports inside have no intervals, so that the page stays below %d KB.", largest/1000)
		err = d.write(&b, all...)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}
