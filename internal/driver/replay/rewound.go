package replay

import (
	"io"

	"github.com/taktload/takt/internal/trace"
)

// keptBytes bounds the requests of a log that are kept in memory for --rewind, which is
// some 150 000. To open a short log again for every pass costs 0.5 MB of garbage each
// time: with three lines at 5000/s the collector stopped the run.
const keptBytes = 64 << 20

// recordBytes is what a record takes beside its texts.
const recordBytes = 400

// rewound is a log that begins again at its end: from memory, or from its files if it
// is too long for that.
type rewound struct {
	src   trace.Stream
	again func(reopen bool) error // begins another pass

	kept   []trace.Record
	size   int
	long   bool // kept is empty, for there are too many
	passed bool // the first pass is over
	some   bool // this pass had a request
	at     int
}

// Next implements trace.Stream. A log without requests ends.
func (r *rewound) Next(rec *trace.Record) error {
	if r.passed && !r.long {
		return r.remember(rec)
	}
	for {
		err := r.src.Next(rec)
		if err == nil {
			r.some = true
			r.keep(rec)
			return nil
		}
		if err != io.EOF || !r.some {
			return err
		}
		r.passed, r.some = true, false
		if err := r.again(r.long); err != nil {
			return err
		}
		if !r.long {
			return r.remember(rec)
		}
	}
}

// remember gives the next of the requests that were kept.
func (r *rewound) remember(rec *trace.Record) error {
	if r.at == len(r.kept) {
		r.at = 0
		if err := r.again(false); err != nil {
			return err
		}
	}
	r.kept[r.at].CopyTo(rec)
	r.at++
	return nil
}

func (r *rewound) keep(rec *trace.Record) {
	if r.passed || r.long {
		return
	}
	var own trace.Record
	rec.CopyTo(&own)
	r.size += recordBytes + len(rec.URI) + len(rec.Body) + len(rec.Agent) + len(rec.Referer)
	if r.kept = append(r.kept, own); r.size > keptBytes {
		r.kept, r.long = nil, true
	}
}
