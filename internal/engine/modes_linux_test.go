package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file hold both modes of a takt.Loop to the same.

var modes = []string{"loop", "worker"}

// load runs the operations that change describes in a mode; the counts add up.
func load(t testing.TB, mode string, l *takt.Loop, change func(*engine.Options)) *takt.Report {
	t.Helper()
	return loadPlan(t, mode, engine.Plan{Driver: &takt.Driver{Loop: l}}, change)
}

// loadRows is load with a row for each operation, in the order of the schedule.
func loadRows(t *testing.T, mode string, l *takt.Loop, change func(*engine.Options)) (*takt.Report, []takt.Sample) {
	t.Helper()
	r, rows, err := tryRows(t, mode, l, change)
	if err != nil {
		t.Fatal(err)
	}
	return r, rows
}

// tryRows is loadRows of a run that may not start.
func tryRows(t *testing.T, mode string, l *takt.Loop, change func(*engine.Options)) (*takt.Report, []takt.Sample, error) {
	t.Helper()
	k := &kept{t: t}
	r, err := tryPlan(t, mode, engine.Plan{OnSamples: k.take, Driver: &takt.Driver{Loop: l}}, change)
	slices.SortFunc(k.rows, func(a, b takt.Sample) int { return cmp.Compare(a.Seq, b.Seq) })
	return r, k.rows, err
}

// droppedEarly counts the operations that were dropped though, when they were due, fewer
// than bound of those before them were without an answer. An answer that came less than
// slack before that counts as none: a thread without a core has not read the answer yet.
func droppedEarly(rows []takt.Sample, bound int, slack time.Duration) (early int) {
	for i, row := range rows {
		if row.Class != takt.ClassDropped {
			continue
		}
		inFlight := 0
		for _, before := range rows[:i] {
			if before.Class != takt.ClassDropped && before.Done > row.Due-slack {
				inFlight++
			}
		}
		if inFlight < bound {
			early++
		}
	}
	return early
}

// loadPlan is load with the driver of p, and what else p says.
func loadPlan(t testing.TB, mode string, p engine.Plan, change func(*engine.Options)) *takt.Report {
	t.Helper()
	r, err := tryPlan(t, mode, p, change)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tryPlan is loadPlan of a run that may not start.
func tryPlan(t testing.TB, mode string, p engine.Plan, change func(*engine.Options)) (*takt.Report, error) {
	t.Helper()
	o := engine.Defaults()
	o.Engine, o.Drain = mode, engine.DrainOf(30*time.Second)
	change(&o)
	src, err := o.Source()
	if err != nil {
		t.Fatal(err)
	}
	p.Options, p.Kind, p.Source = o, "test", src
	r, err := engine.Run(context.Background(), p)
	if err != nil {
		return nil, err
	}
	if r.Generator.Engine != mode {
		t.Errorf("the engine was %s, want %s", r.Generator.Engine, mode)
	}
	if c := r.Counts; c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished || r.Latency["response"].Count != c.OK+c.Failed+c.Unfinished {
		t.Errorf("counts %+v, %d response times", c, r.Latency["response"].Count)
	}
	var ok, failed uint64
	for _, iv := range r.Intervals {
		ok, failed = ok+iv.OK, failed+iv.Failed
	}
	if w := r.WarmupCounts; ok != r.Counts.OK+w.OK || failed != r.Counts.Failed+w.Failed {
		t.Errorf("the intervals hold %d ok and %d failed of %+v and %+v", ok, failed, r.Counts, w)
	}
	return r, nil
}

// peakOf is how many operations were in flight at most.
func peakOf(r *takt.Report) (peak int) {
	for _, iv := range r.Intervals {
		peak = max(peak, iv.InFlightMax)
	}
	return peak
}

// eachMode runs the test in each mode, and in a loop that has its sockets out of the
// poller whenever it can.
func eachMode(t *testing.T, test func(t *testing.T, mode string)) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) { test(t, mode) })
	}
	t.Run("unwatched loop", func(t *testing.T) {
		defer engine.Unwatch(-time.Minute)() // however lately it waited there
		test(t, "loop")
	})
}

func TestModesCount(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		for name, c := range map[string]struct {
			change func(o *engine.Options)
			want   takt.Counts
		}{
			"rate":           {func(o *engine.Options) { o.Rate, o.Requests = engine.MustRate("2000"), 1000 }, takt.Counts{Scheduled: 1000, Sent: 1000, OK: 1000}},
			"closed":         {func(o *engine.Options) { o.Requests, o.Connections = 1000, 7 }, takt.Counts{Scheduled: 1000, Sent: 1000, OK: 1000}},
			"one connection": {func(o *engine.Options) { o.Requests, o.Connections = 100, 1 }, takt.Counts{Scheduled: 100, Sent: 100, OK: 100}},
			"shard": {func(o *engine.Options) {
				o.Rate, o.Requests, o.Shard = engine.MustRate("2000"), 100, engine.MustShard("2/3")
			}, takt.Counts{Scheduled: 33, Sent: 33, OK: 33}},
			"warm-up": {func(o *engine.Options) {
				o.Rate, o.Requests, o.Warmup = engine.MustRate("1000"), 200, 100*time.Millisecond
			},
				takt.Counts{Scheduled: 200, Sent: 200, OK: 200}},
		} {
			addr, s := serve(t, target.Options{})
			r := load(t, mode, httpLoop(t, addr), c.change)
			if r.Counts != c.want {
				t.Errorf("%s: %+v, want %+v; %+v", name, r.Counts, c.want, r.Errors)
			}
			if n := s.Truth().Counts.Requests; uint64(n) != r.Counts.Sent+r.WarmupCounts.Sent {
				t.Errorf("%s: the server had %d requests, %+v and %+v were sent", name, n, r.Counts, r.WarmupCounts)
			}
			if r.Bytes.Received == 0 || r.Bytes.Sent == 0 {
				t.Errorf("%s: %+v", name, r.Bytes)
			}
		}
	})
}

// A closed loop has as many requests in flight as connections, however fast the
// answers are.
func TestModesClosedLoopIsFull(t *testing.T) {
	addr, s := serve(t, target.Options{})
	eachMode(t, func(t *testing.T, mode string) {
		before := s.Truth().Counts.Requests
		r := load(t, mode, httpLoop(t, addr), func(o *engine.Options) { o.Requests, o.Connections = 3000, 300 })
		if peak := peakOf(r); peak != 300 || r.Counts.OK != 3000 || s.Truth().Counts.Requests-before != 3000 {
			t.Errorf("%d in flight, want 300; %+v", peak, r.Counts)
		}
	})
}

// Several loops share the operations without losing or doubling one.
func TestLoopsShare(t *testing.T) {
	addr, s := serve(t, target.Options{})
	for _, change := range []func(o *engine.Options){
		func(o *engine.Options) { o.Rate, o.Requests = engine.MustRate("5000"), 2000 },
		func(o *engine.Options) { o.Requests, o.Connections = 2000, 10 },
	} {
		before := s.Truth().Counts.Requests
		r := load(t, "loop", httpLoop(t, addr), func(o *engine.Options) { o.Loops = 3; change(o) })
		if r.Counts.OK != 2000 || r.Generator.Loops != 3 {
			t.Errorf("%+v with %d loops", r.Counts, r.Generator.Loops)
		}
		if n := s.Truth().Counts.Requests - before; n != 2000 {
			t.Errorf("the server had %d requests", n)
		}
	}
}

// stalling is a codec that stands still over the first answer of all.
type stalling struct {
	takt.Codec
	once *sync.Once
	long time.Duration
}

func (s stalling) Parse(in []byte, eof bool, r *takt.Result) (int, takt.Progress) {
	s.once.Do(func() { time.Sleep(s.long) })
	return s.Codec.Parse(in, eof, r)
}

// What was answered in time is no timeout, though the loop stood still meanwhile.
func TestLoopStall(t *testing.T) {
	addr, _ := serve(t, target.Options{Service: "100ms"})
	l := httpLoop(t, addr)
	codec, once := l.Codec, new(sync.Once)
	l.Timeout = 3 * time.Second
	l.Codec = func(i int) takt.Codec { return stalling{codec(i), once, l.Timeout * 11 / 10} }
	r := load(t, "loop", l, func(o *engine.Options) { o.Requests, o.Connections = 30, 30 })
	if r.Counts.OK != 30 {
		t.Errorf("%+v, %+v", r.Counts, r.Errors)
	}
}

// dreaming is a codec that stands still over the request of one operation: until those
// before it are answered, and for long.
type dreaming struct {
	takt.Codec
	seq      uint64
	long     time.Duration
	before   *[]uint64 // the operations whose requests went before
	answered *atomic.Int32
}

func (d dreaming) Append(dst []byte, op *takt.Op) []byte {
	if op.Seq == d.seq {
		for begun := time.Now(); int(d.answered.Load()) < len(*d.before) && time.Since(begun) < time.Minute; {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(d.long)
	}
	*d.before = append(*d.before, op.Seq)
	return d.Codec.Append(dst, op)
}

// Answers that came while the loop was elsewhere came when the kernel says.
func TestLoopStamps(t *testing.T) {
	const stop, long = 10, 200 * time.Millisecond
	for _, pacing := range []string{"default", "precise", "economy"} {
		var answered atomic.Int32
		addr := listen(t, func(c net.Conn) {
			for request(c) {
				time.Sleep(40 * time.Millisecond)
				io.WriteString(c, ok)
				answered.Add(1)
			}
		})
		l := httpLoop(t, addr)
		codec, before := l.Codec, []uint64{}
		l.Codec = func(i int) takt.Codec { return dreaming{codec(i), stop, long, &before, &answered} }
		r, rows := loadRows(t, "loop", l, func(o *engine.Options) { o.Rate, o.Requests, o.Pacing = engine.MustRate("200"), 20, pacing })
		before = before[:slices.Index(before, stop)]
		for _, seq := range before {
			if row, late := rows[seq], rows[stop].Done-long; row.Done > late {
				t.Errorf("%s: operation %d ended at %v, its answer came before %v: %+v; of %d: %+v; warnings %v", pacing, seq, row.Done, late, row, stop, rows[stop], r.Warnings)
			}
		}
		if r.Counts.OK != 20 || len(before) == 0 {
			t.Errorf("%s: %+v, %d went before", pacing, r.Counts, len(before))
		}
	}
}

// A loop that stood still for 100 ms at 1000/s has 100 operations to catch up with. The
// answers to the first come while it makes the next connection, and free theirs: it needs
// fewer than the 64 that it may make at a time.
func TestLoopPoolAfterAStandstill(t *testing.T) {
	const stop, long = 10, 100 * time.Millisecond
	addr, _ := serve(t, target.Options{})
	l := httpLoop(t, addr)
	codec, before, made := l.Codec, []uint64{}, 0
	var answered atomic.Int32 // nobody waits for it
	answered.Store(stop)
	l.Codec = func(i int) takt.Codec {
		if made++; made > 1 {
			time.Sleep(2 * time.Millisecond)
		}
		return dreaming{codec(i), stop, long, &before, &answered}
	}
	r := load(t, "loop", l, func(o *engine.Options) { o.Rate, o.Requests = engine.MustRate("1k"), 200 })
	if late := r.Latency["schedule_lag"].Max; r.Counts.OK != 200 || late < 50e3 || made > 40 {
		t.Errorf("%d connections were made, the latest operation was %.0f µs late; %+v", made, late, r.Counts)
	}
}

// An operation does not wait for the connections of one loop while another has some, and
// is not dropped for it.
func TestLoopsLendEachOther(t *testing.T) {
	for _, overflow := range []string{"queue", "drop"} {
		t.Run(overflow, func(t *testing.T) {
			const slow = 1500 * time.Millisecond
			var served atomic.Int32
			addr := listen(t, func(c net.Conn) {
				for request(c) {
					if served.Add(1) == 1 {
						time.Sleep(slow)
					}
					io.WriteString(c, ok)
				}
			})
			l := httpLoop(t, addr)
			l.Timeout = time.Minute
			r, rows := loadRows(t, "loop", l, func(o *engine.Options) {
				o.Loops, o.MaxInFlight, o.Rate, o.Requests, o.Overflow = 2, 2, engine.MustRate("20"), 20, overflow
			})
			long := 0
			for _, row := range rows {
				if row.Done-row.Due > slow/2 {
					long++
				}
			}
			c := r.Counts
			if early := droppedEarly(rows, 2, 25*time.Millisecond); early > 0 || long > 1 || c.OK+c.Dropped != 20 || overflow == "queue" && c.Dropped > 0 {
				t.Errorf("%d dropped early, %d took long; %+v", early, long, c)
			}
		})
	}
}

// Connections whose answers are long in coming do not hold up those behind them.
func TestModesSlowOnes(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		const slow, hang = 3, 300 * time.Millisecond
		var served, meanwhile atomic.Int32
		addr := listen(t, func(c net.Conn) {
			for request(c) {
				if n := served.Add(1); n > 100 && n <= 100+slow {
					before, begun := served.Load(), time.Now()
					for time.Sleep(hang); served.Load() < before+100 && time.Since(begun) < time.Minute; {
						time.Sleep(time.Millisecond)
					}
					meanwhile.Store(served.Load() - before)
				}
				io.WriteString(c, ok)
			}
		})
		l := httpLoop(t, addr)
		l.Timeout = 2 * time.Minute
		r := load(t, mode, l, func(o *engine.Options) { o.Requests, o.Connections = 2000, 8 })
		if r.Counts.Failed > 0 || r.Latency["service"].Max < float64(hang/time.Microsecond) || meanwhile.Load() < 100 {
			t.Errorf("%d served while %d hung; %+v, %+v", meanwhile.Load(), slow, r.Counts, r.Latency["service"])
		}
	})
}

func TestModesFaults(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		endless := fault{"endless head", func(c net.Conn) { request(c); io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20)) }, "malformed|too_large|reset"}
		for _, c := range append(faults(), endless) {
			t.Run(c.name, func(t *testing.T) {
				l := httpLoop(t, listen(t, c.answer))
				if l.Timeout = time.Minute; strings.Contains(c.class, "timeout") {
					l.Timeout = time.Second // a busy machine needs some of it to connect; the others come to their end by themselves, however busy the machine is
				}
				r := load(t, mode, l, func(o *engine.Options) { o.Rate, o.Requests = engine.MustRate("500"), 20 })
				if r.Counts.Failed != 20 {
					t.Fatalf("%+v", r.Counts)
				}
				for _, e := range r.Errors {
					if !strings.Contains("|"+c.class+"|", "|"+e.Class+"|") || e.Sample == "" {
						t.Errorf("class %q (%s), want %s", e.Class, e.Sample, c.class)
					}
				}
			})
		}
	})
}

// Answers in any pieces: whole, byte by byte, chunked, without a length, and more
// than the buffer holds.
func TestModesAnswers(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	for name, answer := range map[string]string{
		"length":   ok,
		"chunked":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"long":     fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(long), long),
		"no end":   "HTTP/1.0 200 OK\r\n\r\nok",
		"interim":  "HTTP/1.1 100 Continue\r\n\r\n" + ok,
		"no bytes": "HTTP/1.1 204 No Content\r\n\r\n",
	} {
		for _, pieces := range []bool{false, true} {
			if pieces && name == "long" {
				continue
			}
			t.Run(fmt.Sprint(name, " in pieces ", pieces), func(t *testing.T) {
				addr := listen(t, func(c net.Conn) {
					for request(c) {
						for i := 0; pieces && i < len(answer); i++ {
							if _, err := c.Write([]byte{answer[i]}); err != nil {
								return
							}
						}
						if !pieces {
							io.WriteString(c, answer)
						}
						if name == "no end" {
							return
						}
					}
				})
				eachMode(t, func(t *testing.T, mode string) {
					r := load(t, mode, httpLoop(t, addr), func(o *engine.Options) { o.Requests, o.Connections = 20, 2 })
					if r.Counts.OK != 20 || r.Bytes.Received != 20*int64(len(answer)) {
						t.Errorf("%+v, %d bytes, want %d; %+v", r.Counts, r.Bytes.Received, 20*len(answer), r.Errors)
					}
				})
			})
		}
	}
}

// A request that the socket has no room for is sent as there is room. The engine counts the bytes of
// the answers, for which a codec that does not know them is enough.
func TestModesLargeRequests(t *testing.T) {
	const size, answer = 5 << 20, "HTTP/1.1 204 No Content\r\n\r\n"
	var got atomic.Int64
	addr := listen(t, func(c net.Conn) {
		for {
			n, err := io.CopyN(io.Discard, c, size)
			if got.Add(n); err != nil {
				return
			}
			io.WriteString(c, answer)
		}
	})
	eachMode(t, func(t *testing.T, mode string) {
		got.Store(0)
		l := &takt.Loop{Network: "tcp", Addr: addr, ConnectTimeout: time.Minute, Timeout: time.Minute,
			Codec: func(int) takt.Codec { return raw(make([]byte, size)) }}
		r := load(t, mode, l, func(o *engine.Options) { o.Requests, o.Connections = 6, 2 })
		if r.Counts.OK != 6 || r.Bytes != (takt.Bytes{Sent: 6 * size, Received: 6 * int64(len(answer))}) || got.Load() != 6*size {
			t.Errorf("%+v, %+v, %d arrived; %+v", r.Counts, r.Bytes, got.Load(), r.Errors)
		}
	})
}

// A target that answers and goes before it has read the request has answered.
func TestModesEarlyAnswer(t *testing.T) {
	addr := listen(t, func(c net.Conn) {
		request(c)
		io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		time.Sleep(20 * time.Millisecond) // until the sockets are full
	})
	q := http1.Request{Method: "POST", Target: "/", Host: addr, Body: make([]byte, 20<<20)}
	rendered, err := q.Render()
	if err != nil {
		t.Fatal(err)
	}
	eachMode(t, func(t *testing.T, mode string) {
		l := httpLoop(t, addr)
		l.Codec = func(int) takt.Codec { return http1.NewCodec(rendered, http1.Options{}) }
		r := load(t, mode, l, func(o *engine.Options) { o.Requests, o.Connections = 6, 2 })
		if len(r.Status) != 1 || r.Status["413"] != 6 {
			t.Errorf("%+v, %v, %+v", r.Counts, r.Status, r.Errors)
		}
	})
}

// raw is a codec whose answers have no body.
type raw []byte

func (c raw) Append(dst []byte, _ *takt.Op) []byte { return append(dst, c...) }
func (raw) Parse(in []byte, _ bool, _ *takt.Result) (int, takt.Progress) {
	if !bytes.HasSuffix(in, []byte("\r\n\r\n")) {
		return 0, takt.More
	}
	return len(in), takt.Done
}
func (raw) Reset() {}

// A connection that the server closed while it was idle is dialled again, and the
// operation that finds out does not fail; stray bytes end a connection too.
func TestModesRedial(t *testing.T) {
	for name, extra := range map[string]string{"closed when idle": "", "leftover": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray"} {
		eachMode(t, func(t *testing.T, mode string) {
			var conns atomic.Int32
			addr := listen(t, func(c net.Conn) {
				conns.Add(1)
				if !request(c) {
					return
				}
				io.WriteString(c, ok+extra)
				if extra != "" {
					io.Copy(io.Discard, c)
				}
			})
			r := load(t, mode, httpLoop(t, addr), func(o *engine.Options) { o.Rate, o.Requests, o.Connections = engine.MustRate("20"), 3, 1 })
			if r.Counts.OK != 3 || conns.Load() != 3 {
				t.Errorf("%s: %+v over %d connections; %+v", name, r.Counts, conns.Load(), r.Errors)
			}
		})
	}
}

// A target that goes away fails what is under way, and later operations by the
// class of the dial; the run goes on.
func TestModesTargetGoesAway(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					for n := 0; request(c); n++ {
						if n == 20 {
							l.Close()
							return
						}
						io.WriteString(c, ok)
					}
				}()
			}
		}()
		r := load(t, mode, httpLoop(t, l.Addr().String()), func(o *engine.Options) { o.Rate, o.Requests, o.Connections = engine.MustRate("500"), 100, 1 })
		if r.Counts.OK < 20 || r.Counts.Failed < 50 {
			t.Errorf("%+v", r.Counts)
		}
		refused := uint64(0)
		for _, e := range r.Errors {
			if e.Class == engine.ClassRefused {
				refused = e.Count
			}
		}
		if refused < 50 {
			t.Errorf("%+v", r.Errors)
		}
	})
}

// At the bound operations wait or are dropped; what waits is response time, and not
// the generator's lateness.
func TestModesBound(t *testing.T) {
	addr, _ := serve(t, target.Options{Service: "20ms"})
	eachMode(t, func(t *testing.T, mode string) {
		r := load(t, mode, httpLoop(t, addr), func(o *engine.Options) { o.Rate, o.Requests, o.MaxInFlight = engine.MustRate("500"), 50, 2 })
		// 50 operations at 100/s: the last waits for 0.4 s.
		if l := r.Latency["response"]; r.Counts.OK != 50 || l.Max < 350e3 {
			t.Errorf("%+v, response max %v µs", r.Counts, l.Max)
		}
		if lag, delay := r.Latency["schedule_lag"].P50, r.Latency["send_delay"].P50; lag > delay/4 || r.Latency["service"].P50 > 100e3 {
			t.Errorf("lag p50 %v µs of a send delay of %v, service %v", lag, delay, r.Latency["service"].P50)
		}
		r = load(t, mode, httpLoop(t, addr), func(o *engine.Options) {
			o.Rate, o.Requests, o.MaxInFlight, o.Overflow = engine.MustRate("500"), 50, 2, "drop"
		})
		if r.Counts.Dropped < 20 || r.Counts.OK+r.Counts.Dropped != 50 {
			t.Errorf("%+v", r.Counts)
		}
	})
}

// What hangs until the drain is over is unfinished, and what still waits too. The bytes so far count.
func TestModesDrain(t *testing.T) {
	const half = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
	addr := listen(t, func(c net.Conn) { request(c); io.WriteString(c, half); io.Copy(io.Discard, c) })
	eachMode(t, func(t *testing.T, mode string) {
		l := httpLoop(t, addr)
		l.Timeout = time.Hour
		r := load(t, mode, l, func(o *engine.Options) {
			o.Rate, o.Duration, o.MaxInFlight, o.Drain = engine.MustRate("100"), 200*time.Millisecond, 5, engine.DrainOf(100*time.Millisecond)
		})
		if c := r.Counts; c.Unfinished != 20 || c.Sent != 5 {
			t.Errorf("%+v", c)
		}
		if b := r.Bytes; b.Received != 5*int64(len(half)) || b.Sent == 0 || b.Sent%5 != 0 {
			t.Errorf("%+v", b)
		}
	})
}

// A signal ends the schedule: what is due is served, what would have come is not.
func TestModesStop(t *testing.T) {
	addr, s := serve(t, target.Options{})
	eachMode(t, func(t *testing.T, mode string) {
		for _, rate := range []string{"1000", "0.001", "max"} {
			o := engine.Defaults()
			o.Engine, o.Rate, o.Duration = mode, engine.MustRate(rate), time.Hour
			if rate == "max" {
				o.Connections = 2
			}
			src, err := o.Source()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			go func(before uint64) {
				defer cancel()
				for s.Truth().Counts.Requests == before && t.Context().Err() == nil {
					time.Sleep(time.Millisecond)
				}
				time.Sleep(200 * time.Millisecond)
			}(s.Truth().Counts.Requests)
			r, err := engine.Run(ctx, engine.Plan{Options: o, Kind: "test", Source: src, Driver: &takt.Driver{Loop: httpLoop(t, addr)}})
			if err != nil {
				t.Fatal(err)
			}
			if c := r.Counts; c.OK != c.Scheduled || c.OK == 0 {
				t.Errorf("rate %s: %+v", rate, c)
			}
		}
	})
}

// A target that is not there ends the run before its start.
func TestModesDown(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		o := engine.Defaults()
		o.Engine, o.Rate, o.Requests = mode, engine.MustRate("10"), 1
		src, err := o.Source()
		if err != nil {
			t.Fatal(err)
		}
		_, err = engine.Run(context.Background(), engine.Plan{Options: o, Kind: "test", Source: src, Driver: &takt.Driver{Loop: httpLoop(t, "127.0.0.1:1")}})
		if err == nil || err.Error() != "cannot reach the target: dial tcp 127.0.0.1:1: connect: connection refused" {
			t.Error(err)
		}
	})
}

// refusing is the address of a target that takes one connection, the probe's, and refuses
// all others.
func refusing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		l.Close()
		if err == nil {
			request(c)
			c.Close()
		}
	}()
	return l.Addr().String()
}

// Operations that fail at once hold no others up: those of a closed loop, and those that
// are due, however little the generator may cost.
func TestModesRefused(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		r := load(t, mode, httpLoop(t, refusing(t)), func(o *engine.Options) { o.Duration, o.Connections = time.Second, 10 })
		if r.Counts.Failed < 30 { // of 150 with their pauses, on a quiet machine; 10 if each held up its connection
			t.Errorf("%+v", r.Counts)
		}
		r = load(t, mode, httpLoop(t, refusing(t)), func(o *engine.Options) {
			o.Rate, o.Requests, o.MaxLag, o.Drain = engine.MustRate("1000"), 500, 20*time.Millisecond, engine.DrainOf(time.Minute)
		})
		if r.Counts.Failed != 500 {
			t.Errorf("%+v", r.Counts)
		}
	})
}

// What waits for the only connection, which has to be made anew each time, is not late
// by the generator's fault.
func TestModesRedialIsNoLag(t *testing.T) {
	addr := listen(t, func(c net.Conn) {
		if request(c) {
			time.Sleep(5 * time.Millisecond)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
		}
	})
	eachMode(t, func(t *testing.T, mode string) {
		r := load(t, mode, httpLoop(t, addr), func(o *engine.Options) {
			o.Rate, o.Requests, o.Connections, o.Arrivals, o.Seed = engine.MustRate("120"), 100, 1, engine.MustArrivals("poisson"), 1
		})
		if lag, service := r.Latency["schedule_lag"].P50, r.Latency["service"].P50; r.Counts.OK != 100 || lag > service/4 {
			t.Errorf("lag p50 %v µs beside a service time of %v; %+v", lag, service, r.Counts)
		}
	})
}

// An answer that is there is read before the next operation is dropped for its connection:
// what was dropped was due before the operation that was in flight ended.
func TestModesDropLast(t *testing.T) {
	addr, _ := serve(t, target.Options{})
	eachMode(t, func(t *testing.T, mode string) {
		r, rows := loadRows(t, mode, httpLoop(t, addr), func(o *engine.Options) {
			o.Rate, o.Requests, o.MaxInFlight, o.Overflow = engine.MustRate("1100"), 500, 1, "drop"
		})
		// A worker can lose its core between its answer and the next operation.
		if early := droppedEarly(rows, 1, 0); early > 50 || r.Counts.OK+r.Counts.Dropped != 500 || r.Warned("clamped") { // clamped: sent before it was free
			t.Errorf("%d of %d rows were dropped beside a free connection; %+v, warnings %v", early, len(rows), r.Counts, r.Warnings)
		}
	})
}

// The drain begins when the last operation is sent, though it waited for the first.
func TestModesLastHangs(t *testing.T) {
	addr := listen(t, func(c net.Conn) {
		request(c)
		io.WriteString(c, ok)
		io.Copy(io.Discard, c)
	})
	for loops := range 3 {
		eachMode(t, func(t *testing.T, mode string) {
			l := httpLoop(t, addr)
			l.Timeout = time.Minute
			r := load(t, mode, l, func(o *engine.Options) {
				o.Requests, o.Connections, o.Loops, o.Drain = uint64(2*max(1, loops)), max(1, loops), loops, engine.DrainOf(300*time.Millisecond)
			})
			if n := r.Counts.Scheduled; r.Counts.Unfinished != n/2 || r.Counts.OK != n/2 {
				t.Errorf("%d loops: %+v", loops, r.Counts)
			}
		})
	}
}

// --max-in-flight holds for a fixed pool that is larger.
func TestModesBoundBelowPool(t *testing.T) {
	addr, _ := serve(t, target.Options{Service: "5ms"})
	eachMode(t, func(t *testing.T, mode string) {
		r := load(t, mode, httpLoop(t, addr), func(o *engine.Options) { o.Requests, o.Connections, o.MaxInFlight = 300, 30, 10 })
		if peak := peakOf(r); peak != 10 || r.Counts.OK != 300 {
			t.Errorf("%d in flight, want 10; %+v", peak, r.Counts)
		}
	})
}

// In both modes the schedule counts from the instant of --start-at, not from the one at
// which the process woke; a signal before it ends the run, and one that is over sends nothing.
func TestModesStartAt(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		var s *target.Server
		var at time.Time
		var r *takt.Report
		var rows []takt.Sample
		drivertest.Slowly(time.Second, func(ahead time.Duration) bool { // busy machines took 126 ms to connect
			addr, server := serve(t, target.Options{})
			s, at = server, time.Now().Add(ahead)
			var err error
			r, rows, err = tryRows(t, mode, httpLoop(t, addr), func(o *engine.Options) {
				o.Rate, o.Requests, o.Shard, o.StartAt = engine.MustRate("1000"), 100, engine.MustShard("2/4"), engine.StartAt(at)
			})
			if err != nil && ahead >= drivertest.Longest {
				t.Fatal(err)
			}
			return err != nil
		})
		if !r.StartedAt.Equal(at) || len(rows) != 25 {
			t.Errorf("started %v after the instant, %d rows", r.StartedAt.Sub(at), len(rows))
		}
		for i, row := range rows {
			if want := time.Duration(4*i+1) * time.Millisecond; row.Due != want || row.Sent < row.Due {
				t.Fatalf("row %d is due at %v and sent at %v, want %v", i, row.Due, row.Sent, want)
			}
		}
		if early := at.Add(time.Millisecond).Sub(s.Truth().StartedAt); early > 0 {
			t.Errorf("the first arrived %v early", early)
		}
	})
}

func TestModesBeforeStartAt(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		for name, before := range map[string]time.Duration{"signal": 500 * time.Millisecond, "at the last moment": 8 * time.Millisecond, "over": -10 * time.Millisecond} {
			// On a busy machine the engine may look at the signal only after the start, and is long in
			// connecting. A fault of the engine comes each time.
			fault := ""
			drivertest.Slowly(time.Second, func(ahead time.Duration) bool {
				fault = beforeStartAt(t, mode, ahead, before)
				return fault != ""
			})
			if fault != "" {
				t.Errorf("%s: %s", name, fault)
			}
		}
	})
}

// beforeStartAt makes a run whose start lies ahead, with a signal so long before it, and returns what it did
// wrong. If before is negative, the run is ready only after its start.
func beforeStartAt(t *testing.T, mode string, ahead, before time.Duration) (fault string) {
	addr, s := serve(t, target.Options{})
	o := engine.Defaults()
	o.Engine, o.Rate, o.StartAt = mode, engine.MustRate("1"), engine.StartAt(time.Now().Add(ahead)) // busy machines took 572 ms to connect
	o.Duration = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	src, err := o.Source()
	if err != nil {
		t.Fatal(err)
	}
	var probe time.Duration
	if before > 0 {
		time.AfterFunc(ahead-before, cancel)
	} else {
		probe = ahead - before
	}
	r, err := engine.Run(ctx, engine.Plan{Options: o, Kind: "test", Source: src, Driver: &takt.Driver{
		Loop: httpLoop(t, addr), Probe: func(context.Context) error { time.Sleep(probe); return nil },
	}})
	if passed := (*engine.StartPassedError)(nil); errors.As(err, &passed) != (probe > 0) || err == nil && (r.Counts.Scheduled > 0 || r.DurationS > 0 || r.Verdict != takt.Valid) {
		return fmt.Sprintf("error %v, report %+v", err, r)
	}
	if n := s.Truth().Counts.Requests; n > 0 {
		return fmt.Sprintf("%d requests", n)
	}
	return ""
}

// A closed loop dials a target that has gone some dozen times a second with each connection,
// not as often as it can; the schedule of an open one says when.
func TestModesDeadTarget(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		for _, rate := range []string{"", "2000"} {
			var first atomic.Bool
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go func() {
						defer c.Close()
						if request(c) && first.CompareAndSwap(false, true) {
							io.WriteString(c, ok)
							l.Close()
						}
					}()
				}
			}()
			r := load(t, mode, httpLoop(t, l.Addr().String()), func(o *engine.Options) {
				o.Rate, o.Duration, o.Connections = engine.MustRate(rate), time.Second/2, 10
			})
			most := uint64(10 * (8 + 500/128 + 1)) // as TestPatience has it
			if rate != "" {
				most = 1000
			}
			if n := r.Counts.Sent; n > most || n < most/8 {
				t.Errorf("rate %q: %+v, at most %d", rate, r.Counts, most)
			}
			l.Close()
		}
	})
}
