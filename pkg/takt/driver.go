package takt

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// Result is what a driver reports of one operation. The engine stamps the instants.
type Result struct {
	Status        int                      // the protocol's own result code; 0: none
	BytesSent     int64                    // bytes of the request on the wire; 0: none, or the driver does not know them
	BytesReceived int64                    // bytes of the answer, as BytesSent
	Phases        [MaxPhases]time.Duration // in the order of Driver.Phases; 0: did not happen
	Timed         [MaxTimed]time.Duration  // in the order of those of Driver.Timed with Row; 0: did not happen. They are only for rows
	Goal          Goal                     // whether an operation that ended well met the Goal of the driver
	Class         string                   // "": ok; otherwise a constant such as "timeout" or "5xx"
	Err           error                    // cause of the failure; the first error of a class is its sample
	Arrived       time.Time                // when the answer's last byte came to this host; zero: when the driver ended the operation
	Body          []byte                   // body of a failed operation, at most a few hundred bytes; the recorder copies it
}

// Goal says whether an operation met the conditions of its run.
type Goal uint8

// The values of Goal. GoalUnknown: the generator does not know, because it read the answer too late.
const (
	NoGoal Goal = iota // the run has no conditions
	GoalMet
	GoalMissed
	GoalUnknown
)

// Timed is a latency that a driver records when it happens, by Sink.Record or engine.Coming, and not when the operation
// ends: a stream may last for minutes.
type Timed struct {
	Name   string
	Row    bool // each operation has one at most: in Result.Timed, and in outputs with a row for each operation
	Course bool // intervals have it
}

// Reset makes r ready for the next operation and keeps the capacity of Body.
func (r *Result) Reset() { *r = Result{Body: r.Body[:0]} }

// Driver is the implementation of a protocol. A nil member is not supported. If there are
// several ways to perform an operation, the engine prefers Loop, then Async, then Worker.
type Driver struct {
	Phases  []string                        // names of Result.Phases, at most MaxPhases
	Timed   []Timed                         // more latencies; their phases follow Phases
	Goal    string                          // conditions of each operation, for people: ttft<300ms; "": there are none
	OneWay  bool                            // there are no answers: an operation ends when it is written, without response and service time
	Probe   func(ctx context.Context) error // reaches the target without an operation; an error ends the run before its start
	Setup   func(ctx context.Context) error // work at the target before the run, after Probe; an error ends the run before its start
	Loop    *Loop
	Async   func(i int, sink Sink) (*AsyncClient, error)
	Queues  bool                                       // clients of Async keep operations until earlier ones have ended, and call Sink.Began when they begin one: until then it is not sent
	Worker  func(i int) (Worker, error)                // called in the worker's own goroutine
	Receive func(ctx context.Context, sink Sink) error // consumers: counts arriving messages
	Lag     func() int64                               // consumers: messages that are not read so far; called once a second
	Outage  func() (o Outage, ok bool)                 // the newest outage, for those who watch the run; called once a second
	Settle  func() Settlement                          // what the driver knows only after the run; called before the run is judged
	Finish  func(ctx context.Context, r *Report) error // adds the driver's part of Report.Extra and its warnings
	Close   func() error
}

// Settlement corrects what was recorded of operations, after the run.
type Settlement struct {
	Unwritten uint64     // operations that a client had begun and not written when the schedule ended: the run did not achieve them
	Failed    ErrorClass // operations that ended well and failed nevertheless, those of the warm-up last; Count 0: none
}

// Worker performs one operation at a time.
type Worker interface {
	// Do performs op and fills r, which is reset. ctx ends after the drain, not at the first
	// signal. Timeouts are the driver's task. The driver must also close the connection after a
	// timeout: if the worker keeps it, the late answer counts for a later operation. load.Workers
	// closes it by itself.
	Do(ctx context.Context, op *Op, r *Result)
	Close() error
}

// ErrBusy is returned by AsyncClient.Start when its buffer is full. The operation has not
// begun; the engine offers it again after the next completion.
var ErrBusy = errors.New("client buffer is full")

// AsyncClient starts operations that complete in other goroutines. It needs Start or StartAll;
// any other member may be nil.
type AsyncClient struct {
	// Start begins op at once and does not block. If it returns nil, exactly one
	// Sink.Done(op.Token, …) follows. The engine reuses op when Start returns.
	Start func(op *Op) error
	// StartAll is Start for a client that always has room: it begins all due operations, with
	// one lock for all. The engine reuses ops when StartAll returns.
	StartAll func(ops []Op)
	// Started is called with the run's start before the first operation, for clients that
	// transmit due instants.
	Started func(at time.Time)
	// Pause says that nothing follows for now, for clients that buffer operations. full: an
	// operation is due but waits, because the in-flight limit is reached.
	Pause func(full bool)
	// Relays allows the engine to call Start and Pause within Sink.Done and DoneAll, but never
	// from two goroutines at once. The goroutine that makes room then starts the waiting
	// operation, which is cheaper than to wake another one.
	Relays bool
	// Collects is how much later than due the engine may start an operation, because the client
	// keeps operations for longer than this to send them together. One wake-up then starts several.
	Collects time.Duration
	// Flush is called when the schedule has ended: it sends buffered operations and commits
	// open transactions.
	Flush func(ctx context.Context) error
	// Drain is work after the last completion. The run goes on until Drain returns, or until
	// ctx ends with the drain time.
	Drain func(ctx context.Context)
	Close func() error
}

// Turn is what an operation of a driver with Queues waited for before it began.
type Turn struct {
	Free    time.Time     // end of the wait; zero: it did not wait
	Service time.Duration // service time of the operation that it waited for
	Read    time.Time     // when the answer to that operation had been read
	Place   int           // number, from 1, of the connection or queue whose operations run one after another; 0: not told
}

// Sink receives events from outside the engine's own goroutines. Any goroutine may call its
// methods. They do not allocate, and are ignored after the drain.
type Sink interface {
	// Done ends the operation to which Start gave the token.
	Done(token uint64, r *Result)
	// DoneAll ends several operations with the result r, whose bytes are the total of all. One
	// clock reading and one lock serve all: at 500k/s they are a quarter of the engine's cost.
	DoneAll(tokens []uint64, r *Result)
	// Began says that a client of a driver with Queues now begins the operation with this token.
	Began(token uint64, t Turn)
	// Drop ends an operation that its client never began, and counts it as dropped.
	Drop(token uint64)
	// Received counts messages that arrived together at a consumer. It returns how many of the
	// first it counted, so that the consumer acknowledges only those: fewer than all when the
	// run has enough messages or is over.
	Received(all []Result) int
	// Record adds a latency that belongs to no single operation.
	Record(phase int, d time.Duration)
	// Wake says that a client which returned ErrBusy has room again without a completion, or
	// that a starved source may have an operation now; the engine retries at once.
	Wake()
	// End ends the schedule at once, for a client that cannot go on.
	End()
}

// Loop describes a protocol over plain TCP whose sockets the engine may own.
type Loop struct {
	Network, Addr  string        // arguments of net.Dial
	Others         []string      // more addresses of the target, as Addr, over which connections are spread
	TLS            *tls.Config   // nil: plain TCP
	ConnectTimeout time.Duration // dial and TLS handshake together
	Timeout        time.Duration // from sent to done
	Overdue        error         // of operations that take longer than Timeout, with a class as that of Explain; nil: the engine's own
	Codec          func(conn int) Codec

	// Mux, if not nil, is used instead of Codec: MuxConns connections carry all operations.
	Mux      func(conn int) Mux
	MuxConns int

	// Tunnel, if not nil, follows each dial, before TLS: it asks a proxy at Addr for the target. It
	// waits only in c, whose deadline ends it.
	Tunnel func(c net.Conn) error

	// Explain, if not nil, returns an error of connecting with what the protocol knows of it. The
	// error may have a method Class() string, its failure class.
	Explain func(err error) error
}

// Progress is a codec's state within an answer.
type Progress int

// The values of Progress.
const (
	More Progress = iota // incomplete: needs more bytes
	Done                 // complete: the connection can be reused
	Last                 // complete or hopeless: close the connection
)

// Codec speaks one connection's protocol, one operation at a time. The engine counts its bytes:
// Result.BytesSent are the bytes of Append that the socket accepted, and Result.BytesReceived those
// that Parse used, without TLS. A Mux counts its bytes itself, since only it knows whose they are, and
// so do workers and asynchronous clients.
type Codec interface {
	// Append appends op's request to dst and returns it.
	Append(dst []byte, op *Op) []byte
	// Parse reads the answer from in, which starts where the last call stopped, and returns
	// how many bytes it used: Parse gets the others again, with those that follow. eof: nothing
	// follows in. All calls for one answer get the same r; Parse leaves its bytes alone.
	Parse(in []byte, eof bool, r *Result) (n int, p Progress)
	// Reset discards a partly read answer: the connection is new.
	Reset()
}

// Rendered is implemented by codecs whose requests exist before the run. Requests are sent
// without a copy: 100 connections do not copy a body of 45 MB each.
type Rendered interface {
	// Request returns what Append would append for op; nil: call Append. Nobody may change
	// the bytes.
	Request(op *Op) []byte
}
