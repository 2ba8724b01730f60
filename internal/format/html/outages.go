package html

import (
	"fmt"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/text"
	"github.com/taktload/takt/pkg/takt"
)

// marks draws the outages and the commands of --fault below the curves of a chart.
func (s *series) marks(d *drawing) {
	for i := range s.outages {
		o := &s.outages[i]
		to := s.end
		if o.To != nil {
			to = *o.To
		}
		if from := s.x(o.From); from < 1 {
			d.area(from, min(1, s.x(to)), 0, 1, "outage")
		}
	}
	for i := range s.faults {
		f := &s.faults[i]
		if f.To == nil {
			continue // it did not start
		}
		d.vertical(min(1, s.x(f.From)), "fault")
		if s.x(*f.To-f.From) > 0.002 {
			d.vertical(min(1, s.x(*f.To)), "fault")
		}
		if d.height == heroHeight && i < mostNamed {
			d.text(min(1, s.x(f.From)), 12, "start", "fault-name", fmt.Sprintf(" fault %d", i+1))
		}
	}
}

// markLegend names what marks draws.
func (s *series) markLegend() (list []legend) {
	if len(s.outages) > 0 {
		list = append(list, legend{"outage", "outage"})
	}
	if len(s.faults) > 0 {
		list = append(list, legend{"faultkey", "begin and end of a command of --fault"})
	}
	return list
}

// outages is the section on the times in which the target did not do its work.
func outages(r *takt.Report) []section {
	if len(r.Outages)+len(r.Faults) == 0 {
		return nil
	}
	s := section{ID: "outages", Title: "Outages"}
	if len(r.Outages) > 0 {
		head := text.OutageHead()
		t := &table{Caption: "From the first lost connection or failed attempt to the success of each affected part.", Head: append(head, "what was out, and the first error"), Tail: 1}
		for i, row := range text.OutageRows(r) {
			t.Rows = append(t.Rows, append(row, text.OutageCause(&r.Outages[i])))
		}
		s.Blocks = append(s.Blocks, block{Table: t})
	} else {
		s.Title = "Faults"
	}
	if len(r.Faults) > 0 {
		t := &table{Caption: "Commands of --fault.", Head: []string{"fault", "command", "when", "end"}, Words: 4}
		for i := range r.Faults {
			f := &r.Faults[i]
			t.Rows = append(t.Rows, []string{page.Count(uint64(i + 1)), page.Clean(f.Command), text.FaultTime(f), text.FaultEnd(f) + text.FaultOutput(f)})
		}
		s.Blocks = append(s.Blocks, block{Table: t})
	}
	return []section{s}
}
