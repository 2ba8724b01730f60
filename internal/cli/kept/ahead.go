package kept

import (
	"context"
	"runtime"

	"github.com/taktload/takt/pkg/takt"
)

// Source calls do with reports, one at a time, up to the first error.
type Source func(do func(*takt.Report) error) error

// mostAhead is the largest number of sources that are read at once: each has a report in memory, which
// may be of 64 MiB.
const mostAhead = 4

// Ahead calls do with the number of a source and a report of it, for all sources in order, up to the first
// error. To read and to check a
// report takes three times as long as to merge it, so as many sources are read at once as there are
// processors, each up to its next report.
func Ahead(ctx context.Context, sources []Source, do func(source int, r *takt.Report) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan *reading, min(runtime.GOMAXPROCS(0), mostAhead)-1)
	go func() {
		defer close(queue)
		for i, s := range sources {
			r := &reading{source: i, reports: make(chan *takt.Report)}
			select {
			case queue <- r:
				go r.run(ctx, s)
			case <-ctx.Done():
				return
			}
		}
	}()
	for r := range queue {
		for report := range r.reports {
			if err := do(r.source, report); err != nil {
				return err
			}
		}
		if r.err != nil {
			return r.err
		}
	}
	return ctx.Err()
}

// reading is a source that is read.
type reading struct {
	source  int
	reports chan *takt.Report
	err     error // set before reports is closed
}

func (r *reading) run(ctx context.Context, s Source) {
	defer close(r.reports)
	r.err = s(func(report *takt.Report) error {
		select {
		case r.reports <- report:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}
