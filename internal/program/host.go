package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/pkg/takt"
)

// Limits of what takt accepts of a program.
const (
	greetTime = 10 * time.Second // until its first line
	checkTime = 30 * time.Second
	readyTime = 5 * time.Minute // until its driver is open
	silence   = time.Minute     // between two lines of a run, which come once a second
	endTime   = 5 * time.Second // for its end, after it was asked
	headStart = 5 * time.Millisecond
	maxLine   = 128 << 20 // bytes; a report with 1200 intervals has up to 23 MB: see audit.MaxDocument
	maxSaid   = 1 << 20   // bytes of standard error that takt passes on
)

// Is reports whether a word of a command line is the path of a program, and not the name of a command
// or a URL.
func Is(word string) bool {
	if strings.Contains(word, "://") {
		return false
	}
	if runtime.GOOS == "windows" && (strings.HasPrefix(word, `.\`) || strings.HasPrefix(word, `..\`) || filepath.IsAbs(word)) {
		return true
	}
	return strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") || filepath.IsAbs(word)
}

// Find reports why path is not a file that can be started.
func Find(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot read %s: %w", path, errors.Unwrap(err))
	case err != nil:
		return fmt.Errorf("there is no program %s: %w; build it, or correct its path", path, errors.Unwrap(err))
	case info.IsDir():
		return fmt.Errorf("%s is a folder; give the program in it", path)
	case !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return fmt.Errorf("%s cannot be started: the file is not executable; build the program, or correct its path", path)
	}
	return nil
}

// Program is a program that greeted takt.
type Program struct {
	Path  string
	Hello Hello

	limits limits
}

// limits are the limits that tests change.
type limits struct {
	greet, silence time.Duration
	line           int
}

// Ask starts the program at path, and ends it when it has greeted. An error says why the program is not
// one for takt.
func Ask(ctx context.Context, path string) (*Program, error) {
	return ask(ctx, path, limits{greetTime, silence, maxLine})
}

func ask(ctx context.Context, path string, l limits) (*Program, error) {
	if err := Find(path); err != nil {
		return nil, err
	}
	p := &Program{Path: path, limits: l}
	c, err := p.open(ctx, nil)
	if err != nil {
		return nil, err
	}
	c.close()
	for _, f := range p.Hello.Flags {
		if err := Clash(f.Name); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return p, nil
}

// Check lets the program read its flags and arguments, and returns its faults.
func (p *Program) Check(ctx context.Context, l Load) []error {
	c, err := p.open(ctx, nil)
	if err != nil {
		return []error{err}
	}
	defer c.close()
	c.say(request{Check: &l})
	r, err := c.next(ctx, checkTime, nil)
	if err != nil {
		return []error{err}
	}
	if !r.Checked {
		return []error{c.strange(r)}
	}
	var faults []error
	for _, text := range r.Faults {
		faults = append(faults, errors.New(text))
	}
	return faults
}

// Run makes the run of a plan in the program. It uses the plan's options, and calls its functions as
// engine.Run does. What the program writes to standard error goes to stderr.
func (p *Program) Run(ctx context.Context, plan engine.Plan, l Load, stderr io.Writer) (*takt.Report, error) {
	c, err := p.open(ctx, stderr)
	if err != nil {
		return nil, err
	}
	defer c.close()
	l.Engine, l.Rows, l.Journal = words(plan.Options), plan.OnSamples != nil, plan.Journal != nil
	c.say(request{Run: &l})
	r, err := c.next(ctx, readyTime, plan.Abort)
	switch {
	case err != nil:
		return nil, err
	case r.Failed != "":
		return nil, r.failure()
	case !r.Ready:
		return nil, c.strange(r)
	}
	at, err := p.start(ctx, plan)
	if err != nil {
		return nil, err
	}
	c.say(request{Start: &at})
	if plan.OnStart != nil {
		plan.OnStart(at)
	}
	return c.follow(ctx, plan, max(0, time.Until(at)))
}

// failure is why there is no report.
func (r *reply) failure() error {
	err := errors.New(r.Failed)
	if r.Misuse {
		return &Misuse{err}
	}
	return err
}

// start is when the run of a program that is ready begins.
func (p *Program) start(ctx context.Context, plan engine.Plan) (time.Time, error) {
	if plan.Meet != nil {
		return plan.Meet(ctx)
	}
	if at := time.Time(plan.StartAt); !at.IsZero() {
		if err := plan.StartAt.Passed(); err != nil {
			return at, err
		}
		return at, nil
	}
	return time.Now().Add(headStart), nil
}

// follow passes on what the program says during the run, and returns its report.
func (c *conversation) follow(ctx context.Context, plan engine.Plan, early time.Duration) (*takt.Report, error) {
	stopping, abort := ctx.Done(), plan.Abort
	log := &log{c: c, plan: &plan}
	patience := time.NewTimer(early + c.p.limits.silence)
	defer patience.Stop()
	for {
		select {
		case r, ok := <-c.replies:
			if !ok {
				return nil, c.ended("before its report")
			}
			patience.Reset(c.p.limits.silence)
			switch {
			case r.Second != nil:
				if plan.OnSecond != nil {
					plan.OnSecond(r.Second.Interval, r.Second.Errors)
				}
			case log.keeps(r):
			case r.Rows != nil && plan.OnSamples != nil:
				plan.OnSamples(r.Rows.Phases, r.Rows.Samples)
			case r.Failed != "":
				return nil, r.failure()
			case r.Report != nil:
				return c.report(r.Report, plan)
			default:
				return nil, c.strange(r)
			}
		case <-stopping:
			stopping = nil
			c.say(request{Stop: true})
			patience.Reset(c.p.limits.silence)
		case <-abort:
			abort = nil
			c.say(request{Abort: true})
			patience.Reset(endTime)
		case <-patience.C:
			return nil, fmt.Errorf("%s hangs: it said nothing for %v, though a second of a run is a line; takt ended it%s", c.p.Path, c.p.limits.silence, c.lastWords())
		}
	}
}

// log is the journal of a run as the program tells it.
type log struct {
	c     *conversation
	plan  *engine.Plan
	begun bool
}

// keeps passes a record on to the journal, and reports whether r was one that comes now.
func (l *log) keeps(r reply) bool {
	j := l.plan.Journal
	switch {
	case j == nil:
		return false
	case r.Beginning != nil && !l.begun:
		l.begun = true
		r.Beginning.Report.Kind, r.Beginning.Told = l.plan.Kind, false
		j.Begin(*r.Beginning)
		return true
	case r.Counted != nil && l.begun:
		j.Second(*r.Counted)
		if j.WantsAll() { // the next second may be on its way already; then the one after it has all
			l.c.say(request{All: true})
		}
		return true
	}
	return false
}

// report reads a report, which must be one of the run that takt asked for.
func (c *conversation) report(text []byte, plan engine.Plan) (*takt.Report, error) {
	r, err := document.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the report of %s cannot be read: %w", c.p.Path, err)
	}
	spec, err := plan.Spec()
	if err != nil {
		return nil, err
	}
	n, want := r.Counts, spec.Describe()
	if n.Scheduled != n.OK+n.Failed+n.Dropped+n.Unfinished {
		return nil, fmt.Errorf("the report of %s cannot be true: of %d operations %d were ok, %d failed, %d were dropped and %d not finished", c.p.Path, n.Scheduled, n.OK, n.Failed, n.Dropped, n.Unfinished)
	}
	if got := r.Schedule; got.Profile != want.Profile || got.RatePerS != want.RatePerS || got.Arrivals != want.Arrivals || got.Shard != want.Shard {
		return nil, fmt.Errorf("the report of %s is about another load: %s at %g/s, shard %s, and takt asked for %s at %g/s, shard %s; build the program with this version of takt", c.p.Path, got.Profile, got.RatePerS, got.Shard, want.Profile, want.RatePerS, want.Shard)
	}
	return r, nil
}

// conversation is a started program.
type conversation struct {
	p       *Program
	child   *process.Child
	in, out *os.File
	said    *said
	replies chan reply
	over    chan struct{} // closed at the end: nobody receives replies
	broken  error         // why replies ended; valid once replies is closed
}

// advice is for the author of a program that takt cannot run.
const advice = "takt runs programs that call bench.Main, and not bench.BenchmarkCmd, as docs/library.md shows"

// open starts the program and reads its greeting. stderr may be nil.
func (p *Program) open(ctx context.Context, stderr io.Writer) (*conversation, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		theirIn.Close()
		in.Close()
		return nil, err
	}
	c := &conversation{p: p, in: in, out: out, said: &said{w: stderr}, replies: make(chan reply), over: make(chan struct{})}
	cmd := exec.Command(p.Path, Greeting)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, c.said
	c.child, err = process.Launch(cmd)
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("%w; %s", err, advice)
	}
	go c.read()
	r, err := c.next(ctx, p.limits.greet, nil)
	switch {
	case err == nil && r.Hello == nil:
		err = c.strange(r)
	case err == nil && r.Takt != Version:
		err = fmt.Errorf("it speaks version %d of the protocol, and this takt version %d; build both with the same version of takt", r.Takt, Version)
	}
	if err != nil {
		c.close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s is not a benchmark for takt: %w; %s", p.Path, err, advice)
	}
	p.Hello = *r.Hello
	return c, nil
}

// read reads the replies until the program ends or says something else.
func (c *conversation) read() {
	defer close(c.replies)
	go func() { // a process that it started may have its standard output, and never end
		<-c.child.Done()
		time.Sleep(time.Second)
		c.out.Close()
	}()
	lines := bufio.NewScanner(c.out)
	lines.Buffer(make([]byte, 0, 64<<10), c.p.limits.line)
	for lines.Scan() {
		var r reply
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			c.broken = fmt.Errorf("it said %.60q, which is not a line of takt's protocol", lines.Text())
			return
		}
		select {
		case c.replies <- r:
		case <-c.over:
			return
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		c.broken = fmt.Errorf("it said a line of more than %d MB", c.p.limits.line>>20)
	}
}

func (c *conversation) say(r request) {
	text, _ := json.Marshal(r) // plain data
	// A program that does not listen ends, or hangs: next says so. Without the limit a line that is
	// longer than the pipe would wait forever.
	_ = c.in.SetWriteDeadline(time.Now().Add(endTime))
	_, _ = c.in.Write(append(text, '\n'))
}

// next is the next reply, which must come within limit.
func (c *conversation) next(ctx context.Context, limit time.Duration, abort <-chan struct{}) (reply, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r, ok := <-c.replies:
		if !ok {
			return r, c.ended("without an answer")
		}
		return r, nil
	case <-timer.C:
		return reply{}, fmt.Errorf("it said nothing for %v, and takt ended it%s", limit, c.lastWords())
	case <-abort:
		return reply{}, errors.New("the run was ended before its start")
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
}

// ended is the error of a program whose replies ended.
func (c *conversation) ended(when string) error {
	if c.broken != nil {
		return c.broken
	}
	select {
	case <-c.child.Done():
		return fmt.Errorf("the program ended %s (%s)%s", when, c.child.State(), c.lastWords())
	case <-time.After(endTime):
		return fmt.Errorf("the program closed its standard output %s", when)
	}
}

func (c *conversation) strange(reply) error {
	return fmt.Errorf("%s said something else than takt had asked for", c.p.Path)
}

func (c *conversation) lastWords() string {
	if text := c.said.last(); text != "" {
		return "; its last words: " + text
	}
	return ""
}

// close ends the program, and what it started.
func (c *conversation) close() {
	c.in.Close()
	close(c.over)
	select {
	case <-c.child.Done():
	case <-time.After(500 * time.Millisecond): // its standard input has ended: a program of takt ends by itself
		c.child.End(endTime)
	}
	c.out.Close()
}
