package load

import (
	"context"
	"errors"

	"github.com/taktload/takt/pkg/takt"
)

// Func performs one operation. op.Seq is its number in the whole schedule, from 0. The function may
// report the protocol's status and the bytes on the wire in r, which is empty before the call. takt
// does not see them otherwise; without them the report has 0 bytes:
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
// worker, one at a time. done, which may be nil, closes the worker; its error is ignored.
//
// After an error of the network takt closes the worker, and opens it again for its next operation:
// on a connection that is kept after a timeout, the late answer would count for a later operation.
// Errors of the network are timeouts, io.EOF, each net.Error, and the error of a context that ended,
// also inside of [Failed]. After any other error the worker goes on; see [Lost]. The operation that
// needs the worker waits until it is open, and the wait is part of its latency. The time that done
// needs is part of the operation that failed. A client that tells late answers apart by itself, for
// example by their numbers, can return an error without the cause, such as
// Failed(Timeout, errors.New("no answer")): then its worker goes on.
//
// The first worker is opened before the start: if that fails, Run returns the error. If open fails
// later, the operation that needed the worker fails, and takt calls open again for the next one. The
// class is that of [ClassOf], but [ConnectTimeout] instead of Timeout, and [Unopened] instead of Other.
func Workers(open func(worker int) (do Func, done func() error, err error)) *takt.Driver {
	return &takt.Driver{Worker: func(i int) (takt.Worker, error) {
		w := &worker{open: func() (Func, func() error, error) { return open(i) }}
		if err := w.begin(); err != nil {
			return nil, err
		}
		return w, nil
	}}
}

// worker implements takt.Worker.
type worker struct {
	open  func() (Func, func() error, error)
	ready bool // the worker is open
	do    Func // stays after the end: drivertest looks for connections before the garbage collector does
	done  func() error
}

// begin opens the worker.
func (w *worker) begin() error {
	do, done, err := w.open()
	if err == nil && do == nil {
		err = errors.New("the function that load.Workers got returned neither a Func nor an error")
	}
	if err != nil {
		return unopened(err)
	}
	w.do, w.done, w.ready = do, done, true
	return nil
}

// Do implements takt.Worker.
func (w *worker) Do(ctx context.Context, op *takt.Op, r *takt.Result) {
	if !w.ready {
		if err := w.begin(); err != nil {
			r.Class, r.Err = ClassOf(err), err
			return
		}
	}
	if err := w.do(ctx, op, r); err != nil {
		r.Class, r.Err = ClassOf(err), err
		if breaks(err) {
			_ = w.Close() // the operation has an error already
		}
	}
}

// Close implements takt.Worker.
func (w *worker) Close() error {
	closed := !w.ready
	w.ready = false
	if closed || w.done == nil {
		return nil
	}
	return w.done()
}
