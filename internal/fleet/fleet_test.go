package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// world is a network in memory, whose clock the test owns.
type world struct {
	t    *testing.T
	g    *Gatherer
	l    *pipes
	said []string
	mu   sync.Mutex
}

// pipes is a listener of connections in memory.
type pipes struct {
	next   chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.next:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func newWorld(t *testing.T, o Options) *world {
	w := &world{t: t, l: &pipes{make(chan net.Conn), make(chan struct{})}}
	o.Version = "1"
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	if o.Peer == nil {
		o.Peer = func(net.Conn) door.Peer { return door.PeerSelf }
	}
	o.Tell = func(text string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.said = append(w.said, text)
	}
	w.g = New(o)
	go w.g.Serve(w.l)
	return w
}

func (w *world) end(code int) {
	w.g.Close(code)
	w.l.Close()
	time.Sleep(2 * beat) // lost members are parted with
}

// told is what the user was told.
func (w *world) told() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.said, "\n")
}

// wire is a connection that a test can cut: nothing passes, and nobody learns of it.
type wire struct {
	net.Conn
	mu  sync.Mutex
	cut bool
}

func (c *wire) isCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

func (c *wire) Write(b []byte) (int, error) {
	if c.isCut() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// join makes a member.
func (w *world) join(j Join) (*Member, *wire, error) {
	var c *wire
	j.Dial = func(ctx context.Context) (net.Conn, error) {
		mine, its := net.Pipe()
		select {
		case w.l.next <- its:
		case <-w.l.closed:
			return nil, errors.New("refused")
		}
		c = &wire{Conn: mine}
		return c, nil
	}
	if j.Peer == nil {
		j.Peer = func(context.Context, net.Conn) (door.Peer, error) { return door.PeerSelf, nil }
	}
	if j.Hello.Version == "" {
		j.Hello.Version = "1"
	}
	m, err := Dial(w.t.Context(), j)
	return m, c, err
}

// fake is a member whose runs send nothing: each has one operation a second.
type fake struct {
	*Member
	wire    *wire
	seconds int
	starts  []time.Time // of its runs, by the real clock
	reports int         // delivered
	early   string
	stopped error // why the last run ended

	files  map[string]string
	slow   time.Duration // what it says of its end and of its drain, if it never reports; 0: it does
	ends   *over         // what it says at its end, if no report follows
	deaf   bool          // it does not hear of the start
	leaves time.Duration // after which it ends instead of waiting for the start; 0: it does not
	each   func(second int)
	lies   func(r *takt.Report)    // changes the report
	fibs   func(iv *takt.Interval) // changes a second
	failed error                   // of the last delivery
}

// serve makes runs until the fleet ends.
func (f *fake) serve() error {
	for {
		r, err := f.Next(context.Background())
		if r == nil {
			return err
		}
		f.run(r)
	}
}

func (f *fake) run(r *Run) {
	ready := Ready{Head: live.Head{End: time.Duration(max(10, f.seconds)) * time.Second, Drain: time.Second, Room: 1}, Files: f.files}
	if f.slow > 0 {
		ready.Head.End, ready.Head.Drain = f.slow, f.slow
	}
	if f.deaf {
		_ = r.send(toGatherer{Ready: &ready}, silence)
		<-r.Context.Done()
		_ = r.Deliver(reportOf(f.Shard, r.Words, 0), "")
		return
	}
	ctx := r.Context
	if f.leaves > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, f.leaves)
		defer cancel()
	}
	at, err := r.Meet(ctx, ready)
	if f.leaves > 0 && err == nil {
		_ = r.Deliver(reportOf(f.Shard, r.Words, 0), f.early)
		f.Close()
		return
	}
	if err != nil {
		r.Fail(Failure{1, err.Error()})
		return
	}
	if r.Context.Err() == nil {
		f.starts = append(f.starts, at)
	}
	made := 0
	for s := range f.seconds {
		if wait(r.Context, time.Until(at.Add(time.Duration(s+1)*time.Second))) {
			break
		}
		made++
		iv := second(s)
		if f.fibs != nil {
			f.fibs(&iv)
		}
		r.Second(live.Snapshot{Interval: iv})
		if f.each != nil {
			f.each(s + 1)
		}
	}
	f.stopped = context.Cause(r.Context)
	if f.ends != nil {
		r.over()
		_ = r.send(toGatherer{Over: f.ends}, silence)
		<-f.gone
		return
	}
	if f.slow > 0 {
		<-f.gone
	}
	report := reportOf(f.Shard, r.Words, made)
	if f.lies != nil {
		f.lies(report)
	}
	if f.failed = r.Deliver(report, f.early); f.failed == nil {
		f.reports++
	}
}

// wait reports whether ctx ended before d was over.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() != nil
	case <-ctx.Done():
		return true
	}
}

func second(s int) takt.Interval {
	h := hist.New()
	h.Record(time.Millisecond)
	l := h.Summary()
	return takt.Interval{
		T: float64(s + 1), Scheduled: 1, OK: 1, InFlightMax: 1, HDR: l.HDR, ServiceHDR: l.HDR,
		ResponseP50: l.P50, ResponseP99: l.P99, ResponseMax: l.Max,
	}
}

// reportOf is the report of a shard with one operation a second.
func reportOf(shard string, words []string, seconds int) *takt.Report {
	h := hist.New()
	h.RecordN(time.Millisecond, uint64(seconds))
	n := uint64(seconds)
	rate := 1.0
	r := &takt.Report{
		SchemaVersion: takt.SchemaVersion, ID: "01SHARD" + strings.ReplaceAll(shard, "/", "OF"), Tool: takt.Tool{Name: "takt", Version: "1"}, Kind: "http",
		Labels: map[string]string{}, Variables: map[string]any{}, StartedAt: time.Unix(0, 0), DurationS: float64(seconds), IntervalS: 1,
		Schedule: takt.Schedule{Profile: "constant", Arrivals: "uniform", RatePerS: 4, Shard: shard, RunGroup: words[len(words)-1]},
		Counts:   takt.Counts{Scheduled: n, Sent: n, OK: n}, Rate: takt.Rate{Intended: &rate, Achieved: float64(min(1, seconds))},
		Latency: map[string]takt.Latency{}, Status: map[string]uint64{"200": n}, Errors: []takt.ErrorClass{}, Warnings: []takt.Warning{}, Verdict: takt.Valid, Extra: map[string]any{},
	}
	for _, name := range []string{takt.LatencyResponse, takt.LatencyService, takt.LatencySendDelay, takt.LatencyScheduleLag} {
		r.Latency[name] = h.Summary()
	}
	for s := range seconds {
		r.Intervals = append(r.Intervals, second(s))
	}
	return r
}

// load is a run of the fakes; seen are the seconds of the whole.
func load(seen *[]takt.Interval) Load {
	return Load{
		ID: "01WHOLE", Asked: *reportOf("1/4", []string{"group"}, 0), Drain: time.Second, Words: func(shard string) []string { return []string{"http", "--shard", shard, "group"} },
		Begin: func(live.Head, time.Time) {}, Second: func(s live.Snapshot) { *seen = append(*seen, s.Interval) },
	}
}

// fleetOf makes n members that serve.
func (w *world) fleetOf(n, seconds int, change func(k int, f *fake)) (all []*fake, ended *sync.WaitGroup) {
	ended = new(sync.WaitGroup)
	for range n {
		all = append(all, w.another(seconds, change, ended))
	}
	return all, ended
}

func (w *world) another(seconds int, change func(k int, f *fake), ended *sync.WaitGroup) *fake {
	m, wire, err := w.join(Join{Hello: Hello{Host: "h"}})
	if err != nil {
		w.t.Fatal(err)
	}
	f := &fake{Member: m, wire: wire, seconds: seconds}
	k := 0
	fmt.Sscanf(m.Shard, "%d/", &k)
	if change != nil {
		change(k, f)
	}
	ended.Go(func() { _ = f.serve() })
	return f
}

// Four members make a run, and another one with the same connections.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Shards: 4})
		all, ended := w.fleetOf(4, 3, nil)
		for round := 1; round <= 2; round++ {
			var seen []takt.Interval
			whole, err := w.g.Run(t.Context(), load(&seen))
			synctest.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if whole.Counts.OK != 12 || whole.Verdict != takt.Valid || len(whole.Intervals) != 3 || whole.ID != "01WHOLE" || *whole.Rate.Intended != 4 {
				t.Errorf("the whole is %+v", whole)
			}
			if len(seen) != 3 || seen[2].OK != 4 || seen[2].T != 3 || seen[2].InFlightMax != 4 {
				t.Errorf("the seconds are %+v", seen)
			}
			for _, f := range all {
				if len(f.starts) != round || !f.starts[round-1].Equal(all[0].starts[round-1]) || f.reports != round {
					t.Errorf("shard %s started at %v and delivered %d reports", f.Shard, f.starts, f.reports)
				}
			}
		}
		w.end(0)
		ended.Wait()
		for _, f := range all {
			if err := f.lost(); err != errEnded {
				t.Errorf("shard %s ended with %v", f.Shard, err)
			}
		}
	})
}

// crooked is a clock with a wrong hour that runs at a wrong speed.
type crooked struct {
	began time.Time
	ahead time.Duration
	gain  float64
}

func (c crooked) Read(t time.Time) int64 {
	d := t.Sub(c.began)
	return c.began.UnixNano() + int64(c.ahead+d) + int64(c.gain*float64(d))
}

func (c crooked) Instant(shown int64) time.Time {
	d := time.Duration(shown - c.began.UnixNano() - int64(c.ahead))
	return c.began.Add(time.Duration(float64(d) / (1 + c.gain)))
}

// A member whose clock is wrong, or too fast, starts with the others all the same, and the report
// says how wrong it was. The fast one looks at the gatherer's clock 300 ms before the start, so
// 200 ppm cost it 60 µs.
func TestCrookedClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Shards: 3, Patience: time.Hour})
		var ended sync.WaitGroup
		all := []*fake{}
		for _, c := range []Clock{nil, crooked{began: time.Now(), ahead: 300 * time.Millisecond}, crooked{began: time.Now(), gain: 200e-6}} {
			m, _, err := w.join(Join{Clock: c})
			if err != nil {
				t.Fatal(err)
			}
			f := &fake{Member: m, seconds: 100}
			all = append(all, f)
			ended.Go(func() { _ = f.serve() })
		}
		time.Sleep(4 * time.Minute)
		var seen []takt.Interval
		whole, err := w.g.Run(t.Context(), load(&seen))
		synctest.Wait()
		if err != nil {
			t.Fatal(err)
		}
		look := lastLook + 3*lookEach
		for k, most := range []time.Duration{time.Microsecond, time.Microsecond, look/5000 + time.Microsecond} {
			if apart := all[k].starts[0].Sub(all[0].starts[0]).Abs(); apart > most {
				t.Errorf("shard %d started %v from the first", k+1, apart)
			}
		}
		parts := whole.Extra["parts"].([]any)
		if ahead := parts[1].(map[string]any)["clock_ahead_us"]; ahead != -300_000.0 {
			t.Errorf("the gatherer is %v µs ahead of a clock that is 300 ms ahead", ahead)
		}
		if ppm := parts[2].(map[string]any)["clock_drift_ppm"]; ppm != -200.0 {
			t.Errorf("the drift is %v ppm, want -200", ppm)
		}
		if !whole.Warned("clock_drift") {
			t.Errorf("warnings %v, want clock_drift", whole.Warnings)
		}
		w.end(0)
		ended.Wait()
	})
}

// Members that are lost, in every way and at every time.
func TestLost(t *testing.T) {
	const n = 4
	for _, c := range []struct {
		name    string
		spare   int
		change  func(f *fake) // the second member
		err     string        // of the run; "": none
		told    string
		ok      uint64 // operations in the report, or up to three less; 0: there is no report
		took    time.Duration
		reports int // of the others
	}{
		{name: "killed in the middle", change: func(f *fake) { f.at(3, f.Close) }, err: "shard 2/4 (h) was lost: its process ended", told: "the run ends here", ok: 3 * 3, took: 5 * time.Second, reports: 3},
		{name: "silent in the middle", change: func(f *fake) { f.at(3, f.hang) }, err: "nothing came from it for", ok: 3 * 9, took: 11 * time.Second, reports: 3},
		{name: "silent at the end", change: func(f *fake) { f.at(10, f.hang) }, err: "nothing came from it for", ok: 3 * 10, took: 18 * time.Second, reports: 3},
		{name: "told to end", change: func(f *fake) { f.early = "it was stopped by SIGTERM"; f.seconds = 3 }, err: "shard 2/4 (h) was lost: it was stopped by SIGTERM", ok: 4 * 3, took: 5 * time.Second, reports: 3},
		{name: "killed, and one may be", spare: 1, change: func(f *fake) { f.at(3, f.Close) }, ok: 3 * 10, took: 12 * time.Second, reports: 3},
		{name: "told to end, and one may be", spare: 1, change: func(f *fake) { f.early = "it was stopped by SIGTERM"; f.seconds = 3 }, ok: 3*10 + 3, took: 12 * time.Second, reports: 3},
		{name: "killed before the start", change: func(f *fake) { go func() { time.Sleep(time.Second); f.Close() }() }, err: "shard 2/4 (h) was lost just before the start", took: 2 * time.Second},
		{name: "told to end before the start", change: func(f *fake) { f.early, f.leaves = "it was stopped by SIGTERM", time.Second }, err: "shard 2/4 (h) was lost just before the start: it was stopped by SIGTERM", took: 2 * time.Second},
		{name: "silent when the start is told", change: func(f *fake) { f.deaf = true }, err: "shard 2/4 (h) has not confirmed the start in time; no load was sent", took: 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{Shards: n, Spare: c.spare})
				all, ended := w.fleetOf(n, 10, func(k int, f *fake) {
					if k == 2 {
						c.change(f)
					}
				})
				began := time.Now()
				var seen []takt.Interval
				whole, err := w.g.Run(t.Context(), load(&seen))
				synctest.Wait()
				took := time.Since(began)
				if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
					t.Errorf("the error is %v, want %q", err, c.err)
				}
				if took > c.took+500*time.Millisecond {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				if !strings.Contains(w.told(), c.told) {
					t.Errorf("told\n%s\nwant %q", w.told(), c.told)
				}
				if (whole == nil) != (c.ok == 0) {
					t.Fatalf("the report is %v", whole)
				}
				if whole != nil && (whole.Counts.OK > c.ok || whole.Counts.OK < c.ok-3 || whole.Verdict != takt.Invalid || *whole.Rate.Intended != n) {
					t.Errorf("%d ok, %s, %v intended; want %d, invalid, %d\n%v", whole.Counts.OK, whole.Verdict, *whole.Rate.Intended, c.ok, n, whole.Warnings)
				}
				w.end(1)
				for _, f := range all {
					f.Close()
				}
				ended.Wait()
				for k, f := range all {
					if whole != nil && k != 1 && f.reports != min(1, c.reports) {
						t.Errorf("shard %s delivered %d reports", f.Shard, f.reports)
					}
				}
			})
		})
	}
}

// at calls do after that second of the run.
func (f *fake) at(second int, do func()) {
	f.each = func(s int) {
		if s == second {
			do()
		}
	}
}

// hang lets nothing of the member reach the gatherer any more.
func (f *fake) hang() {
	f.wire.mu.Lock()
	defer f.wire.mu.Unlock()
	f.wire.cut = true
}

// A member that ends before the start leaves its place to another.
func TestPlaceIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Shards: 2})
		_, ended := w.fleetOf(1, 2, nil)
		for _, leave := range []func(f *fake){func(f *fake) { f.Close() }, func(f *fake) { f.hang() }} {
			lost := w.another(2, nil, ended)
			time.Sleep(time.Second)
			leave(lost)
			if lost.wire.isCut() { // nobody knows it yet
				if _, _, err := w.join(Join{}); err == nil || !strings.Contains(err.Error(), "the fleet has all its 2 shards") {
					t.Errorf("a third shard: %v", err)
				}
			}
			time.Sleep(7 * time.Second)
		}
		w.another(2, nil, ended)
		var seen []takt.Interval
		whole, err := w.g.Run(t.Context(), load(&seen))
		synctest.Wait()
		if err != nil || whole.Counts.OK != 4 {
			t.Errorf("%v, %v\n%s", whole, err, w.told())
		}
		w.end(0)
		ended.Wait()
	})
}

// Members with different files do not start.
func TestDifferentFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Shards: 3})
		all, ended := w.fleetOf(3, 2, func(k int, f *fake) { f.files = map[string]string{"a.log": "1", "b.log": fmt.Sprint(k / 3)} })
		var seen []takt.Interval
		whole, err := w.g.Run(t.Context(), load(&seen))
		synctest.Wait()
		if want := "shard 1/3 (h) and shard 3/3 (h) have different files b.log"; err == nil || !strings.Contains(err.Error(), want) || whole != nil {
			t.Errorf("%v, %v; want %q", whole, err, want)
		}
		w.end(1)
		ended.Wait()
		if len(all[0].starts) > 0 {
			t.Error("a shard started")
		}
	})
}

// A member that is lost between two runs ends the search, and does not let it wait.
func TestLostBetweenRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Shards: 2})
		all, ended := w.fleetOf(2, 2, nil)
		var seen []takt.Interval
		if _, err := w.g.Run(t.Context(), load(&seen)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		all[1].Close()
		time.Sleep(time.Second)
		began := time.Now()
		_, err := w.g.Run(t.Context(), load(&seen))
		if want := "shard 2/2 (h) was lost between two runs"; err == nil || !strings.Contains(err.Error(), want) || time.Since(began) > time.Second {
			t.Errorf("after %v: %v, want %q", time.Since(began), err, want)
		}
		w.end(1)
		ended.Wait()
	})
}
