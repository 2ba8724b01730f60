package live

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/pkg/takt"
)

// message is a line from the process of a run to another process that shows the run.
type message struct {
	Head     *Head     `json:"head,omitempty"` // a run begins
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	Over     bool      `json:"over,omitempty"` // the run has ended
	Refused  string    `json:"refused,omitempty"`
}

const (
	waiting = 16          // seconds that wait for a reader
	feedEnd = time.Second // most time to wait for the reader after the run
)

// feed writes a run to a Board in another process, in a goroutine of its own. A reader that hangs costs
// the picture, not the run.
type feed struct {
	w        io.Writer
	messages chan message // nil: the run has not begun
	done     chan struct{}
}

// Feed is a Watcher that writes a run for a Board in another process. A broken w ends the feed only.
func Feed(w io.Writer) Watcher {
	f := &feed{w: w}
	return Watcher{f.begin, f.add, f.end}
}

func (f *feed) begin(h Head, _ time.Time) {
	f.messages, f.done = make(chan message, waiting), make(chan struct{})
	f.messages <- message{Head: &h}
	go func() {
		defer close(f.done)
		encoder := json.NewEncoder(f.w)
		for m := range f.messages {
			if encoder.Encode(m) != nil {
				break
			}
		}
		for range f.messages { // nobody reads: nothing more is of use
		}
	}()
}

// add passes on a second, unless too many wait.
func (f *feed) add(s Snapshot) {
	select {
	case f.messages <- message{Snapshot: &s}:
	default:
	}
}

// end says that the run is over.
func (f *feed) end(*takt.Report) {
	if f.messages == nil {
		return
	}
	select {
	case f.messages <- message{Over: true}:
	default:
	}
	close(f.messages)
	pause.For(feedEnd, f.done)
}

// Refuse tells the other process what the process of a run is refused. A broken w loses it.
func Refuse(w io.Writer, why string) { _ = json.NewEncoder(w).Encode(message{Refused: why}) }

// maxMessage limits a line: an interval has some kilobytes.
const maxMessage = 1 << 20

// Board is the run of another process, as its feed describes it. Any goroutine may use it. The
// zero value is ready.
type Board struct {
	mu      sync.Mutex
	state   *State        // nil: nothing runs
	elapsed time.Duration // at the instant at
	at      time.Time
	rest    []byte // begin of a line
	run     string // id of the report to come

	begins  func(run string) // gets the id of each run that begins; nil: nobody asks
	refused func(why string) // gets what the other process is refused; nil: nobody asks
	recent  []Second         // the newest seconds, the oldest first
	count   int              // seconds so far, those that are no longer recent too
}

// Second is a second of a run.
type Second struct {
	Run string `json:"run,omitempty"` // id of the report to come
	Snapshot
}

// maxRecent limits the seconds that a Board keeps for readers that come later.
const maxRecent = 64

// OnRun sets the function that gets the id of each run that begins. Call it before the first
// Write.
func (b *Board) OnRun(begins func(run string)) { b.begins = begins }

// OnRefused sets the function that gets what the process of the run is refused. Call it before the first
// Write.
func (b *Board) OnRefused(refused func(why string)) { b.refused = refused }

// Since returns the seconds from a position on, and the position after them. It leaves out seconds
// that are no longer kept. The first position is 0.
func (b *Board) Since(at int) (seconds []Second, next int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.recent), max(0, b.count-at))
	return slices.Clone(b.recent[len(b.recent)-n:]), b.count
}

// Write implements io.Writer for the lines of a feed. Lines that are none are ignored.
func (b *Board) Write(p []byte) (int, error) {
	for _, m := range b.read(p) {
		switch {
		case m.Refused != "" && b.refused != nil:
			b.refused(m.Refused)
		case m.Head != nil && m.Head.Run != "" && b.begins != nil:
			b.begins(m.Head.Run)
		}
	}
	return len(p), nil
}

// read reads what is new.
func (b *Board) read(p []byte) (all []message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest = append(b.rest, p...)
	for {
		i := bytes.IndexByte(b.rest, '\n')
		if i < 0 {
			break
		}
		var m message
		if json.Unmarshal(b.rest[:i], &m) == nil {
			b.accept(m)
			all = append(all, m)
		}
		b.rest = append(b.rest[:0], b.rest[i+1:]...)
	}
	if len(b.rest) > maxMessage {
		b.rest = nil
	}
	return all
}

func (b *Board) accept(m message) {
	switch {
	case m.Head != nil:
		b.state, b.elapsed, b.at, b.run = New(*m.Head), 0, time.Now(), m.Head.Run
	case m.Snapshot != nil && b.state != nil:
		b.state.Add(*m.Snapshot)
		b.recent = append(b.recent, Second{b.run, *m.Snapshot})
		b.recent = b.recent[max(0, len(b.recent)-maxRecent):]
		b.count++
		b.elapsed, b.at = time.Duration(m.Snapshot.Interval.T*float64(time.Second)), time.Now()
	case m.Over:
		b.state = nil
	}
}

// View is the present picture, with a hint as its last line; nil: nothing runs.
func (b *Board) View(width, height int, p Palette, hint string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == nil {
		return nil
	}
	return b.state.View(Moment{Elapsed: b.elapsed + time.Since(b.at), Hint: hint}, width, height, p)
}
