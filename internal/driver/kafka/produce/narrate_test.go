package produce

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/pkg/takt"
)

// seconds tells w of seconds from, … to.
func seconds(w live.Watcher, from, to int) {
	for s := from; s <= to; s++ {
		w.Second(live.Snapshot{Interval: takt.Interval{T: float64(s)}})
	}
}

func TestNarrate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		o := New()
		o.MessageSize, o.BatchSize = 800, 500
		w := o.Watch(&out)
		o.narrator.connected(1)
		m := newMeter(1)
		o.narrator.follow(m)
		for i, n := range []int{5, 25, 14, 7, 3, 2, 1, 0, 1, 2} { // bins of 1 ms from 2.5 ms on
			for k := range n {
				took := 2500*time.Microsecond + time.Duration(i)*time.Millisecond + time.Duration(k)*time.Microsecond
				m.batch(min(took, 12500*time.Microsecond))
			}
		}
		m.batch(12500 * time.Microsecond)
		m.of(0).Add(30_500 - 61)
		m.bytes.Add(30_500 * 800)
		m.failed.Add(61)
		seconds(w, 1, 5)
		m.batch(700 * time.Microsecond)
		m.of(0).Add(3)
		m.bytes.Add(3 * 800)
		seconds(w, 6, 7)
		w.End(nil) // two seconds are left
		got := strings.ReplaceAll(out.String(), time.Now().Format("2006/01/02 15:04:05"), "2017/06/23 11:35:26")
		want, err := os.ReadFile("testdata/sangrenel.txt")
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	})
}

// The block has the seed's form: its sample, with the numbers taken out.

func TestNarrateForm(t *testing.T) {
	golden, err := os.ReadFile("testdata/sangrenel.txt")
	if err != nil {
		t.Fatal(err)
	}
	const d = `\d+(\.\d+)?(µs|ms|s)`
	form := regexp.MustCompile(`^
Starting \d+ client workers, \d+ writers per worker
Message size \d+ bytes, \d+ message limit per batch
Compression: \w+, RequiredAcks: \w+
\d{4}/\d\d/\d\d \d\d:\d\d:\d\d worker_1 connected
(
\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[ topic: sangrenel \]
> Messages: \d+(Mb|KB)/sec @ \d+ msgs/sec\. \| error rate \d+\.\d\d%
> Batches: \d+\.\d\d batches/sec\. \| ` + d + ` p99 \| ` + d + ` HMean \| ` + d + ` Min \| ` + d + ` Max
( *` + d + ` - ` + d + ` -+
){10}
)+$`)
	if !form.Match(golden) {
		t.Errorf("the seed's form does not fit:\n%s", golden)
	}
	bars := regexp.MustCompile(`(?m)^ +\d.*? (-+)$`)
	for _, at := range bars.FindAllSubmatchIndex(golden, -1) {
		if bounds := string(golden[at[0] : at[2]-1]); len([]rune(bounds)) != 20 {
			t.Errorf("the bounds are not right-aligned at 20: %q", bounds)
		}
	}
}

func TestFiguresAreFinite(t *testing.T) {
	m := newMeter(1)
	w := watch(m)
	f := w.cut(0) // nothing was sent, and no time went by
	if f.perSecond(f.sent) != 0 || f.errorRate() != 0 || f.output() != "0KB/sec" {
		t.Errorf("%+v", f)
	}
	m.batch(0)
	if f = w.cut(time.Second); f.p99 != 0 || f.bins[0] != 1 {
		t.Errorf("%+v", f)
	}
}

// Of more batches than a window holds, those that are kept come from all of it.

func TestWindowThins(t *testing.T) {
	w := watch(newMeter(1))
	const n = 3 * maxTook
	for i := range n {
		w.add(time.Duration(i))
	}
	f := w.cut(time.Second)
	if f.batches != n || f.min != 0 || f.max != n-1 || f.p99 < n*98/100 {
		t.Errorf("%d batches, min %d, max %d, p99 %d", f.batches, f.min, f.max, f.p99)
	}
	for i, count := range f.bins {
		if share := float64(count) / float64(sum(f.bins[:])); share < 0.099 || share > 0.101 {
			t.Errorf("bin %d holds %.3f of all", i, share)
		}
	}
}

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}

func TestEmitErrors(t *testing.T) {
	var out bytes.Buffer
	o := New()
	o.EmitErrors = true
	o.Watch(&out)
	m := newMeter(1)
	o.narrator.follow(m)
	for range maxEmitted + 50 {
		m.answered([]record{{err: errors.New("no leader")}})
	}
	if n := strings.Count(out.String(), "no leader"); n != maxEmitted || strings.Count(out.String(), "more errors follow") != 1 {
		t.Errorf("%d errors were printed:\n%s", n, out.String())
	}
}

// A queue that nobody empties loses intervals and blocks nobody.
func TestGraphiteNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(1)
		s := &graphite{every: time.Second, window: watch(m), queue: make(chan []byte, graphiteQueue), quit: make(chan struct{})}
		s.done.Go(s.measure)
		for range graphiteQueue + 7 {
			m.batch(time.Millisecond)
			m.of(0).Add(1)
			time.Sleep(time.Second) // of fake time
			synctest.Wait()
		}
		close(s.quit)
		s.done.Wait()
		if s.lost.Load() != 7 || len(s.queue) != graphiteQueue {
			t.Errorf("%d lost, %d queued", s.lost.Load(), len(s.queue))
		}
	})
}

// The seed's rate is takt's.

func TestShape(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(o *Options, e *engine.Options)
		rate     string
		inFlight int
		fault    string
	}{
		{"the seed's closed loop", func(o *Options, e *engine.Options) { o.Workers, o.BatchSize = 2, 500 }, "", 5000, ""},
		{"a rate", func(o *Options, e *engine.Options) { e.Rate = engine.MustRate("7/s") }, "7/s", inFlight, ""},
		{"a bound of the user's", func(o *Options, e *engine.Options) { e.MaxInFlight = 17 }, "", 17, ""},
		{"connections", func(_ *Options, e *engine.Options) { e.Connections = 2 }, "", 2, "--connections says nothing"},
		{"transactions larger than the loop", func(o *Options, e *engine.Options) { o.Transaction = 1000 }, "", 1000, ""},
		{"transactions larger than the bound", func(o *Options, e *engine.Options) { o.Transaction, e.MaxInFlight = 1000, 10 }, "", 10, "cannot fill transactions"},
	} {
		o, e := New(), engine.Defaults()
		o.Acks = AcksAll
		c.change(o, &e)
		o.Shape(&e)
		o.Shape(&e) // as once more for --repeat
		faults := o.Validate(nil)
		if e.Rate.String() != c.rate || e.InFlight() != c.inFlight || (len(faults) > 0) != (c.fault != "") {
			t.Errorf("%s: rate %q, %d in flight, faults %v", c.name, e.Rate, e.InFlight(), faults)
		}
		if len(faults) > 0 && !strings.Contains(faults[0].Error(), c.fault) {
			t.Errorf("%s: %v, want %q", c.name, faults[0], c.fault)
		}
	}
}
