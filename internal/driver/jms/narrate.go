package jms

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// Print are the flags for output besides the report.
type Print struct {
	ShowLatency bool
	Silent      bool
	Verbose     bool
	JSON        string
	HDR         string
	HDRSpaces   bool
}

// follower writes artemis perf's output. Methods called from other parts of the driver do
// nothing on nil.
type follower struct {
	o     *Options
	out   io.Writer
	meter *meter
	files []file

	before counts
	last   float64 // end of the last interval in seconds
	began  bool    // an interval ended, so the run started
	failed bool
}

// file is an output in a predecessor's format.
type file interface {
	interval(s *sample)
	close(s *sample) error
	discard() // the run did not start
}

// sample is an interval or, if final, the whole run. Counts of the whole run include the
// warm-up, latencies do not.
type sample struct {
	final     bool
	warmup    bool
	at        time.Time // end of the interval
	took      time.Duration
	counts    counts // counts of the interval or the run
	latencies []namedLatency
	result    string
}

// namedLatency is a latency with its names in the live block, the summary, the JSON and the
// histogram log.
type namedLatency struct {
	live, total, field, tag string
	h                       *hist.Histogram
}

// perSecond is n per second of the interval, rounded down.
func (s *sample) perSecond(n uint64) uint64 {
	if s.took <= 0 {
		return 0
	}
	return n * uint64(time.Second) / uint64(s.took)
}

// Watch is driver.Predecessor.Watch. It is called before each Open. The files need no words.
func (o *Options) Watch(w io.Writer) live.Watcher {
	if o.follower = nil; w == nil && o.JSON == "" && o.HDR == "" {
		return live.Watcher{}
	}
	if w == nil || o.Silent {
		w = io.Discard
	}
	f := &follower{o: o, out: w}
	o.follower = f
	url := o.Broker.broker.shown()
	if !o.sends {
		url = o.Consume.broker.shown()
	}
	fmt.Fprintf(w, "Connection brokerURL = %s\n", url)
	return live.Watcher{Second: func(s live.Snapshot) { f.interval(s.Interval) }, End: func(*takt.Report) { f.end() }}
}

// say prints a line if Verbose.
func (f *follower) say(format string, args ...any) {
	if f != nil && f.o.Verbose {
		fmt.Fprintf(f.out, format+"\n", args...)
	}
}

// open opens the files, before the run.
func (f *follower) open(o *Options) error {
	if f == nil {
		return nil
	}
	if o.JSON != "" {
		j, err := openJSON(o)
		if err != nil {
			return err
		}
		f.files = append(f.files, j)
	}
	if o.HDR != "" {
		h, err := openHDR(o)
		if err != nil {
			f.discard()
			return err
		}
		f.files = append(f.files, h)
	}
	return nil
}

// discard ends the files of a run that did not start.
func (f *follower) discard() {
	for _, file := range f.files {
		file.discard()
	}
}

// follow makes m the source of the figures.
func (f *follower) follow(m *meter) {
	if f != nil {
		f.meter = m
	}
}

// interval is called for every second, and for the rest after the last one.
func (f *follower) interval(iv takt.Interval) {
	s := &sample{warmup: iv.Warmup, at: time.Now(), took: time.Duration((iv.T - f.last) * float64(time.Second))}
	f.last, f.began = iv.T, true
	now := f.meter.counts()
	s.counts, f.before = now.minus(f.before), now
	s.latencies = f.latencies(func(k *kind) *hist.Histogram { return k.cut() })
	for _, file := range f.files {
		file.interval(s)
	}
	if s.took >= time.Second/2 { // a short rest at the end is only in the summary
		f.block(s)
	}
}

// end prints the summary and ends the files.
func (f *follower) end() {
	if !f.began {
		f.discard()
		return
	}
	s := &sample{final: true, at: time.Now(), counts: f.meter.counts(), result: "success"}
	if f.failed {
		s.result = "fail"
	}
	s.latencies = f.latencies(func(k *kind) *hist.Histogram { return k.total })
	f.summary(s)
	for _, file := range f.files {
		if err := file.close(s); err != nil {
			fmt.Fprintf(f.out, "cannot write all of it: %v\n", err)
		}
	}
}

// latencies are the latencies of the command.
func (f *follower) latencies(of func(*kind) *hist.Histogram) (list []namedLatency) {
	m := f.meter
	if f.o.sends && f.o.window.rated {
		list = append(list, namedLatency{"send delay time:", "delay send time:", "DelaySendTime", "delay send", of(&m.delay)})
	}
	if f.o.sends {
		list = append(list, namedLatency{"send ack time:  ", "send time:      ", "SendTime", "send", of(&m.ack)})
	}
	if f.o.receives {
		list = append(list, namedLatency{"transfer time:  ", "transfer time:  ", "TransferTime", "transfer", of(&m.transfer)})
	}
	return list
}

// figure is a count with its name.
type figure struct {
	name  string
	value uint64
}

func (o *Options) figures(c counts) (list []figure) {
	if o.sends {
		list = append(list, figure{"sent", c.sent}, figure{"blocked", c.blocked}, figure{"completed", c.completed})
	}
	if o.receives {
		list = append(list, figure{"received", c.received})
	}
	return list
}

// block prints the live block. Every line except the last ends with a space.
func (f *follower) block(s *sample) {
	warmup := "false"
	if s.warmup {
		warmup = "true "
	}
	lines := []string{"--- warmup " + warmup}
	for _, n := range f.o.figures(s.counts) {
		lines = append(lines, fmt.Sprintf("--- %-11s%8d msg/sec", n.name+":", s.perSecond(n.value)))
	}
	if f.o.ShowLatency {
		for _, l := range s.latencies {
			lines = append(lines, "--- "+l.live+" "+spread(l.h))
		}
	}
	fmt.Fprintf(f.out, "\n%s\n", strings.Join(lines, " \n"))
}

// summary prints artemis perf's summary.
func (f *follower) summary(s *sample) {
	fmt.Fprintf(f.out, "\n--- SUMMARY\n--- result:              %s\n", s.result)
	for _, n := range f.o.figures(s.counts) {
		space := ""
		if n.name == "received" {
			space = " "
		}
		fmt.Fprintf(f.out, "--- %-16s%12d%s\n", "total "+n.name+":", n.value, space)
	}
	var lines []string
	for _, l := range s.latencies {
		lines = append(lines, "--- aggregated "+l.total+" "+spread(l.h))
	}
	fmt.Fprintln(f.out, strings.Join(lines, " \n"))
}

// quantiles are the quantiles of artemis perf.
func quantiles() []float64 { return []float64{0.5, 0.9, 0.99, 0.999, 0.9999} }

// spread is the line of a latency.
func spread(h *hist.Histogram) string {
	var b strings.Builder
	fmt.Fprintf(&b, "mean: %9.2f us", hist.Micros(h.Mean()))
	for _, q := range quantiles() {
		fmt.Fprintf(&b, " - %.2f%%: %9.2f us", 100*q, hist.Micros(h.Quantile(q)))
	}
	fmt.Fprintf(&b, " - max:    %9.2f us", hist.Micros(h.Max()))
	return b.String()
}
