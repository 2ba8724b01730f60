package takt

import (
	"context"
	"crypto/tls"
	"errors"
	"time"
)

// Result is what a driver says of one operation. The engine stamps the instants.
type Result struct {
	Status        int   // the protocol's own result code; 0: none
	BytesSent     int64 // on the wire
	BytesReceived int64
	Phases        [MaxPhases]time.Duration // in the order of Driver.Phases; 0: did not happen
	Class         string                   // "": ok; else a constant such as "timeout" or "5xx"
	Err           error                    // what went wrong; the first of a class is its sample
	Arrived       time.Time                // when the answer's last byte came to this host; zero: when the driver says that the operation ended
	Body          []byte                   // of a failed operation, at most a few hundred bytes; copied by the recorder
}

// Reset makes r ready for the next operation and keeps the capacity of Body.
func (r *Result) Reset() { *r = Result{Body: r.Body[:0]} }

// Driver is how a protocol is spoken. A nil member is not offered. Of several
// ways to perform an operation the engine prefers Loop, then Async, then Worker.
type Driver struct {
	Phases  []string                        // names of Result.Phases, at most MaxPhases
	OneWay  bool                            // nobody answers: an operation ends when it is written, and has no response and service time
	Probe   func(ctx context.Context) error // reach the target without an operation; an error ends the run before its start
	Loop    *Loop
	Async   func(i int, sink Sink) (AsyncWorker, error)
	Worker  func(i int) (Worker, error)                // called in the worker's own goroutine
	Receive func(ctx context.Context, sink Sink) error // consumers: what arrives is counted
	Finish  func(ctx context.Context, r *Report) error // the driver's part of Report.Extra and its warnings
	Close   func() error
}

// Worker performs one operation at a time.
type Worker interface {
	// Do performs op and fills r, which arrives reset. ctx ends with the drain,
	// not at the first signal; timeouts are the driver's own.
	Do(ctx context.Context, op *Op, r *Result)
	Close() error
}

// ErrBusy is returned by AsyncWorker.Start when its buffer is full. The
// operation has not begun and is offered again after the next completion.
var ErrBusy = errors.New("client buffer is full")

// AsyncWorker starts operations that complete elsewhere.
type AsyncWorker interface {
	// Start begins op at once and does not block. After nil exactly one
	// Sink.Done(op.Token, …) follows. op is the engine's again when Start returns.
	Start(op *Op) error
	// Flush is called when the schedule has ended: send what lingers, commit what is open.
	Flush(ctx context.Context) error
	Close() error
}

// Sink takes what happens outside the engine's own goroutines. Its methods may be
// called from any goroutine, do not allocate, and are ignored after the drain.
type Sink interface {
	Done(token uint64, r *Result)
	Record(phase int, d time.Duration) // a latency that belongs to no single operation
	Received(r *Result)                // consumers: one message arrived
}

// Loop describes a protocol over plain TCP whose sockets the engine may own.
type Loop struct {
	Network, Addr  string        // as net.Dial takes them
	TLS            *tls.Config   // nil: plain TCP
	ConnectTimeout time.Duration // dial and TLS handshake together
	Timeout        time.Duration // from sent to done
	Codec          func(conn int) Codec
}

// Progress says how far a codec came with an answer.
type Progress int

// The values of Progress.
const (
	More Progress = iota // not complete, wants more bytes
	Done                 // complete, the connection can be used again
	Last                 // complete or hopeless: close the connection
)

// Codec speaks one connection's protocol, one operation at a time.
type Codec interface {
	// Append appends op's request to dst and returns it.
	Append(dst []byte, op *Op) []byte
	// Parse reads the answer from in, which starts where the last call stopped,
	// and returns how many bytes it used. eof says that nothing will follow in.
	Parse(in []byte, eof bool, r *Result) (n int, p Progress)
	// Reset forgets a half-read answer: the connection is new.
	Reset()
}

// Rendered is implemented by codecs whose requests exist before the run. They are sent
// from where they are: a body of 45 MB is not copied for each of 100 connections.
type Rendered interface {
	// Request is what Append would append for op, instead of it; nil: call Append.
	// Nobody may change it.
	Request(op *Op) []byte
}
