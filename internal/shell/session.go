package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/foreign"
)

const (
	prompt = ">>> "
	// authTime is the limit for sending the token, TLS handshake included.
	authTime = 5 * time.Second
	// writeTime is how long a client may read nothing before it counts as gone.
	writeTime = 2 * time.Minute
	// endTime replaces writeTime while the server ends, because it waits for all sessions.
	endTime = time.Second
)

// session is one connection. Its main goroutine runs commands and writes; a second one
// reads one line each time the main one asks, so nothing is read ahead.
type session struct {
	server *Server
	ctx    context.Context // ends with the session or the server
	conn   net.Conn
	telnet *telnet
	number int64  // counts the server's sessions, from 1
	from   string // the client's address
	user   *user  // nil: not identified yet
	role   door.Role
	token  *door.Token // nil: the server has no tokens
	own    bool        // the client is takt's user or root, who can do everything without takt, too

	ask         chan struct{} // asks the reader for a line
	lines       chan input
	interrupted chan struct{} // Ctrl-C
	notices     chan notice   // what others did to jobs of this session

	sink     *sink               // gets what the session says instead of conn; nil: conn gets it
	editor   *term.Terminal      // nil: plain line mode
	watching *watching           // shown run; nil: none
	follows  []*follow           // followed jobs; the session shows one after the other
	shown    map[int]bool        // ids of jobs that were followed to their end
	fault    error               // that the running command has reported; nil: none
	fresh    bool                // the last line is an empty prompt
	spoken   bool                // a line was read
	question func(answer string) // gets the next line as its answer; nil: no question
	ending   bool
	broken   atomic.Bool // a write has failed: the client does not read
	recent   history
	width    int
	height   int
}

var errNobody = errors.New("nobody reads any more")

// input is a line, or the error that came instead.
type input struct {
	text string
	err  error
}

// notice says what another session did to a job.
type notice struct {
	job  *job
	text string
}

// maxNotices limits the notices that wait to be shown; the jobs' logs have all of them.
const maxNotices = 16

// follow is a job whose log a session shows.
type follow struct {
	job *job
	at  int64 // position in the log
}

func newSession(s *Server, ctx context.Context, conn net.Conn) *session {
	c := &session{
		server: s, ctx: ctx, conn: conn, number: s.sessions.Add(1), from: conn.RemoteAddr().String(), role: door.RoleRun,
		ask: make(chan struct{}, 1), lines: make(chan input), interrupted: make(chan struct{}, 1), notices: make(chan notice, maxNotices),
		shown: map[int]bool{},
	}
	c.telnet = &telnet{in: bufio.NewReader(conn), answer: c.send, interrupt: c.interrupt, window: c.resize}
	return c
}

// serve runs the session until the client leaves, the server ends, or nobody reads.
func (c *session) serve() {
	ctx, cancel := context.WithCancel(c.ctx)
	c.ctx = ctx
	var reader sync.WaitGroup
	defer reader.Wait()
	defer cancel()
	defer c.conn.Close()
	defer func() { c.unwatch() }()
	defer context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Now().Add(endTime)) })() // wakes reads and writes that wait for the client
	release, ok := c.greet()
	if !ok {
		return
	}
	defer release()
	reader.Go(c.read)
	if c.server.options.Edit {
		c.edit(true)
	}
	c.loop()
}

// loop runs the session until it ends.
func (c *session) loop() {
	asked := false
	for !c.ending && !c.broken.Load() {
		if !asked && !c.inputEnded() {
			c.prompt()
			c.ask <- struct{}{}
			asked = true
		}
		more, ready := c.followed()
		if ready {
			continue
		}
		select {
		case l := <-c.lines:
			asked = false
			c.fresh = false
			c.input(l)
		case <-more:
		case <-c.ticks():
			c.watched()
		case <-c.interrupted:
			if c.unwatch() {
				c.prompt()
				continue
			}
			c.detach()
		case n := <-c.notices:
			c.notify(n)
		case <-c.ctx.Done():
			c.say("the server ends")
			return
		}
	}
}

// inputEnded reports whether no more lines can come.
func (c *session) inputEnded() bool { return c.lines == nil }

// read sends the main goroutine one line each time it asks.
func (c *session) read() {
	for {
		select {
		case <-c.ask:
		case <-c.ctx.Done():
			return
		}
		var l input
		if c.editor != nil {
			l.text, l.err = c.editor.ReadLine()
		} else {
			l.text, l.err = c.telnet.line()
		}
		select {
		case c.lines <- l:
		case <-c.ctx.Done():
			return
		}
	}
}

// input runs a line. At the end of the input the client may still read, as nc does for a
// script: the session then shows its jobs to their end before it ends.
func (c *session) input(l input) {
	watched := c.unwatch()
	switch {
	case errors.Is(l.err, errProtocol):
		c.leave(errProtocol)
	case watched && l.err == nil && strings.TrimSpace(l.text) == "":
	case errors.Is(l.err, errLongLine):
		_ = c.note(eventCommand, 0, "", "refused: "+l.err.Error()) // may fail: nothing was done
		c.fail(l.err)
	case l.err != nil:
		c.lines = nil
		c.ending = len(c.follows) == 0 || !errors.Is(l.err, io.EOF)
	case c.first() && isHTTP(l.text):
		c.leave(errProtocol)
	case c.question != nil:
		ask := c.question
		c.question = nil
		ask(strings.TrimSpace(l.text))
	default:
		c.execute(l.text)
	}
}

// leave ends the session of a client that is not meant to be here.
func (c *session) leave(why error) {
	_ = c.note(eventSession, 0, "", "refused: "+why.Error()) // may fail: the session ends
	c.ending = true
}

// first reports whether this is the first line.
func (c *session) first() bool {
	first := !c.spoken
	c.spoken = true
	return first
}

// followed writes the next piece of the first followed job. ready: call it again at once;
// otherwise more is closed when the log changes.
func (c *session) followed() (more <-chan struct{}, ready bool) {
	if len(c.follows) == 0 {
		return nil, false
	}
	f := c.follows[0]
	p := f.job.log.read(f.at)
	f.at = p.next
	if p.skipped > 0 {
		c.say(fmt.Sprintf("… %d bytes of the job's output were not kept", p.skipped))
	}
	if len(p.text) > 0 {
		c.write(p.text)
	}
	if !p.ended {
		return p.more, len(p.text) > 0
	}
	c.follows = c.follows[1:]
	c.shown[f.job.id] = true
	c.ending = c.ending || len(c.follows) == 0 && c.inputEnded()
	c.prompt()
	return nil, true
}

// tell passes a notice about one of this session's jobs to its main goroutine. It does not
// block.
func (c *session) tell(n notice) {
	select {
	case c.notices <- n:
	default: // the job's log has the notice
	}
}

// notify says a notice, unless this session shows the job's log, which has it too.
func (c *session) notify(n notice) {
	if !c.shown[n.job.id] && !slices.ContainsFunc(c.follows, func(f *follow) bool { return f.job == n.job }) {
		c.say(n.text)
		c.prompt()
	}
}

// attach follows a job from a position of its log.
func (c *session) attach(j *job, at int64) {
	if !slices.ContainsFunc(c.follows, func(f *follow) bool { return f.job == j }) {
		c.follows = append(c.follows, &follow{j, at})
	}
}

// detach stops following; the jobs continue.
func (c *session) detach() {
	if len(c.follows) > 0 {
		c.follows = nil
		c.say("detached; the jobs go on, attach shows them again")
	}
	c.fresh = false
	c.prompt()
}

func (c *session) interrupt() {
	select {
	case c.interrupted <- struct{}{}:
	default: // an earlier Ctrl-C still waits
	}
}

// prompt shows the prompt, unless a followed job is running. The editor shows its own.
func (c *session) prompt() {
	busy := c.watching != nil || len(c.follows) > 0 && c.server.queue.begun(c.follows[0].job)
	if c.editor != nil || c.fresh || c.inputEnded() || busy || c.ending {
		return
	}
	c.send([]byte(prompt))
	c.fresh = true
}

// Write implements io.Writer, for text whose lines end with \n.
func (c *session) Write(b []byte) (int, error) {
	c.write(b)
	if c.broken.Load() {
		return 0, errNobody
	}
	return len(b), nil
}

func (c *session) write(b []byte) {
	if c.sink != nil {
		c.sink.add(b)
		return
	}
	if c.editor != nil {
		_, _ = c.editor.Write(b) // wire notes the error
		return
	}
	if c.fresh {
		c.send([]byte("\r\n"))
		c.fresh = false
	}
	c.send([]byte(strings.ReplaceAll(string(b), "\n", "\r\n")))
}

// send writes bytes unchanged. Both goroutines may call it.
func (c *session) send(b []byte) { _, _ = wire{c}.Write(b) }

// say writes a line.
func (c *session) say(text string) { c.write([]byte(text + "\n")) }

// fail writes an error, one line for each of several joined errors.
func (c *session) fail(err error) {
	err = c.seenError(err)
	c.fault = err
	c.sink.fail(err)
	for line := range strings.SplitSeq(err.Error(), "\n") {
		c.say(c.red("error: " + foreign.Text(line)))
	}
}

// red colours text, if the session has an editor: only then is the client surely a terminal.
func (c *session) red(text string) string {
	if c.editor == nil {
		return text
	}
	return string(c.editor.Escape.Red) + text + string(c.editor.Escape.Reset)
}

// wire limits the time of a write. After a failed write it refuses all others: each would
// wait as long.
type wire struct{ *session }

func (w wire) Write(b []byte) (n int, err error) {
	if w.broken.Load() {
		return 0, errNobody
	}
	patience := writeTime
	if w.user == nil {
		patience = authTime
	}
	err = w.conn.SetWriteDeadline(time.Now().Add(patience))
	if w.ctx.Err() != nil { // checked after the deadline above, which may have replaced the one that serve sets at the end
		err = w.conn.SetWriteDeadline(time.Now().Add(endTime))
	}
	if err == nil {
		n, err = w.conn.Write(b)
	}
	if err != nil {
		w.broken.Store(true)
	}
	return n, err
}

// edit turns editing in the server on or off.
func (c *session) edit(on bool) {
	if on == (c.editor != nil) {
		return
	}
	c.telnet.propose(on)
	if !on {
		c.editor = nil
		return
	}
	c.editor = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{c.telnet, wire{c}}, prompt)
	c.editor.History = &c.recent
	c.editor.AutoCompleteCallback = c.complete
	c.resize(c.width, c.height)
}

// resize sets the size of the client's window; 0 is unknown.
func (c *session) resize(width, height int) {
	c.width, c.height = width, height
	if width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	if c.editor != nil {
		_ = c.editor.SetSize(width, height) // fails when the client is gone: the next write fails, too
	}
}
