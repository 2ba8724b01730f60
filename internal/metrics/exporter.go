package metrics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/permanent"
	"github.com/taktload/takt/internal/value"
)

// Exporter delivers the batches of one run to one receiver. Its calls come one at a time, in a goroutine
// that belongs to it.
type Exporter interface {
	// Export delivers a batch, or returns soon after ctx ends. The batches come in their order. After an
	// error the same batch comes again, unless permanent.Is(error), or too many others wait. Total
	// contains what lost batches counted.
	Export(ctx context.Context, b *Batch) error
	// Close is the last call, also after a failed Export.
	Close(ctx context.Context) error
}

// Destination is a value of --export: where the figures go.
type Destination struct {
	Shown   string       // KIND=WHERE without secrets
	Secrets []string     // what no text may show
	Names   []value.Name // files and machines that the value names

	// Open makes the exporter of one run, before it begins. An error is a fault of the flag, such as a file
	// that cannot be written. A receiver that does not answer is not an error: it may come later.
	Open func(run Run) (Exporter, error)
}

// later is the error of a receiver that says when to come again.
type later struct {
	error
	after time.Duration
}

func (l later) Unwrap() error { return l.error }

// Later marks the error of a receiver that asks for a pause.
func Later(err error, after time.Duration) error { return later{err, after} }

// restAfter is the time until a batch is sent again after the n-th failure; ok is false if it must not be.
func restAfter(err error, n int) (d time.Duration, ok bool) {
	if permanent.Is(err) {
		return 0, false
	}
	if l := (later{}); errors.As(err, &l) && l.after > 0 {
		return min(l.after, mostAsked), true
	}
	return min(firstRest<<min(n-1, 10), mostRest), true
}

// broken is a panic of an exporter as an error: a fault of an exporter does not end the run.
func broken(fault any) error {
	return permanent.Mark(fmt.Errorf("the exporter failed, please report it: %v", fault))
}
