package drivertest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

const ms = time.Millisecond

func run(t *testing.T, d *takt.Driver, change func(*engine.Options)) *takt.Report {
	t.Helper()
	o := engine.Defaults()
	o.Rate, o.Duration, o.Drain = engine.MustRate("100/s"), time.Second, engine.DrainOf(500*ms)
	if change != nil {
		change(&o)
	}
	src, err := o.Source()
	if err != nil {
		t.Fatal(err)
	}
	return drivertest.Make(t, engine.Plan{Options: o, Kind: "test", Source: src, Driver: d, NewWaiter: pace.Timer})
}

// of is the driver whose only client is c, which completes operations by *sink.
func of(sink *takt.Sink, c takt.AsyncClient) *takt.Driver {
	return &takt.Driver{Async: func(_ int, s takt.Sink) (*takt.AsyncClient, error) {
		*sink = s
		return &c, nil
	}}
}

func TestAsync(t *testing.T) {
	for _, c := range []struct {
		name   string
		client *drivertest.Async
		change func(*engine.Options)
		want   takt.Counts
		max    float64 // of the response time, µs
	}{
		{"good", &drivertest.Async{Latency: 3300 * time.Microsecond}, nil,
			takt.Counts{Scheduled: 100, Sent: 100, OK: 100}, 3301},
		{"double and late completions count once", &drivertest.Async{Latency: 3300 * time.Microsecond, Double: true, Late: true}, nil,
			takt.Counts{Scheduled: 100, Sent: 100, OK: 100}, 3301},
		// One at a time takes 15.3 ms where one is due every 10: the last waits for 0.53 s.
		{"busy", &drivertest.Async{Latency: 15300 * time.Microsecond, Buffer: 1}, nil,
			takt.Counts{Scheduled: 100, Sent: 99, OK: 98, Unfinished: 2}, 530000},
		{"at the bound", &drivertest.Async{Latency: 15300 * time.Microsecond},
			func(o *engine.Options) { o.MaxInFlight, o.Overflow = 1, "drop" },
			takt.Counts{Scheduled: 100, Sent: 50, OK: 50, Dropped: 50}, 15301},
		{"waiting at the bound", &drivertest.Async{Latency: 15300 * time.Microsecond},
			func(o *engine.Options) { o.MaxInFlight = 1 },
			takt.Counts{Scheduled: 100, Sent: 99, OK: 98, Unfinished: 2}, 530000},
		{"lost", &drivertest.Async{Latency: ms / 3, Lose: func(seq uint64) bool { return seq%10 == 0 }}, nil,
			takt.Counts{Scheduled: 100, Sent: 100, OK: 90, Unfinished: 10}, 1.5e6},
		{"refused", &drivertest.Async{Refuse: errors.New("no leader")}, nil,
			takt.Counts{Scheduled: 100, Sent: 100, Failed: 100}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := run(t, c.client.Driver(), c.change)
				if r.Counts != c.want {
					t.Errorf("counts %+v, want %+v", r.Counts, c.want)
				}
				if got := r.Latency["response"].Max; got > c.max*1.001 {
					t.Errorf("response max %v µs, want at most %v", got, c.max)
				}
				if c.client.Flushed != 1 {
					t.Errorf("flushed %d times", c.client.Flushed)
				}
				if c.client.Buffer > 0 && c.client.Busy == 0 {
					t.Error("it was never busy")
				}
				if r.Verdict != takt.Valid {
					t.Errorf("%s %v", r.Verdict, r.Warnings)
				}
			})
		})
	}
}

// errRead says that a consumer has read everything, which is no failure.
var errRead = errors.New("everything was read")

// consumer receives 70 messages, one every 9.7 ms. Then it waits for the end of the run,
// or ends: it fails, or with errRead it has read everything.
func consumer(fail error) *takt.Driver {
	return &takt.Driver{
		Phases: []string{"transfer"},
		Receive: func(ctx context.Context, sink takt.Sink) error {
			for range 70 {
				select {
				case <-time.After(9700 * time.Microsecond):
				case <-ctx.Done():
					return ctx.Err()
				}
				r := takt.Result{BytesReceived: 100}
				r.Phases[0] = 2 * ms
				sink.Received([]takt.Result{r})
			}
			switch fail {
			case nil:
				<-ctx.Done()
			case errRead:
				time.Sleep(100 * ms) // in which nothing more came
			default:
				return fail
			}
			return nil
		},
	}
}

// What arrives together is counted as far as it is wanted, and in the warm-up all of it.
func TestReceiveTogether(t *testing.T) {
	for _, c := range []struct {
		name     string
		requests uint64
		warmup   time.Duration
		taken    []int // of ten each, every 30 ms
		want     takt.Counts
		warm     uint64
	}{
		{"for a time", 0, 0, []int{10, 10, 10}, takt.Counts{Scheduled: 30, OK: 30}, 0},
		{"a count", 24, 0, []int{10, 10, 4, 0}, takt.Counts{Scheduled: 24, OK: 24}, 0},
		{"a count after a warm-up", 4, 70 * ms, []int{10, 10, 4, 0}, takt.Counts{Scheduled: 4, OK: 4}, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &takt.Driver{Receive: func(ctx context.Context, sink takt.Sink) error {
					for i, want := range c.taken {
						time.Sleep(30 * ms)
						if n := sink.Received(make([]takt.Result, 10)); n != want {
							t.Errorf("batch %d: %d were taken, want %d", i, n, want)
						}
					}
					<-ctx.Done()
					if n := sink.Received(make([]takt.Result, 10)); n != 0 {
						t.Errorf("%d were taken after the end", n)
					}
					return nil
				}}
				r := run(t, d, func(o *engine.Options) { o.Rate, o.Requests, o.Warmup = engine.Rate{}, c.requests, c.warmup })
				if r.Counts != c.want || r.WarmupCounts.OK != c.warm {
					t.Errorf("counts %+v, want %+v; warm-up %+v", r.Counts, c.want, r.WarmupCounts)
				}
			})
		})
	}
}

func TestReceiveOnly(t *testing.T) {
	for _, c := range []struct {
		name     string
		requests uint64
		fail     error
		want     takt.Counts
		window   float64 // seconds
	}{
		{"for a time", 0, nil, takt.Counts{Scheduled: 70, OK: 70}, 1},
		{"a count", 50, nil, takt.Counts{Scheduled: 50, OK: 50}, 50 * 0.0097},
		{"a count that is missed", 90, nil, takt.Counts{Scheduled: 90, OK: 70, Unfinished: 20}, 70 * 0.0097},
		{"broken off", 0, errors.New("the broker went away"), takt.Counts{Scheduled: 70, OK: 70}, 70 * 0.0097},
		{"all read", 0, errRead, takt.Counts{Scheduled: 70, OK: 70}, 70 * 0.0097},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := run(t, consumer(c.fail), func(o *engine.Options) { o.Rate, o.Requests = engine.Rate{}, c.requests })
				if r.Counts != c.want {
					t.Errorf("counts %+v, want %+v", r.Counts, c.want)
				}
				if _, sends := r.Latency["response"]; sends || r.Latency["transfer"].Count != c.want.OK {
					t.Errorf("latencies %+v", r.Latency)
				}
				if r.DurationS != c.window {
					t.Errorf("the window lasted %v s, want %v", r.DurationS, c.window)
				}
				missed := r.Warned("short_count")
				if broken := r.Warned("broke_off"); broken != (c.fail != nil && c.fail != errRead) || missed != (c.want.Unfinished > 0) || r.Verdict != takt.Valid || r.Rate.Intended != nil {
					t.Errorf("%s %v", r.Verdict, r.Warnings)
				}
			})
		})
	}
}

// batcher ends operations ten at a time, each batch twice.
type batcher struct {
	sink    takt.Sink
	started time.Time
	tokens  []uint64
	wrong   []time.Duration // due instants that were not met
}

func (b *batcher) client() takt.AsyncClient {
	return takt.AsyncClient{Start: b.start, Started: func(at time.Time) { b.started = at }}
}

func (b *batcher) start(op *takt.Op) error {
	if at := time.Since(b.started); at != op.Due {
		b.wrong = append(b.wrong, at)
	}
	if b.tokens = append(b.tokens, op.Token); len(b.tokens) == 10 {
		b.sink.DoneAll(b.tokens, &takt.Result{})
		b.sink.DoneAll(b.tokens, &takt.Result{Class: "double"})
		b.tokens = nil
	}
	return nil
}

func TestAsyncInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b batcher
		r := run(t, of(&b.sink, b.client()), nil)
		if want := (takt.Counts{Scheduled: 100, Sent: 100, OK: 100}); r.Counts != want {
			t.Errorf("counts %+v, want %+v", r.Counts, want)
		}
		if len(b.wrong) > 0 {
			t.Errorf("by the start that the client was told, operations were due at %v", b.wrong)
		}
		// The first of a batch waits for nine more: 90 ms.
		if got := r.Latency["response"].Max; got < 90_000*0.999 || got > 90_000*1.001 {
			t.Errorf("response max %v µs, want 90 000", got)
		}
	})
}

// gatherer takes all that is due at once, and ends it together 10 ms later.
type gatherer struct {
	sink    takt.Sink
	batches []int
}

func (g *gatherer) startAll(ops []takt.Op) {
	g.batches = append(g.batches, len(ops))
	var tokens []uint64
	for i := range ops {
		tokens = append(tokens, ops[i].Token)
	}
	time.AfterFunc(10*time.Millisecond, func() { g.sink.DoneAll(tokens, &takt.Result{}) })
}

// What is due together starts together, as far as there is room for it.
func TestAsyncStartsInBatches(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(o *engine.Options)
		want   []int
	}{
		{"one by one at a rate", func(o *engine.Options) { o.Requests = 3 }, []int{1, 1, 1}},
		{"a closed loop of 7", func(o *engine.Options) { o.Rate, o.Requests, o.MaxInFlight = engine.Rate{}, 18, 7 }, []int{7, 7, 4}},
		{"more than start together", func(o *engine.Options) { o.Rate, o.Requests, o.MaxInFlight = engine.Rate{}, 300, 500 }, []int{128, 128, 44}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g gatherer
				r := run(t, of(&g.sink, takt.AsyncClient{StartAll: g.startAll}), c.change)
				if !slices.Equal(g.batches, c.want) || r.Counts.OK != r.Counts.Scheduled || r.Counts.Failed > 0 {
					t.Errorf("batches of %v, want %v; %+v", g.batches, c.want, r.Counts)
				}
				if got := r.Latency["service"].Max; got < 10_000*0.999 || got > 10_000*1.001 {
					t.Errorf("service max %v µs, want 10 000", got)
				}
			})
		})
	}
}

// With a lag, or for a client that collects, one wake-up starts what became due since the last one, and
// the report has the lag. An operation that is alone starts when it is due.
func TestAsyncCollects(t *testing.T) {
	collects := func(d time.Duration) takt.AsyncClient { return takt.AsyncClient{Collects: d} }
	for _, c := range []struct {
		name   string
		client takt.AsyncClient
		change func(o *engine.Options)
		want   []int
		lag    time.Duration // the longest
	}{
		{"collects", collects(310 * time.Microsecond), nil, []int{1, 2, 3, 2}, 200 * time.Microsecond},
		{"--max-lag", collects(0), func(o *engine.Options) { o.MaxLag = 310 * time.Microsecond }, []int{1, 2, 3, 2}, 200 * time.Microsecond},
		{"precise", collects(310 * time.Microsecond), func(o *engine.Options) { o.Pacing = "precise" }, []int{1, 1, 1, 1, 1, 1, 1, 1}, 0},
		{"a low rate", collects(310 * time.Microsecond), func(o *engine.Options) { o.Rate, o.Requests = engine.MustRate("1k/s"), 3 }, []int{1, 1, 1}, 0},
		{"less room", collects(310 * time.Microsecond), func(o *engine.Options) { o.MaxInFlight, o.Requests = 2, 3 }, []int{1, 1, 1}, 150 * time.Microsecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g gatherer
				c.client.StartAll = g.startAll
				r := run(t, of(&g.sink, c.client), func(o *engine.Options) {
					o.Rate, o.Requests = engine.MustRate("10k/s"), 8
					if c.change != nil {
						c.change(o)
					}
				})
				if !slices.Equal(g.batches, c.want) || r.Counts.OK != r.Counts.Scheduled {
					t.Errorf("batches of %v, want %v; %+v", g.batches, c.want, r.Counts)
				}
				if got := r.Latency["schedule_lag"].Max; got > float64(c.lag.Microseconds())*1.001+1 || got < float64(c.lag.Microseconds())*0.999 {
					t.Errorf("a lag of %v µs, want %v", got, c.lag)
				}
				if r.Warned("no_loop") {
					t.Error("--max-lag has an effect in this mode")
				}
			})
		})
	}
}

// relayer ends operations together, 10 ms after the first of them, and may be given the
// next one meanwhile.
type relayer struct {
	sink             takt.Sink
	mute             uint64 // the operation of this number never ends; 0: all do
	busyEach         int    // each so many'th of relayed is refused; 0: none
	calls            atomic.Int32
	relayed          int          // operations that were started where another ended
	ending, together atomic.Int32 // calls of end under way, and of Start at once
	mu               sync.Mutex
	open             []uint64 // tokens; guarded by mu
}

func (r *relayer) driver() *takt.Driver {
	return of(&r.sink, takt.AsyncClient{Start: r.start, Relays: true})
}

func (r *relayer) start(op *takt.Op) error {
	if n := r.calls.Add(1); n > r.together.Load() {
		r.together.Store(n)
	}
	defer r.calls.Add(-1)
	if r.ending.Load() > 0 {
		if r.relayed++; r.busyEach > 0 && r.relayed%r.busyEach == 0 {
			return takt.ErrBusy
		}
	}
	if r.mute > 0 && op.Seq == r.mute {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open = append(r.open, op.Token); len(r.open) == 1 {
		time.AfterFunc(10*time.Millisecond, r.end)
	}
	return nil
}

// end ends what is open, one after another in one goroutine, as the reader of a
// connection does.
func (r *relayer) end() {
	r.mu.Lock()
	open := r.open
	r.open = nil
	r.mu.Unlock()
	r.ending.Add(1)
	defer r.ending.Add(-1)
	for _, token := range open {
		r.sink.Done(token, &takt.Result{})
	}
}

// What waits for room is started where that is made, and never twice at once.
func TestAsyncRelays(t *testing.T) {
	for _, c := range []struct {
		name     string
		inFlight int
		busyEach int
		relayed  int // negative: not told
	}{
		{"one at a time", 1, 0, 99},
		{"several", 7, 0, -1},
		{"one at a time, some refused", 1, 10, -1},
		{"several, some refused", 7, 10, -1},
		{"several, many refused", 7, 3, -1}, // also while one that was refused waits for the pacer
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := relayer{busyEach: c.busyEach}
				r := run(t, client.driver(), func(o *engine.Options) { o.Rate, o.Requests, o.MaxInFlight = engine.Rate{}, 100, c.inFlight })
				if want := (takt.Counts{Scheduled: 100, Sent: 100, OK: 100}); r.Counts != want {
					t.Errorf("counts %+v, want %+v", r.Counts, want)
				}
				if n := client.together.Load(); n != 1 {
					t.Errorf("%d operations were started at once", n)
				}
				if c.relayed >= 0 && client.relayed != c.relayed {
					t.Errorf("%d were started where another ended, want %d", client.relayed, c.relayed)
				}
				if got := r.Latency["service"].Max; got < 10_000*0.999 || got > 10_000*1.001 {
					t.Errorf("service max %v µs, want 10 000", got)
				}
			})
		})
	}
}

// A run ends though its last operation, which was started where another ended, does not.
func TestAsyncLastIsMute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := relayer{mute: 99}
		r := run(t, client.driver(), func(o *engine.Options) { o.Rate, o.Requests, o.Duration, o.MaxInFlight = engine.Rate{}, 100, 0, 1 })
		if want := (takt.Counts{Scheduled: 100, Sent: 100, OK: 99, Unfinished: 1}); r.Counts != want {
			t.Errorf("counts %+v, want %+v", r.Counts, want)
		}
	})
}

// closed has no room for 500 ms, and says so with Wake when it has.
type closed struct {
	sink  takt.Sink
	until time.Time
}

func (c *closed) driver() *takt.Driver { return of(&c.sink, takt.AsyncClient{Start: c.start}) }

func (c *closed) start(op *takt.Op) error {
	if time.Now().Before(c.until) {
		return takt.ErrBusy
	}
	token := op.Token
	time.AfterFunc(ms, func() { c.sink.Done(token, &takt.Result{}) })
	return nil
}

// What waits for a client without room is not late by the generator's fault.
func TestAsyncWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := closed{until: time.Now().Add(500 * ms)}
		time.AfterFunc(500*ms, func() { c.sink.Wake() })
		r := run(t, c.driver(), func(o *engine.Options) { o.Rate = engine.MustRate("1000/s") })
		if want := (takt.Counts{Scheduled: 1000, Sent: 1000, OK: 1000}); r.Counts != want {
			t.Errorf("counts %+v, want %+v", r.Counts, want)
		}
		if lag, response := r.Latency["schedule_lag"].Max, r.Latency["response"].Max; lag > 1000 || response < 499_000 || r.Verdict != takt.Valid {
			t.Errorf("schedule lag max %v µs, response max %v µs, verdict %+v", lag, response, r.Verdict)
		}
	})
}

// pair has room for two. While it refuses the third the second ends; the first takes 1 s.
type pair struct {
	sink   takt.Sink
	tokens []uint64
	third  time.Time // when it was taken
}

func (p *pair) start(op *takt.Op) error {
	switch {
	case len(p.tokens) < 2:
		p.tokens = append(p.tokens, op.Token)
		if len(p.tokens) == 1 {
			time.AfterFunc(time.Second, func() { p.sink.Done(p.tokens[0], &takt.Result{}) })
		}
		return nil
	case p.tokens[1] != 0:
		p.sink.Done(p.tokens[1], &takt.Result{})
		p.tokens[1] = 0
		return takt.ErrBusy
	}
	p.third = time.Now()
	p.sink.Done(op.Token, &takt.Result{})
	return nil
}

// A completion between a refusal and the wait for one is not missed.
func TestAsyncRoomMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pair
		began := time.Now()
		r := run(t, of(&p.sink, takt.AsyncClient{Start: p.start}), func(o *engine.Options) { o.Requests, o.Drain = 3, engine.DrainOf(2*time.Second) })
		if took := p.third.Sub(began); r.Counts.OK != 3 || took > 30*ms {
			t.Errorf("the third operation was taken after %v, due after 20 ms; counts %+v", took, r.Counts)
		}
	})
}

// A receiver that fails ends the schedule: what is sent after it would never end.
func TestAsyncReceiveFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(closed).driver()
		d.Receive = func(context.Context, takt.Sink) error {
			time.Sleep(95 * ms)
			return errors.New("not authorised")
		}
		r := run(t, d, nil)
		named := r.Warned("broke_off")
		if want := (takt.Counts{Scheduled: 10, Sent: 10, OK: 10}); r.Counts != want || !named {
			t.Errorf("counts %+v, want %+v; warnings %v", r.Counts, want, r.Warnings)
		}
	})
}
