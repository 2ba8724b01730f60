package fleet

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/permanent"
)

// Join says where the gatherer is, and who joins.
type Join struct {
	Address  string        // HOST:PORT
	Token    Token         // "": the gatherer has none, and is a process of the same user
	Patience time.Duration // how long to try to connect
	Hello    Hello
	Clock    Clock                                                       // nil: NewClock()
	Dial     func(ctx context.Context) (net.Conn, error)                 // nil: TCP to Address
	Peer     func(ctx context.Context, conn net.Conn) (door.Peer, error) // who accepted conn; nil: door.ServerOf
	Waiting  func(err error)                                             // called once if the first attempt fails
}

// RefusedError says why the gatherer did not accept this process.
type RefusedError struct{ Reason string }

// Error implements error.
func (e *RefusedError) Error() string { return "the gatherer refused this shard: " + e.Reason }

// Permanent says so to package permanent: the gatherer has answered.
func (e *RefusedError) Permanent() bool { return true }

// NoGathererError says that another server listens at the gatherer's address.
type NoGathererError struct{ Address, Status string }

// Error implements error.
func (e *NoGathererError) Error() string {
	return fmt.Sprintf("%s is a web server and no gatherer: it answered %q; correct --fleet", e.Address, e.Status)
}

// Permanent says so to package permanent: the web server does not go away.
func (e *NoGathererError) Permanent() bool { return true }

// EndedError is what a gatherer said at its end, if the fleet failed.
type EndedError struct {
	Code   int // its exit code
	Reason string
}

// Error implements error.
func (e *EndedError) Error() string {
	return fmt.Sprintf("the fleet ended with exit code %d: %s", e.Code, cmp.Or(e.Reason, "see the gatherer's output"))
}

// GivenUpError says why the gatherer went on without this process.
type GivenUpError struct{ Reason string }

// Error implements error.
func (e *GivenUpError) Error() string { return "the gatherer gave this shard up: " + e.Reason }

// Member is this process as a part of a fleet.
type Member struct {
	Shard  string // k/n
	Shards int

	stream *stream
	clock  Clock
	told   chan told     // answers to what measure asks
	next   chan *Run     // orders of the gatherer
	gone   chan struct{} // closed when the connection is over

	measuring sync.Mutex // one burst of questions at a time

	mu     sync.Mutex
	runs   map[int]*Run // that are not over, by their round
	offset Offset       // the best estimate
	why    error        // why the connection is over
	end    *ending      // last line of the gatherer
}

// ahead is the number of runs that the gatherer may order before this process looks at them: some
// may be called off already.
const ahead = 16

// errEnded is the reason of a connection that the gatherer has ended.
var errEnded = errors.New("the fleet has ended")

// retry is the pause between two attempts to connect.
const retry = 250 * time.Millisecond

// Dial connects to the gatherer, which may start later than its members. It tries until
// j.Patience is over or ctx ends. The error is a *RefusedError if the gatherer refused, and a
// *StrangerError if there is another user's process in its place.
func Dial(ctx context.Context, j Join) (*Member, error) {
	limit := time.Now().Add(j.Patience)
	for first := true; ; first = false {
		m, err := j.once(ctx)
		switch {
		case err == nil:
			return m, nil
		case permanent.Is(err), ctx.Err() != nil:
			return nil, err
		case time.Now().After(limit):
			return nil, fmt.Errorf("the gatherer does not answer: %w; start takt fleet, and check --fleet", err)
		case first && j.Waiting != nil:
			j.Waiting(err)
		}
		if !pause.For(retry, ctx.Done()) {
			return nil, context.Cause(ctx)
		}
	}
}

// once is one attempt.
func (j *Join) once(ctx context.Context) (*Member, error) {
	ctx, cancel := context.WithTimeout(ctx, greet)
	defer cancel()
	raw, err := j.connect(ctx)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	_ = raw.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	m, err := j.greet(raw)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		raw.Close()
		return nil, err
	}
	_ = raw.SetDeadline(time.Time{})
	go m.listen()
	go m.beats()
	return m, nil
}

func (j *Join) connect(ctx context.Context) (net.Conn, error) {
	dial := j.Dial
	if dial == nil {
		dial = func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp", j.Address) }
	}
	raw, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	if j.Token == "" {
		if err := j.trust(ctx, raw); err != nil {
			raw.Close()
			return nil, err
		}
		return raw, nil
	}
	config, err := j.Token.client()
	if err != nil {
		raw.Close()
		return nil, err
	}
	secure := tls.Client(raw, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		if plain := (tls.RecordHeaderError{}); errors.As(err, &plain) {
			return nil, &RefusedError{"it has no token, and this shard has one; give both the same, or none on loopback"}
		}
		if !errors.Is(err, errStranger) {
			err = fmt.Errorf("%s does not answer as a gatherer with a token does: %w", j.Address, err)
		}
		return nil, err
	}
	return secure, nil
}

// greet sends the request that opens the connection, and reads the first line.
func (j *Join) greet(raw net.Conn) (*Member, error) {
	request, err := j.Hello.request(j.Address, j.Token)
	if err != nil {
		return nil, err
	}
	if err := request.Write(raw); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(raw)
	answer, err := http.ReadResponse(lines, request)
	if err != nil {
		return nil, fmt.Errorf("%s does not answer as a gatherer does: %w", j.Address, err)
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<12)) // what came of it is the reason
		if answer.Header.Get("Server") != serverName {
			return nil, &NoGathererError{j.Address, answer.Status}
		}
		return nil, &RefusedError{cmp.Or(string(text), answer.Status)}
	}
	m := &Member{
		stream: newStream(raw, lines), clock: j.Clock, offset: Offset{Bound: worst}, runs: map[int]*Run{},
		told: make(chan told, 1), next: make(chan *Run, ahead), gone: make(chan struct{}),
	}
	if m.clock == nil {
		m.clock = NewClock()
	}
	var first toMember
	if err := m.stream.read(&first, anyLine); err != nil {
		return nil, err
	}
	if first.Welcome == nil {
		return nil, errors.New("the gatherer did not say which shard this is")
	}
	if err := m.check(&first, time.Now()); err != nil {
		return nil, err
	}
	m.Shard, m.Shards = first.Welcome.Shard, first.Welcome.Shards
	return m, nil
}

// listen reads the lines of the gatherer until the connection is over.
func (m *Member) listen() {
	defer close(m.gone)
	for {
		var line toMember
		err := m.stream.read(&line, anyLine)
		at := time.Now()
		if err != nil {
			m.leave(err)
			return
		}
		if err := m.check(&line, at); err != nil {
			m.leave(err)
			m.stream.raw.Close()
			return
		}
		if line.Clock != nil {
			select {
			case m.told <- told{*line.Clock, m.clock.Read(at)}:
			default: // nobody waits for it any more
			}
		}
		m.obey(&line)
		if line.Lost != "" {
			m.leave(&GivenUpError{line.Lost})
			return
		}
		if line.End != nil {
			m.leave(errEnded)
			return
		}
	}
}

// anyLine is the limit of a gatherer's lines.
func anyLine() int { return maxLine }

// obey does what a line says.
func (m *Member) obey(line *toMember) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if line.Words != nil {
		r := newRun(m, line)
		m.runs[line.Round] = r
		put(m.next, r)
	}
	if line.End != nil {
		m.end = line.End
	}
	if r := m.runs[line.Round]; r != nil {
		r.obey(line)
	}
}

// leave notes why the connection is over, and ends the run.
func (m *Member) leave(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.why == nil {
		m.why = fmt.Errorf("the gatherer is gone: %w", err)
		givenUp, nonsense := (*GivenUpError)(nil), (*NonsenseError)(nil)
		if err == errEnded || errors.As(err, &givenUp) || errors.As(err, &nonsense) {
			m.why = err
		}
	}
	for _, r := range m.runs {
		r.cancel(m.why)
	}
}

// beats shows the gatherer that this process lives, looks whether the gatherer does, and keeps
// the estimate of its clock fresh.
func (m *Member) beats() {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	last := time.Now()
	for n := 0; ; n++ {
		if n%clockEvery == 0 {
			go m.measure()
		}
		select {
		case <-m.gone:
			return
		case <-ticker.C:
		}
		if now := time.Now(); now.Sub(last) > 2*beat {
			m.stream.excuse() // this process stood still, not the gatherer
		}
		last = time.Now()
		quiet := m.stream.silent()
		if quiet > silence {
			m.leave(errors.New(silentFor(quiet)))
		}
		if err := m.stream.send(toGatherer{}, silence); err != nil || quiet > silence {
			m.stream.raw.Close() // listen ends
			return
		}
	}
}

// Next waits for the next run. It is nil, nil when the fleet has ended well.
func (m *Member) Next(ctx context.Context) (*Run, error) {
	select {
	case r := <-m.next:
		return r, nil
	case <-m.gone:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case r := <-m.next: // it was too late to prepare, and ends at once
		return r, nil
	default:
	}
	if err := m.lost(); err != errEnded {
		return nil, err
	}
	return nil, nil
}

// lost is why the connection is over: errEnded if the fleet ended well; nil: it is not over.
func (m *Member) lost() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.end != nil && m.end.Code != 0 {
		return &EndedError{m.end.Code, m.end.Reason}
	}
	return m.why
}

// Close leaves the fleet.
func (m *Member) Close() { m.stream.raw.Close() }
