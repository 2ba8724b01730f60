package produce

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/pkg/takt"
)

// narrator prints the seed's output. Its methods do nothing on nil.
type narrator struct {
	out    io.Writer
	topic  string
	every  float64 // seconds between two blocks
	silent bool    // single errors are not printed

	mu      sync.Mutex
	window  *window
	printed float64 // time of the last block in seconds
	last    float64 // end of the last interval in seconds
	errors  int     // errors printed since the last block
}

// maxEmitted is the largest number of errors that --emit-errors prints between two blocks.
const maxEmitted = 100

// Watch is driver.Predecessor.Watch. It is called before each Open and prints
// the start lines.
func (o *Options) Watch(w io.Writer) live.Watcher {
	if o.narrator = nil; w == nil {
		return live.Watcher{}
	}
	n := &narrator{out: w, topic: strings.Join(o.Names(), ", "), every: float64(o.Interval), silent: !o.EmitErrors}
	o.narrator = n
	fmt.Fprintf(w, "\nStarting %d client workers, %d writers per worker\n", o.Workers, o.Writers)
	size := fmt.Sprintf("%d bytes", o.MessageSize)
	if o.Sizes != "" {
		size = o.Sizes
	}
	fmt.Fprintf(w, "Message size %s, %d message limit per batch\n", size, o.BatchSize)
	fmt.Fprintf(w, "Compression: %s, RequiredAcks: %s\n", o.Compression, o.Acks)
	return live.Watcher{Second: func(s live.Snapshot) { n.interval(s.Interval) }, End: func(*takt.Report) { n.end() }}
}

// stamped prints a line with the prefix of Go's log, which the seed uses.
func (n *narrator) stamped(format string, args ...any) {
	fmt.Fprintf(n.out, time.Now().Format("2006/01/02 15:04:05 ")+format+"\n", args...)
}

func (n *narrator) connected(worker int) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stamped("worker_%d connected", worker)
}

// follow makes the meters the source of the figures.
func (n *narrator) follow(meters ...*meter) {
	if n == nil {
		return
	}
	n.window = watch(meters...)
	for _, m := range meters {
		if !n.silent {
			m.onFailure = n.failure
		}
	}
}

func (n *narrator) failure(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch n.errors++; {
	case n.errors <= maxEmitted:
		n.stamped("%v", err)
	case n.errors == maxEmitted+1:
		n.stamped("more errors follow; the report counts them")
	}
}

// interval is called every second.
func (n *narrator) interval(iv takt.Interval) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = iv.T
	if n.last-n.printed >= n.every {
		n.block()
	}
}

// end prints the figures after the last block, if they cover a second or more.
func (n *narrator) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last-n.printed >= 1 {
		n.block()
	}
}

// block prints the figures since the last block; the caller holds the lock.
func (n *narrator) block() {
	if n.window == nil {
		return // the run did not start
	}
	f := n.window.cut(time.Duration((n.last - n.printed) * float64(time.Second)))
	n.printed, n.errors = n.last, 0
	fmt.Fprintln(n.out)
	n.stamped("[ topic: %s ]", n.topic)
	fmt.Fprintf(n.out, "> Messages: %s @ %.0f msgs/sec. | error rate %.2f%%\n", f.output(), f.perSecond(f.sent), f.errorRate())
	if f.batches > 0 {
		fmt.Fprintf(n.out, "> Batches: %.2f batches/sec. | %v p99 | %v HMean | %v Min | %v Max\n",
			f.perSecond(uint64(f.batches)), micros(f.p99), micros(f.harmonic), micros(f.min), micros(f.max))
		fmt.Fprint(n.out, f.bars())
	}
	fmt.Fprintln(n.out)
}

// output is the rate of message bytes in the seed's notation: Mb are 2²⁰ bits.
func (f *figures) output() string {
	perSecond := f.perSecond(f.bytes)
	if perSecond >= 1<<17 {
		return fmt.Sprintf("%.0fMb/sec", perSecond/(1<<17))
	}
	return fmt.Sprintf("%.0fKB/sec", perSecond/(1<<10))
}

func micros(d time.Duration) time.Duration { return d.Truncate(time.Microsecond) }

// longestBar is the number of dashes of the fullest bin; the emptiest has one.
const longestBar = 25

// bars draws the bins, one line each.
func (f *figures) bars() string {
	var b strings.Builder
	least, most := slices.Min(f.bins[:]), slices.Max(f.bins[:])
	width := f.max - f.min
	for i, count := range f.bins {
		dashes := 1
		if most > least {
			dashes += (longestBar - 1) * (count - least) / (most - least)
		}
		from, to := f.min+width*time.Duration(i)/binCount, f.min+width*time.Duration(i+1)/binCount
		fmt.Fprintf(&b, "%20s %s\n", fmt.Sprintf("%v - %v", micros(from), micros(to)), strings.Repeat("-", dashes))
	}
	return b.String()
}
