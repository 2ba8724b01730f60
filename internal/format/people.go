package format

import (
	"fmt"
	"io"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/format/report"
	"github.com/taktload/takt/internal/judge/capacity"
	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/pkg/takt"
)

// atEnd is a Writer that writes only the final report.
type atEnd func(*takt.Report) error

func (atEnd) Interval(takt.Interval, timeline.Lent) error { return nil }

func (write atEnd) Close(r *takt.Report) error { return write(r) }

// whole opens an output that write makes of the final report.
func whole(write func(io.Writer, *takt.Report) error) func(io.Writer, takt.Report) (Writer, error) {
	return func(w io.Writer, _ takt.Report) (Writer, error) {
		return atEnd(func(r *takt.Report) error { return write(w, r) }), nil
	}
}

// Text is the report for people, with or without colours: whoever opens it knows
// whether w is a terminal.
func Text(color bool) Format {
	return Format{Name: "text", Short: "the report for people", Open: whole(func(w io.Writer, r *takt.Report) error {
		if r.Kind == capacity.Kind {
			d, err := answer.Capacity(r)
			if err != nil {
				return err
			}
			return d.WriteText(w, color)
		}
		return report.Text(w, r, color)
	})}
}

func writeMarkdown(w io.Writer, r *takt.Report) error {
	if r.Kind == capacity.Kind {
		d, err := answer.Capacity(r)
		if err != nil {
			return err
		}
		return d.WriteMarkdown(w)
	}
	return report.Markdown(w, r)
}

// CapacitySVG draws the curve of a report of kind capacity: response and service time over
// the offered rate and the throughput.
func CapacitySVG() Format {
	return Format{Name: "svg", Short: "the curve of takt capacity as a picture", Open: whole(func(w io.Writer, r *takt.Report) error {
		if r.Kind != capacity.Kind {
			return fmt.Errorf("svg draws reports of kind capacity and this one is of kind %s; run takt capacity --from %s", r.Kind, r.ID)
		}
		c, err := capacity.In(r)
		if err != nil {
			return err
		}
		return answer.CapacitySVG(w, c, answer.CapacityWords(c)[0])
	})}
}
