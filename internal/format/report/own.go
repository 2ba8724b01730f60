package report

import (
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// own are the figures of the main latency that are the generator's own lateness, lowest first.
type own []ownFigure

type ownFigure struct {
	name   string
	onTime float64 // the figure without the lateness, µs
}

// ownOf are those of a report that are shown.
func ownOf(r *takt.Report) (list own) {
	name := Primary(r)
	onTime, known := stored.OnTime(r, name)
	for _, s := range statistics() {
		l := r.Latency[name]
		if v := s.of(onTime); known && !isMax(&l, s.name) && verdict.Own(s.of(l), v) {
			list = append(list, ownFigure{s.name, v})
		}
	}
	return list
}

// mark follows the value of a statistic in a column of a table, whose first column is the main latency.
func (o own) mark(column int, statistic string) string {
	for _, f := range o {
		if column == 0 && f.name == statistic {
			return "*"
		}
	}
	return ""
}

// String explains the marks.
func (o own) String() string {
	var list []string
	for _, f := range o {
		list = append(list, f.name+" "+figure.Micros(f.onTime))
	}
	return "* takt's own lateness; without it: " + strings.Join(list, ", ")
}
