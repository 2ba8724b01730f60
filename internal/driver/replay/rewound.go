package replay

import (
	"io"

	"github.com/taktload/takt/internal/trace"
)

// keptBytes limits the memory for the requests of a log with --rewind: some 150 000 requests. Opening
// the log again for each pass costs 0.5 MB of garbage: with a log of three lines at 5000/s the
// garbage collector stopped the run.
const keptBytes = 64 << 20

// recordBytes is the memory of a record without its texts.
const recordBytes = 400

// rewound is a log that starts again at its end: from memory, or from its files if it does not fit.
type rewound struct {
	src   trace.Stream
	again func(reopen bool) error // starts another pass

	kept   []trace.Record
	size   int
	long   bool // the log does not fit, so kept is empty
	passed bool // the first pass is over
	some   bool // this pass has had a request
	at     int
}

// Next implements trace.Stream. A log without requests is not started again.
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

// remember returns the next request from memory.
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
	var kept trace.Record
	rec.CopyTo(&kept)
	r.size += recordBytes + len(rec.URI) + len(rec.Body) + len(rec.Agent) + len(rec.Referer)
	if r.kept = append(r.kept, kept); r.size > keptBytes {
		r.kept, r.long = nil, true
	}
}
