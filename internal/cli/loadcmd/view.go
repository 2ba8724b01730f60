package loadcmd

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/screen"
	"github.com/taktload/takt/pkg/takt"
)

const (
	frame     = 250 * time.Millisecond // between two pictures
	keyFrame  = 100 * time.Millisecond // least time between a picture and one that a key causes
	viewEnd   = 2 * time.Second        // most time to wait for the terminal after the run
	snapshots = 16                     // seconds that wait for the view
)

// view is the full view of one run, in a goroutine of its own.
type view struct {
	screen   *screen.Screen
	state    *live.State
	palette  live.Palette
	messages *messages
	quit     func()          // as the first Ctrl-C; nil: there is no key for it
	stopping <-chan struct{} // the run was told to end

	notBefore time.Time   // no picture until then
	keys      <-chan byte // nil: not read yet

	snaps chan live.Snapshot
	over  chan struct{} // closed when the run is over
	done  chan struct{} // closed when the terminal is restored

	moment  live.Moment
	frozen  *live.State // the picture of a paused view; nil: not paused
	elapsed time.Duration
	at      time.Time // when elapsed was true: at first the start, which may lie ahead
	drawn   time.Time
	shown   picture // on the screen
	seconds int     // number of seconds that state got
	entered bool
	quitted bool
}

// open starts the view.
func (v *view) open(head live.Head, start time.Time) {
	v.snaps, v.over, v.done = make(chan live.Snapshot, snapshots), make(chan struct{}), make(chan struct{})
	v.at = start
	go v.run(head)
}

// add passes a second to the view. It never waits: a terminal that hangs costs the view seconds,
// not the run.
func (v *view) add(snap live.Snapshot) {
	select {
	case v.snaps <- snap:
	default:
	}
}

// end restores the terminal and writes the messages that waited.
func (v *view) end(*takt.Report) {
	close(v.over)
	pause.For(viewEnd, v.done)
	v.screen.Close()
	v.messages.release() // a terminal that hangs has left that to us
}

func (v *view) run(head live.Head) {
	defer close(v.done)
	defer v.recovered()
	defer v.leave()
	screen.Yield()
	v.state = live.New(head)
	suspended, stop := screen.Suspensions()
	defer stop()
	tick := time.NewTicker(frame)
	defer tick.Stop()
	v.draw()
	for {
		select {
		case <-v.over:
			return
		case <-v.stopping:
			v.stopping, v.moment.Stopping = nil, true
		case snap := <-v.snaps:
			v.state.Add(snap)
			v.seconds++
			v.elapsed, v.at = time.Duration(snap.Interval.T*float64(time.Second)), time.Now()
			continue
		case k := <-v.keys:
			v.key(k)
			if time.Since(v.drawn) < keyFrame {
				continue
			}
		case <-suspended:
			v.leave()
			screen.Suspend()
			continue
		case <-tick.C:
		}
		v.draw()
	}
}

// recovered ends the view, not the run, after a fault of the view.
func (v *view) recovered() {
	if fault := recover(); fault != nil {
		fmt.Fprintf(v.messages, "takt: warning: the view failed, please report it; the run goes on: %v\n%s", fault, debug.Stack())
	}
}

const ctrlL = 0x0c

func (v *view) key(k byte) {
	switch k {
	case ' ':
		v.pause()
	case ctrlL:
		v.shown = picture{}
		v.screen.Forget()
	case '?':
		v.moment.Help = !v.moment.Help
	case 'q', 'Q':
		if v.quit != nil && !v.quitted {
			v.quitted = true
			v.quit()
		}
	}
}

func (v *view) pause() {
	if v.moment.Paused = !v.moment.Paused; v.moment.Paused {
		v.frozen, v.moment.Elapsed = v.state.Clone(), v.now()
		return
	}
	v.frozen = nil
}

// now is the time since the start of the run.
func (v *view) now() time.Duration { return v.elapsed + time.Since(v.at) }

// enter switches to the view, unless the run may be over in an instant or the process may not use
// the terminal.
func (v *view) enter() (shown bool) {
	if time.Now().Before(v.notBefore) || !v.screen.Foreground() {
		return false
	}
	if v.entered {
		return true
	}
	if v.screen.Enter() != nil {
		return false
	}
	v.entered, v.shown = true, picture{}
	v.messages.hold()
	if v.keys == nil {
		v.keys = v.screen.Keys()
	}
	return true
}

// leave restores the terminal and writes the messages that waited.
func (v *view) leave() {
	v.entered = false
	v.screen.Leave()
	v.messages.release()
}

// picture is what a picture depends on.
type picture struct {
	live.Moment
	seconds       int // number of seconds in the state
	width, height int
	moves         bool
}

// draw shows the present picture, unless the same one is on the screen.
func (v *view) draw() {
	v.drawn = time.Now()
	if !v.enter() {
		return
	}
	state := v.state
	if v.frozen != nil {
		state = v.frozen
	} else {
		v.moment.Elapsed = v.now()
	}
	v.moment.Keys, v.moment.Note = true, v.messages.last()
	width, height := v.screen.Size()
	now := picture{v.moment, v.seconds, width, height, v.frozen == nil}
	now.Elapsed = now.Elapsed.Truncate(time.Second)
	if now == v.shown {
		return
	}
	v.shown = now
	if v.screen.Draw(state.View(v.moment, width, height, v.palette), width, height) != nil { // a terminal that is gone ends the run by SIGHUP
		v.shown = picture{}
	}
}

// A view of less than shortest would be a flash. A run of unknown length shows nothing for that
// long.
const shortest = 5 * time.Second

// settled is the time in which a wrong address or a closed port has ended the run: its error needs
// no view.
const settled = 300 * time.Millisecond

// suits reports whether the full view is of use by default: on a terminal of the usual size, for
// a run that is long enough to read it.
func suits(s *screen.Screen, length time.Duration) bool {
	width, height := s.Size()
	return width >= live.MinWidth && height >= live.MinHeight && (length < 0 || length >= shortest)
}
