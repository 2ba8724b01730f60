package format

import (
	"io"

	"github.com/taktload/takt/internal/timeline"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/convert"
	"github.com/taktload/takt/pkg/takt"
)

// Load is the load format of Play-it-Again-Sam: a row per operation, which takt replay can
// read.
func Load() Format {
	return Format{
		Name: "load", Short: "one row per operation of takt replay, in the load format, which it reads again",
		Open: openLoad, Rows: true, Asked: true,
	}
}

type loadWriter struct {
	w     io.Writer
	steps bool    // the rate rises in steps
	rate  float64 // rate of the last step
	lines []byte
}

// openLoad writes the head at once, so that a full disk is noticed before the run.
func openLoad(w io.Writer, head takt.Report) (Writer, error) {
	_, steps := head.Variables["step_per_s"]
	_, err := io.WriteString(w, convert.LoadHead)
	return &loadWriter{w: w, steps: steps}, err
}

func (*loadWriter) Interval(takt.Interval, timeline.Lent) error { return nil }
func (*loadWriter) Close(*takt.Report) error                    { return nil }
func (*loadWriter) Samples([]string, []takt.Sample) error       { return nil }

// Records implements AskedWriter. A step begins before its first row. Rows of the previous
// step may follow, as their column expected shows.
func (l *loadWriter) Records(list []trace.Record) error {
	for i := range list {
		r := &list[i]
		if l.steps && r.Offered > l.rate {
			l.rate = r.Offered
			l.lines = convert.AppendLoadStep(l.lines, l.rate)
		}
		l.lines = convert.AppendLoadRow(l.lines, r)
		if len(l.lines) >= linesAtOnce || i == len(list)-1 {
			_, err := l.w.Write(l.lines)
			l.lines = l.lines[:0]
			if err != nil {
				return err
			}
		}
	}
	return nil
}
