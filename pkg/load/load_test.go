package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/pace"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

const ms = time.Millisecond

// fake makes a run under fake time.
func fake(t *testing.T, p Plan) *takt.Report {
	t.Helper()
	r, err := Run(pace.In(t.Context(), pace.Timer), p)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Counts; c.Scheduled != c.OK+c.Failed+c.Dropped+c.Unfinished {
		t.Errorf("counts do not add up: %+v", c)
	}
	return r
}

// takes is a handler that takes d.
func takes(d time.Duration) *takt.Driver {
	return Handler(func(context.Context, *takt.Op, *takt.Result) error {
		time.Sleep(d)
		return nil
	})
}

// Every schedule of package schedule has as many operations as it says, and the report describes it
// as the schedule does.
func TestEverySchedule(t *testing.T) {
	poisson := schedule.Constant(100, 3*time.Second)
	poisson.Poisson, poisson.Seed = true, 7
	warm := schedule.Constant(100, 2*time.Second)
	warm.Warmup = time.Second
	part := schedule.Constant(100, 2*time.Second)
	part.Shard, part.Shards = 1, 4
	limit := schedule.Constant(100, 0)
	limit.Limit = 30
	for name, c := range map[string]struct {
		s    schedule.Spec
		n    uint64 // 0: as many as the source has
		warm uint64
	}{
		"constant": {schedule.Constant(100, 2*time.Second), 200, 0},
		"ramp":     {schedule.Ramp(0, 100, 2*time.Second), 100, 0},
		"stages":   {schedule.Spec{Stages: []schedule.Stage{{Duration: time.Second, From: 10, To: 10}, {Duration: time.Second}, {Duration: 1500 * ms, From: 10, To: 50}}}, 55, 0},
		"poisson":  {poisson, 0, 0},
		"warm-up":  {warm, 200, 100},
		"a shard":  {part, 50, 0},
		"limited":  {limit, 30, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fake(t, Plan{Driver: takes(300 * time.Microsecond), Schedule: c.s})
				want := c.n
				if want == 0 {
					src, err := c.s.Source()
					if err != nil {
						t.Fatal(err)
					}
					for op := (takt.Op{}); src.Next(&op); {
						want++
					}
				}
				if r.Counts.OK != want || r.WarmupCounts.OK != c.warm || r.Verdict != takt.Valid {
					t.Errorf("%+v, warm-up %+v, %s %v; want %d", r.Counts, r.WarmupCounts, r.Verdict, r.Warnings, want)
				}
				d := c.s.Describe()
				if r.Schedule.Profile != d.Profile || r.Schedule.Arrivals != d.Arrivals || r.Schedule.Shard != d.Shard || !slices.Equal(r.Schedule.Stages, d.Stages) || r.Schedule.RatePerS != d.RatePerS {
					t.Errorf("the report describes %+v, want %+v", r.Schedule, d)
				}
			})
		})
	}
}

// only is the one warning of r that is not of this machine.
func only(r *takt.Report) (w takt.Warning) {
	if list := drivertest.Doubts(r); len(list) == 1 {
		w = list[0]
	}
	return w
}

func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fake(t, Plan{Driver: takes(10300 * time.Microsecond), Schedule: Closed(time.Second), Workers: 2})
		if r.Counts.OK != 196 || r.Schedule.Profile != "closed" || !strings.HasSuffix(only(r).Message, "; give the load a rate for what users feel") {
			t.Errorf("%+v %+v %v", r.Counts, r.Schedule, r.Warnings)
		}
	})
}

// Each worker is opened and ended once, has a number of its own, and reports status and bytes.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		opened, ended, seqs := map[int]int{}, map[int]int{}, map[uint64]int{}
		d := Workers(func(worker int) (Func, func() error, error) {
			mu.Lock()
			opened[worker]++
			mu.Unlock()
			do := func(_ context.Context, op *takt.Op, r *takt.Result) error {
				mu.Lock()
				seqs[op.Seq]++
				mu.Unlock()
				r.Status, r.BytesSent, r.BytesReceived = 200+worker, 10, 100
				time.Sleep(29900 * time.Microsecond)
				return nil
			}
			return do, func() error { mu.Lock(); defer mu.Unlock(); ended[worker]++; return errors.New("ignored") }, nil
		})
		r := fake(t, Plan{Driver: d, Schedule: schedule.Constant(100, time.Second), Workers: 3})
		for i := range 3 {
			if opened[i] != 1 || ended[i] != 1 || r.Status[fmt.Sprint(200+i)] == 0 {
				t.Errorf("worker %d was opened %d times and ended %d times; status %v", i, opened[i], ended[i], r.Status)
			}
		}
		if len(opened) != 3 || len(seqs) != 100 || r.Bytes != (takt.Bytes{Sent: 1000, Received: 10000}) {
			t.Errorf("%d workers, %d operations, %+v", len(opened), len(seqs), r.Bytes)
		}
	})
}

// A worker that cannot be opened before the start ends the run; later its operations fail with the
// class of the error, and the next operation tries again.
func TestWorkerThatDoesNotOpen(t *testing.T) {
	refused := errors.New("no room")
	synctest.Test(t, func(t *testing.T) {
		d := Workers(func(int) (Func, func() error, error) { return nil, nil, refused })
		if r, err := Run(pace.In(t.Context(), pace.Timer), Plan{Driver: d, Schedule: schedule.Constant(10, time.Second)}); r != nil || !errors.Is(err, refused) {
			t.Errorf("%v, %v", r, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		d := Workers(func(worker int) (Func, func() error, error) {
			if worker == 1 {
				if tries++; tries < 4 {
					return nil, nil, Failed("full", refused)
				}
			}
			return func(context.Context, *takt.Op, *takt.Result) error { time.Sleep(15300 * time.Microsecond); return nil }, nil, nil
		})
		r := fake(t, Plan{Driver: d, Schedule: schedule.Constant(100, time.Second), Workers: 2})
		if len(r.Errors) != 1 || r.Errors[0] != (takt.ErrorClass{Class: "full", Count: 2, Sample: "no room"}) {
			t.Errorf("%+v", r.Errors)
		}
	})
}

// A worker that does not open in time does not outlive the context.
func TestWorkerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		d := Workers(func(int) (Func, func() error, error) { <-release; return nil, nil, io.EOF })
		ctx, cancel := context.WithTimeout(pace.In(t.Context(), pace.Timer), time.Second)
		defer cancel()
		if _, err := Run(ctx, Plan{Driver: d, Schedule: schedule.Constant(10, time.Second)}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

func TestClassOf(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("x"), Other},
		{Failed("5xx", errors.New("x")), "5xx"},
		{fmt.Errorf("more: %w", Failed("5xx", io.EOF)), "5xx"},
		{Failed("two words\n\x1b[31m", io.EOF), "two_words__[31m"},
		{Failed("", io.EOF), Other},
		{Failed(strings.Repeat("ü", 400), io.EOF), strings.Repeat("ü", 30)},
		{context.DeadlineExceeded, Timeout},
		{context.Canceled, "cancelled"},
		{dial, Refused},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, Reset},
		{fmt.Errorf("reading: %w", io.EOF), Ended},
		{&net.OpError{Op: "read", Err: syscall.EHOSTUNREACH}, Network},
		{&net.DNSError{Name: "x"}, "dns"},
	} {
		if got := ClassOf(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
	if Failed("x", nil) != nil {
		t.Error("no error became a failure")
	}
}

// The report has the plan's labels, variables and assertions, and is written and stored.
func TestReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	synctest.Test(t, func(t *testing.T) {
		var stored *takt.Report
		seconds, rows := 0, 0
		r := fake(t, Plan{
			Driver: takes(300 * time.Microsecond), Schedule: schedule.Constant(100, 3*time.Second), Name: "noop",
			Labels: map[string]string{"version": "2"}, Variables: map[string]any{"size": 7},
			Assert: []string{"p99<1ms,errors<1%", "p50>1s"}, Outputs: []string{"json=" + path},
			Store:    func(r *takt.Report) error { stored = r; return nil },
			OnSecond: func(takt.Interval) { seconds++ }, OnSamples: func(_ []string, list []takt.Sample) { rows += len(list) },
		})
		if r.Kind != Kind || r.Labels["version"] != "2" || r.Variables["name"] != "noop" || r.Variables["size"] != 7 || r.Variables["rate_per_s"] != 100.0 || r.ComparabilityKey == "" || len(r.ID) != 26 {
			t.Errorf("%+v", r)
		}
		if len(r.Assertions) != 3 || r.Assertions[0].Result != takt.Pass || r.Assertions[2].Result != takt.Fail {
			t.Errorf("%+v", r.Assertions)
		}
		if stored != r || seconds < 2 || rows != 300 {
			t.Errorf("stored %v, %d seconds, %d rows", stored != nil, seconds, rows)
		}
	})
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `"name": "noop"`) {
		t.Errorf("%s %v", text, err)
	}
}

// All faults come at once, and each says what to do.
func TestValidate(t *testing.T) {
	_, err := Run(t.Context(), Plan{Workers: -1, Assert: []string{"p99"}, Outputs: []string{"jsn=x"}, MaxInFlight: -2})
	for _, want := range []string{"there is no driver; set Plan.Driver", "there is no schedule; set", "Plan.Workers is -1; give", "Plan.MaxInFlight is -2; give", `assertion "p99"`, "jsn"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
	good := Plan{Driver: takes(0), Schedule: schedule.Constant(1, time.Second)}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		change func(*Plan)
		want   string
	}{
		{func(p *Plan) { p.Schedule = Closed(time.Second) }, "a closed loop needs a number of workers"},
		{func(p *Plan) { p.StartAt = time.Now().Add(-time.Hour) }, "start"},
		{func(p *Plan) { p.Schedule = schedule.Constant(-1, time.Second) }, "rate"},
	} {
		bad := good
		c.change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// A report that cannot be written or stored is there all the same.
func TestFullDisk(t *testing.T) {
	p := Plan{Driver: takes(0), Schedule: schedule.Constant(100, 100*ms), Store: func(*takt.Report) error { return syscall.ENOSPC }}
	if _, err := os.Stat("/dev/full"); err == nil {
		p.Outputs = []string{"json=/dev/full"}
	}
	r, err := Run(t.Context(), p)
	if r == nil || r.Counts.OK != 10 || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "cannot store the report") {
		t.Errorf("%v, %v", r, err)
	}
	closed := false
	d := takes(0)
	d.Close = func() error { closed = true; return nil }
	p = Plan{Driver: d, Schedule: p.Schedule, Outputs: []string{"json=/nonexistent/x"}}
	if r, err := Run(t.Context(), p); r != nil || err == nil || !closed {
		t.Errorf("%v, %v, closed %v", r, err, closed)
	}
}

// unnamed is an error whose class is empty, which would mean success.
type unnamed struct{ error }

func (unnamed) Class() string { return "" }

// An operation whose worker could not be opened never counts as ok.
func TestOpeningFailsWithoutAClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		s := schedule.Constant(1000, 0)
		s.Limit = 10
		d := Workers(func(i int) (Func, func() error, error) {
			if opened++; opened > 1 {
				return nil, nil, unnamed{errors.New("no more")}
			}
			return func(context.Context, *takt.Op, *takt.Result) error { time.Sleep(time.Second); return nil }, nil, nil
		})
		if r := fake(t, Plan{Driver: d, Schedule: s, MaxInFlight: 2}); r.Counts.OK > 1 || r.Counts.Failed < 9 || r.Errors[0].Class != "worker" {
			t.Errorf("%+v %+v", r.Counts, r.Errors)
		}
	})
}
