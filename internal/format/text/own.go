package text

import (
	"strings"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/verdict"
	"github.com/taktload/takt/pkg/takt"
)

// Own are the figures of the main latency that are the generator's own lateness, lowest first.
type Own []ownFigure

type ownFigure struct {
	name   string
	onTime float64 // the figure without the lateness, µs
}

// OwnOf are those of a report.
func OwnOf(r *takt.Report) (own Own) {
	name := Primary(r)
	onTime, known := stored.OnTime(r, name)
	for _, row := range rows() {
		if v := row.value(onTime); known && verdict.Own(row.value(r.Latency[name]), v) {
			own = append(own, ownFigure{row.name, v})
		}
	}
	return own
}

// Mark follows the value of a statistic in a column of a table, whose first column is the main latency.
func (o Own) Mark(column int, statistic string) string {
	for _, f := range o {
		if column == 0 && f.name == statistic {
			return "*"
		}
	}
	return ""
}

// Note says what a statistic was without the lateness; "": it is not the generator's own.
func (o Own) Note(statistic string) string {
	for _, f := range o {
		if f.name == statistic {
			return figure.Micros(f.onTime) + " without takt's own lateness"
		}
	}
	return ""
}

// String explains the marks.
func (o Own) String() string {
	var list []string
	for _, f := range o {
		list = append(list, f.name+" "+figure.Micros(f.onTime))
	}
	return "* takt's own lateness; without it: " + strings.Join(list, ", ")
}
