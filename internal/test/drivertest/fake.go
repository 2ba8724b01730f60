// Package drivertest is the suite that every driver passes, and fake clients
// that behave as badly as real ones do.
package drivertest

import (
	"context"
	"sync"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// Async is a fake asynchronous client. Every operation completes after Latency.
type Async struct {
	Latency time.Duration
	Buffer  int               // its Start returns takt.ErrBusy while that many are open; 0: never
	Double  bool              // every completion is reported twice
	Late    bool              // completions come again after Close
	Lose    func(uint64) bool // the operation with this Seq never completes
	Refuse  error             // its Start returns this

	mu            sync.Mutex
	open          int
	sink          takt.Sink
	tokens        []uint64
	Flushed, Busy int
}

// Driver makes the driver of the client.
func (a *Async) Driver() *takt.Driver {
	return &takt.Driver{Async: func(_ int, sink takt.Sink) (*takt.AsyncClient, error) {
		a.sink = sink
		return &takt.AsyncClient{Start: a.start, Flush: a.flush, Close: a.close}, nil
	}}
}

func (a *Async) start(op *takt.Op) error {
	if a.Refuse != nil {
		return a.Refuse
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Buffer > 0 && a.open >= a.Buffer {
		a.Busy++
		return takt.ErrBusy
	}
	a.open++
	a.tokens = append(a.tokens, op.Token)
	if token := op.Token; a.Lose == nil || !a.Lose(op.Seq) {
		time.AfterFunc(a.Latency, func() { a.complete(token) })
	}
	return nil
}

func (a *Async) complete(token uint64) {
	a.mu.Lock()
	a.open--
	a.mu.Unlock()
	a.sink.Done(token, &takt.Result{})
	if a.Double {
		a.sink.Done(token, &takt.Result{Class: "double"})
	}
}

func (a *Async) flush(context.Context) error {
	a.Flushed++
	return nil
}

func (a *Async) close() error {
	if a.Late {
		for _, token := range a.tokens {
			a.sink.Done(token, &takt.Result{Class: "late"})
		}
	}
	return nil
}
