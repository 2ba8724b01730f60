package apm

import (
	"errors"
	"time"
)

// Sample is the first body of a load with this number of events, spans per event and frames
// per span. Without spans the events are errors.
func Sample(events, spans, frames int) ([]byte, error) {
	o := New()
	o.Events, o.Spans, o.Frames = Number(events), Number(spans), Number(frames)
	if faults := o.Validate(nil); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	p := o.mix.parts[0]
	return newMaker(1, o.formOf(p.kind), time.Now()).body(p.shape).text, nil
}
