package load

import (
	"context"

	"github.com/taktload/takt/pkg/takt"
)

// Func performs one operation. op.Seq is its number in the whole schedule, from 0. The function may
// report the protocol's status and the bytes on the wire in r, which is empty before the call:
//
//	r.Status, r.BytesSent, r.BytesReceived = 200, 180, 4096
//
// A nil error is success. Any other error makes the operation fail, with the class of [ClassOf].
//
// ctx ends after the drain, when takt stops waiting for the operation; it does not end with the
// schedule or at the first signal. Timeouts of single operations are the function's task.
//
// A function that panics ends the program, as usual in Go: after a broken invariant no measurement
// is valid.
type Func func(ctx context.Context, op *takt.Op, r *takt.Result) error

// Handler makes a driver whose workers all call f, so f must be safe for concurrent use.
func Handler(f Func) *takt.Driver {
	return Workers(func(int) (Func, func() error, error) { return f, nil, nil })
}

// Workers makes a driver whose workers have state of their own, such as a connection. takt calls
// open once for each worker, in the worker's own goroutine and before its first operation. worker
// is its number, from 0; the order of the calls is not defined. do performs the operations of this
// worker, one at a time. done, which may be nil, is called once at the end; its error is ignored,
// because it comes after the figures.
//
// The first worker is opened before the start: if that fails, Run returns the error. If open fails
// later, the operation that needed the worker fails, with the class "worker" or that of [Failed], and
// takt calls open again for the next one.
func Workers(open func(worker int) (do Func, done func() error, err error)) *takt.Driver {
	return &takt.Driver{Worker: func(i int) (takt.Worker, error) {
		do, done, err := open(i)
		if err != nil {
			return nil, err
		}
		return &worker{do, done}, nil
	}}
}

// worker implements takt.Worker.
type worker struct {
	do   Func
	done func() error
}

// Do implements takt.Worker.
func (w *worker) Do(ctx context.Context, op *takt.Op, r *takt.Result) {
	if err := w.do(ctx, op, r); err != nil {
		r.Class, r.Err = ClassOf(err), err
	}
}

// Close implements takt.Worker.
func (w *worker) Close() error {
	if w.done == nil {
		return nil
	}
	return w.done()
}
