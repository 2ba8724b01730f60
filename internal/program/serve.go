package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/embedded"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/pkg/takt"
)

// Served is the program's own part.
type Served struct {
	Hello Hello
	Set   func(flags []string) error                // sets flags of the program's own
	Open  func(args []string) (*takt.Driver, error) // makes the driver; called once, after Set
}

// Serve speaks the protocol until in ends. It returns an error only if nobody can be told of it.
func Serve(in io.Reader, out io.Writer, p Served) error {
	s := &server{p: p, out: json.NewEncoder(out), start: make(chan time.Time, 1), abort: make(chan struct{})}
	var stop context.CancelCauseFunc
	s.ctx, stop = context.WithCancelCause(context.Background())
	defer stop(nil)
	h := p.Hello
	h.Takt = Version
	if err := s.say(reply{Hello: &h}); err != nil {
		return err
	}
	end := sync.OnceFunc(func() { close(s.abort) })
	defer s.runs.Wait()
	defer end()
	lines := json.NewDecoder(bufio.NewReader(in))
	for {
		var r request
		err := lines.Decode(&r)
		switch {
		case err == io.EOF: // takt needs nothing more, or is gone
			return nil
		case err != nil:
			return fmt.Errorf("standard input is not takt: %w; start the program without %s", err, Greeting)
		case r.Check != nil:
			err = s.say(s.check(*r.Check))
		case r.Run != nil && !s.began:
			s.began = true
			s.runs.Go(func() { s.run(*r.Run) })
		case r.Start != nil:
			select {
			case s.start <- *r.Start:
			default:
			}
		case r.All:
			s.all.Store(true)
		case r.Stop:
			stop(errors.New("takt stops the run"))
		case r.Abort:
			end()
		}
		if err != nil {
			return err
		}
	}
}

type server struct {
	p     Served
	ctx   context.Context // ends with the first signal of takt
	abort chan struct{}
	start chan time.Time
	began bool
	runs  sync.WaitGroup
	all   atomic.Bool // see request.All

	mu  sync.Mutex // guards out
	out *json.Encoder
}

func (s *server) say(r reply) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Encode(r)
}

func (s *server) check(l Load) reply {
	r := reply{Checked: true}
	if err := s.p.Set(l.Flags); err != nil {
		r.Faults = strings.Split(err.Error(), "\n")
	}
	return r
}

// run makes the run, and says how it ended.
func (s *server) run(l Load) {
	report, err := s.make(l)
	var text []byte
	if err == nil {
		text, err = document.Encode(report)
	}
	if err != nil {
		_ = s.say(reply{Failed: err.Error(), Misuse: errors.As(err, new(*Misuse))}) // takt is gone: nobody can be told
		return
	}
	_ = s.say(reply{Report: text}) // as above
}

func (s *server) make(l Load) (*takt.Report, error) {
	o, err := options(l.Engine)
	if err != nil {
		return nil, err
	}
	source, err := o.Source()
	if err != nil {
		return nil, err
	}
	if err := s.p.Set(l.Flags); err != nil {
		return nil, err
	}
	d, err := s.p.Open(l.Args)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, errors.New("the program has no driver: the function that it gave to bench.Main returned nil without an error")
	}
	o.StartAt = engine.StartAt{} // takt says when to start
	plan := engine.Plan{
		Options: o, Kind: embedded.Kind, Source: source, Driver: d, Abort: s.abort, Keep: engine.KeepCollector, Meet: s.meet,
		OnSecond: func(iv takt.Interval, failures []takt.ErrorClass) {
			_ = s.say(reply{Second: &live.Snapshot{Interval: iv, Errors: failures}}) // takt notices that the seconds end
		},
	}
	if l.Journal {
		plan.Journal = journal{s}
	}
	if l.Rows {
		plan.OnSamples = func(phases []string, list []takt.Sample) {
			_ = s.say(reply{Rows: &rows{phases, list}}) // as above
		}
	}
	r, err := engine.Run(s.ctx, plan)
	if err == nil {
		r.SchemaVersion, r.ID = takt.SchemaVersion, engine.NewID(time.Now()) // takt gives it another id
	}
	return r, err
}

// meet says that the run is ready, and waits for its start.
func (s *server) meet(ctx context.Context) (time.Time, error) {
	if err := s.say(reply{Ready: true}); err != nil {
		return time.Now(), err
	}
	select {
	case at := <-s.start:
		now := time.Now()
		return now.Add(at.Sub(now)), nil // adds a reading of the monotonic clock, which at lacks
	case <-s.abort:
	case <-ctx.Done():
	}
	return time.Now(), nil
}

// journal sends the journal of a run to takt, which writes it. It implements engine.Journal.
type journal struct{ s *server }

func (j journal) Begin(b engine.Beginning)    { _ = j.s.say(reply{Beginning: &b}) } // as seconds
func (j journal) WantsAll() bool              { return j.s.all.Swap(false) }
func (j journal) Second(second engine.Second) { _ = j.s.say(reply{Counted: &second}) }
