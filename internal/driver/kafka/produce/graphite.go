package produce

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	metrics "github.com/taktload/takt/internal/metrics/graphite"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/value"
)

// Graphite says where the seed's metrics go, in Graphite's plaintext protocol.
type Graphite struct {
	IP, Port string // "": nowhere
	Prefix   string
}

func newGraphite() Graphite { return Graphite{Prefix: hostname()} }

// hostname is the seed's default of -graphite-metrics-prefix.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "takt"
	}
	return name
}

func (g *Graphite) addFlags(fs *pflag.FlagSet) {
	fs.Var(value.Target(&g.IP), "graphite-ip", "send figures of every --interval to Graphite at this `ADDRESS`")
	fs.Var(value.Text(&g.Port), "graphite-port", "Graphite's plaintext `PORT`")
	fs.Var(value.Text(&g.Prefix), "graphite-metrics-prefix", "names of the metrics begin with `NAME`; by default the host's")
}

func (g *Graphite) validate() error {
	if (g.IP == "") != (g.Port == "") {
		return value.Faultf("--graphite-ip and --graphite-port go together; give both or none")
	}
	return nil
}

// graphite sends the figures of one run. Nothing waits for it: what the queue has no
// room for is dropped and counted.
type graphite struct {
	Graphite
	every   time.Duration
	window  *window
	queue   chan []byte
	quit    chan struct{}
	done    sync.WaitGroup
	lost    atomic.Uint64 // intervals that did not arrive
	failure atomic.Value  // the last error, as text
}

const (
	graphiteQueue   = 30              // intervals
	graphiteTimeout = 5 * time.Second // of one connection
)

// start begins to send the figures of the meters; nil if nobody asked.
func (g *Graphite) start(meters []*meter, every time.Duration) *graphite {
	if g.IP == "" {
		return nil
	}
	s := &graphite{Graphite: *g, every: every, window: watch(meters...), queue: make(chan []byte, graphiteQueue), quit: make(chan struct{})}
	s.done.Go(s.measure)
	s.done.Go(s.send)
	return s
}

// measure makes the lines of every interval, and of what is left at the end.
func (s *graphite) measure() {
	defer close(s.queue)
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	before := time.Now()
	for open := true; open; {
		select {
		case <-tick.C:
		case <-s.quit:
			open = false
		}
		now := time.Now()
		f := s.window.cut(now.Sub(before))
		before = now
		if f.sent == 0 {
			continue // there is no p99 of nothing
		}
		select {
		case s.queue <- s.lines(&f, now):
		default:
			s.lost.Add(1)
		}
	}
}

func (s *graphite) lines(f *figures, now time.Time) (out []byte) {
	for _, m := range []struct {
		name  string
		value float64
	}{
		{"rate", f.perSecond(f.sent)}, {"error_rate", f.errorRate()}, {"output", f.perSecond(f.bytes)},
		{"p99", float64(f.p99) / float64(time.Millisecond)},
	} {
		out = fmt.Appendf(out, "%s.sangrenel.%s %f %d\n", s.Prefix, m.name, m.value, now.Unix())
	}
	return out
}

func (s *graphite) send() {
	for lines := range s.queue {
		if err := s.deliver(lines); err != nil {
			s.lost.Add(1)
			s.failure.Store(err.Error())
		}
	}
}

// deliver makes a connection for each interval, as the seed does.
func (s *graphite) deliver(lines []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), graphiteTimeout)
	defer cancel()
	return metrics.Send(ctx, net.JoinHostPort(s.IP, s.Port), lines)
}

// stop sends what is left. It waits for one connection at most.
func (s *graphite) stop() {
	if s == nil {
		return
	}
	close(s.quit)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.done.Wait()
	}()
	pause.For(graphiteTimeout, ended)
}
