package html

import "fmt"

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
