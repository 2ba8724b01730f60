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
)

const (
	prompt = ">>> "
	// authTime is how long somebody may take to say who they are, TLS included.
	authTime = 5 * time.Second
	// writeTime is how long a client may take nothing: then it is gone.
	writeTime = 2 * time.Minute
	// endTime is the same once the server ends, which waits for all sessions.
	endTime = time.Second
)

// session is one connection. Its main goroutine runs commands and writes; a second one
// reads, a line whenever it is asked for one, so that nothing is read ahead.
type session struct {
	server *Server
	ctx    context.Context // ends with the session
	conn   net.Conn
	telnet *telnet
	number int64  // of the server's sessions
	from   string // the client's address
	user   *user  // nil: nobody knows yet
	role   role
	own    bool // it is the owner's of the server: whoever it is can do all this without takt

	ask         chan struct{} // for the next line
	lines       chan input
	interrupted chan struct{} // Ctrl-C
	notices     chan notice   // what others did to jobs of this session

	editor   *term.Terminal      // nil: plain line mode
	follows  []*follow           // the first is shown, the others after it
	shown    map[int]bool        // jobs that were followed to their end
	failed   bool                // the command that runs has said an error
	fresh    bool                // a prompt stands on the last line, and nothing behind it
	spoken   bool                // a line was read
	question func(answer string) // that the next line answers; nil: none
	ending   bool
	broken   atomic.Bool // nobody reads
	recent   history
	width    int
	height   int
}

var errNobody = errors.New("nobody reads any more")

// input is a line, or why there is none.
type input struct {
	text string
	err  error
}

// notice is what somebody else did to a job.
type notice struct {
	job  *job
	text string
}

// maxNotices that were not shown yet are kept; the log of the job has all.
const maxNotices = 16

// follow is a job whose log a session shows.
type follow struct {
	job *job
	at  int64
}

func newSession(s *Server, ctx context.Context, conn net.Conn) *session {
	c := &session{
		server: s, ctx: ctx, conn: conn, number: s.sessions.Add(1), from: conn.RemoteAddr().String(), role: roleRun,
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
	defer context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Now().Add(endTime)) })() // wakes who waits for the client
	leave, ok := c.greet()
	if !ok {
		return
	}
	defer leave()
	reader.Go(c.read)
	if c.server.options.Edit {
		c.edit(true)
	}
	c.loop()
}

// loop is the session's life.
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
		case <-c.interrupted:
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

// read gets lines for the main goroutine, one for each time it asks.
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

// input runs a line. At the end of the connection's input a script may still read: the
// session shows its jobs to their end, and then ends.
func (c *session) input(l input) {
	switch {
	case errors.Is(l.err, errLongLine):
		c.fail(l.err)
	case l.err != nil:
		c.lines = nil
		c.ending = len(c.follows) == 0 || !errors.Is(l.err, io.EOF)
	case c.first() && isHTTP(l.text):
		c.ending = true
	case c.question != nil:
		ask := c.question
		c.question = nil
		ask(strings.TrimSpace(l.text))
	default:
		c.execute(l.text)
	}
}

// first reports whether no line was read before.
func (c *session) first() bool {
	first := !c.spoken
	c.spoken = true
	return first
}

// followed writes what the job in front has written. ready: there is more at once;
// else more is closed when there is.
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

// tell has the session say what somebody else did to a job of its. It does not wait.
func (c *session) tell(n notice) {
	select {
	case c.notices <- n:
	default: // the job's log has it
	}
}

// notify says it, unless the job's log, which says it too, is shown here.
func (c *session) notify(n notice) {
	if !c.shown[n.job.id] && !slices.ContainsFunc(c.follows, func(f *follow) bool { return f.job == n.job }) {
		c.say(n.text)
		c.prompt()
	}
}

// attach shows a job from a position of its log on.
func (c *session) attach(j *job, at int64) {
	if !slices.ContainsFunc(c.follows, func(f *follow) bool { return f.job == j }) {
		c.follows = append(c.follows, &follow{j, at})
	}
}

// detach shows no job any more; they go on.
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
	default: // the last one was not yet seen
	}
}

// prompt asks for a line, unless the output of a job goes on. The editor has its own.
func (c *session) prompt() {
	busy := len(c.follows) > 0 && c.server.queue.begun(c.follows[0].job)
	if c.editor != nil || c.fresh || c.inputEnded() || busy || c.ending {
		return
	}
	c.send([]byte(prompt))
	c.fresh = true
}

// Write implements io.Writer, of text with \n at the end of lines.
func (c *session) Write(b []byte) (int, error) {
	c.write(b)
	if c.broken.Load() {
		return 0, errNobody
	}
	return len(b), nil
}

func (c *session) write(b []byte) {
	if c.editor != nil {
		_, _ = c.editor.Write(b) // wire notes that nobody reads
		return
	}
	if c.fresh {
		c.send([]byte("\r\n"))
		c.fresh = false
	}
	c.send([]byte(strings.ReplaceAll(string(b), "\n", "\r\n")))
}

// send writes bytes as they are. It may be called by both goroutines.
func (c *session) send(b []byte) { _, _ = wire{c}.Write(b) }

// say writes a line.
func (c *session) say(text string) { c.write([]byte(text + "\n")) }

// fail writes an error, or each of several that are joined.
func (c *session) fail(err error) {
	c.failed = true
	for line := range strings.SplitSeq(err.Error(), "\n") {
		c.say(c.red("error: " + line))
	}
}

// red is for terminals that are known to be some: those with an editor.
func (c *session) red(text string) string {
	if c.editor == nil {
		return text
	}
	return string(c.editor.Escape.Red) + text + string(c.editor.Escape.Reset)
}

// wire bounds how long a write may take. After one that failed there is none: each would
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
	if w.ctx.Err() != nil { // looked at second: the end sets its deadline before or after both
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

// edit turns the server's own editing on or off.
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

// resize is called when a window has another size. 0 is one that nobody knows.
func (c *session) resize(width, height int) {
	c.width, c.height = width, height
	if width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	if c.editor != nil {
		_ = c.editor.SetSize(width, height) // fails when the client is gone, which the next write finds too
	}
}
