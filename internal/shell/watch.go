package shell

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/internal/live"
)

// watchEvery is the time between two pictures of status -w.
const watchEvery = time.Second

// watching is the job whose run a session shows.
type watching struct {
	job  *job
	tick *time.Ticker
	none int // pictures in turn without a run
}

// maxNone is the number of pictures without a run after which status -w ends: a series of runs
// has short pauses.
const maxNone = 10

func prepareStatus(_ *session, args []string) (action, error) {
	switch {
	case len(args) == 0:
		return action{now: (*session).status}, nil
	case len(args) == 1 && args[0] == "-w":
		return action{now: (*session).watch}, nil
	}
	return action{}, fmt.Errorf("it accepts only -w, not %q", strings.Join(args, " "))
}

// watch begins to show the run of the running job.
func (c *session) watch() {
	j := c.server.queue.running()
	switch {
	case j == nil:
		c.fail(errors.New("no job is running; queue lists those that wait"))
		return
	case c.inputEnded(): // nobody could end it
		c.picture(j, "")
		return
	}
	c.unwatch()
	c.watching = &watching{job: j, tick: time.NewTicker(watchEvery)}
	c.say(fmt.Sprintf("job %d: %s; Enter or Ctrl-C ends the view, not the job", j.id, j.shown))
	c.watched()
}

// watched shows the next picture, or ends the view with its job.
func (c *session) watched() {
	w := c.watching
	shown := c.picture(w.job, "Enter ends this view")
	if w.none++; shown {
		w.none = 0
	}
	switch {
	case c.server.queue.over(w.job):
		c.unwatch()
		c.say(fmt.Sprintf("job %d has ended; log %d shows what it wrote", w.job.id, w.job.id))
	case w.none == maxNone:
		c.unwatch()
		c.say(fmt.Sprintf("job %d sends no load now; log %d shows what it does", w.job.id, w.job.id))
	default:
		return
	}
	c.prompt()
}

// unwatch ends the view. It reports whether there was one.
func (c *session) unwatch() bool {
	if c.watching == nil {
		return false
	}
	c.watching.tick.Stop()
	c.watching = nil
	c.fresh = false
	return true
}

// ticks is nil if the session shows no run.
func (c *session) ticks() <-chan time.Time {
	if c.watching == nil {
		return nil
	}
	return c.watching.tick.C
}

// picture shows the run of a job as it is now, and a hint below it; false: it has no run at this instant. Only with
// an editor the client is surely a terminal: others get a picture below the other.
func (c *session) picture(j *job, hint string) bool {
	width, height, palette, before := live.MinWidth, live.MinHeight, live.Mono, ""
	if c.editor != nil {
		palette, before = live.Basic, "\x1b[H\x1b[J"
		if c.width > 0 && c.height > 0 {
			width, height = min(c.width, maxWidth), min(c.height, maxHeight)
		}
	}
	lines := j.log.live.View(width, max(1, height-1), palette, hint) // the last line is for the prompt
	if lines == nil {
		return false
	}
	c.write([]byte(before + strings.Join(lines, "\n") + "\n"))
	return true
}

// A client may claim any size.
const (
	maxWidth  = 300
	maxHeight = 100
)
