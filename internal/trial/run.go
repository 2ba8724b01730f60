package trial

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/judge/generators"
	"github.com/taktload/takt/internal/pause"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/sandbox"
	"github.com/taktload/takt/internal/target"
)

const (
	patience  = 30 * time.Second // for a run, beyond its length: overload, and starts of large programs
	grace     = 2 * time.Second  // between the request to end and the kill
	mostText  = 4 << 20          // bytes of output that are read
	mostFile  = 64 << 20         // and of a file: a table of samples has 150 bytes a row
	mostWords = 5                // warnings that are kept
	rest      = 300 * time.Millisecond
)

// running is a run that goes on.
type running struct {
	ctx     context.Context
	process *process.Fenced
	server  *target.Server
	quota   *sandbox.Quota
	failed  error // of what happens during the run
}

func (r *running) fault(err error) { r.failed = errors.Join(r.failed, err) }

// wait waits for the first request and then for d. false: the run was over before.
func (r *running) wait(d time.Duration) bool {
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for r.server.Requests() == 0 {
		select {
		case <-r.process.Done():
			return false
		case <-r.ctx.Done():
			return false
		case <-poll.C:
		}
	}
	select {
	case <-r.process.Done():
		return false
	case <-r.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Judge runs all trials of a generator. The error says why it cannot be judged at all: it cannot be started, or not
// be read. name is what the answer calls it; "": the reader's name, or the program's.
func Judge(ctx context.Context, o Options, name string, c Command) (generators.Generator, error) {
	g := generators.Generator{Name: name, Command: c.Words()}
	s := session{o: o, command: c, reader: o.Read, said: map[string]bool{}}
	for i, connections := range o.Connections {
		s.cores = 0
		for _, p := range o.chosen() {
			if err := ctx.Err(); err != nil {
				return g, context.Cause(ctx)
			}
			t, err := s.trial(ctx, p, connections)
			if err == nil && i == 0 && p.Name == "steady" {
				err = s.readable(t)
			}
			if err != nil {
				return g, err
			}
			if t.LeftOut == "" {
				generators.Judge(&t)
			}
			g.Trials = append(g.Trials, t)
		}
	}
	s.describe(ctx, &g)
	return g, nil
}

// session is what is known of a generator after its first runs.
type session struct {
	o       Options
	command Command
	reader  *generators.Reader // nil: not known yet
	cores   float64            // CPU time of the steady run, in cores
	said    map[string]bool    // lines of the steady runs, without their digits
	version string
}

// readable is an error if nothing of the steady run can be read: then every cell would say so.
func (s *session) readable(t generators.Trial) error {
	for _, r := range t.Runs {
		if r.Unread == "" {
			return nil
		}
	}
	first := t.Runs[0]
	return fmt.Errorf("%s (the command was %s; it ended with %s, and the target got %.0f requests)", first.Unread, strings.Join(t.Command, " "), first.Exit, first.Served.Requests)
}

// describe adds name, version and notes.
func (s *session) describe(ctx context.Context, g *generators.Generator) {
	if g.Name == "" {
		g.Name = filepath.Base(s.command.Words()[0])
		if s.reader != nil && s.reader != s.o.Read {
			g.Name = s.reader.Name
		}
	}
	g.Version = s.version
	if s.reader == nil {
		return
	}
	g.Notes = s.reader.Notes
	if g.Version == "" {
		g.Version = s.ask(ctx)
	}
}

// askTime limits how long a program may take to print its version: a JVM needs a second.
const askTime = 10 * time.Second

// ask finds the version of the generator's program; "": nobody knows. The program is the first word with the
// generator's name, also in a line for a shell. A program in Go has its version inside.
func (s *session) ask(ctx context.Context) string {
	for _, word := range strings.Fields(strings.Join(s.command.Words(), " ")) {
		if filepath.Base(word) != s.reader.Name {
			continue
		}
		if s.reader.Ask != nil {
			ctx, cancel := context.WithTimeout(ctx, askTime)
			defer cancel()
			cmd := exec.CommandContext(ctx, word, s.reader.Ask...)
			cmd.Env, cmd.WaitDelay = s.o.Env, time.Second
			text, _ := cmd.CombinedOutput() // wrk prints its version and fails
			if m := s.reader.Asked.FindSubmatch(text); m != nil {
				return foreign.Line(string(m[1]))
			}
		}
		if path, err := exec.LookPath(word); err == nil {
			return foreign.Line(moduleVersion(path))
		}
		break
	}
	return ""
}

// trial runs a pathology as often as it is to be repeated.
func (s *session) trial(ctx context.Context, p Pathology, connections int) (generators.Trial, error) {
	t := generators.Trial{Pathology: p.Name, Connections: connections, Weak: p.Weak}
	if p.h1 && s.o.H2 {
		t.LeftOut = "over HTTP/2, a closed connection would end other requests, too"
		return t, nil
	}
	for i := range s.o.Repeats {
		if s.o.Told != nil {
			s.o.Told(fmt.Sprintf("%s, %d connections, run %d of %d: %s", p.Name, connections, i+1, s.o.Repeats, p.Short))
		}
		run, words, err := s.run(ctx, p, connections)
		switch left := (*leftOut)(nil); {
		case errors.As(err, &left):
			t.LeftOut = left.why
			return t, nil
		case err != nil:
			return t, err
		}
		if t.Command == nil {
			t.Command = words
		}
		t.Runs = append(t.Runs, run)
		pause.For(rest, ctx.Done())
	}
	return t, nil
}

// leftOut is the reason why this machine cannot have a pathology.
type leftOut struct{ why string }

func (l *leftOut) Error() string { return l.why }

// run is one run of a trial, and the words of its command.
func (s *session) run(ctx context.Context, p Pathology, connections int) (run generators.TrialRun, words []string, err error) {
	length := p.lasts(&s.o)
	behaviour := p.target(&s.o)
	if run.Felt, err = FeltBy(behaviour, s.o.Rate, length); err != nil {
		return run, nil, err
	}
	r := running{ctx: ctx}
	if p.starves {
		if r.quota, err = sandbox.NewQuota(max(leastQuota, s.cores*starved)); err != nil {
			return run, nil, &leftOut{err.Error()}
		}
		defer func() { err = errors.Join(err, r.quota.Remove()) }()
	}
	behaviour.Addr, behaviour.H2 = "127.0.0.1:0", s.o.H2
	if r.server, err = target.Listen(behaviour); err != nil {
		return run, nil, err
	}
	serving, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.server.Serve(serving) }()
	place, err := s.places(r.server, length, connections)
	if err == nil {
		words = s.command.with(place)
		err = s.watch(&r, p, words, place.File, length, &run)
	}
	stop()
	if err = errors.Join(err, <-served); err != nil {
		return run, words, err
	}
	run.Served = ServedBy(r.server.Truth(), s.o.Rate)
	if n := run.Served.Requests; n > 0 {
		run.CPU /= n
	}
	if errors.Is(r.failed, errors.ErrUnsupported) {
		return run, words, &leftOut{"this system cannot do it"}
	}
	return run, words, r.failed
}

// places are what the words of a run name.
func (s *session) places(server *target.Server, length time.Duration, connections int) (p places, err error) {
	host, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL(), "http://"))
	if err != nil {
		return p, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return p, err
	}
	text := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	p = places{
		URL: server.URL() + "/", Host: host, Port: number, Rate: text(s.o.Rate), RateEach: text(s.o.Rate / float64(connections)),
		Seconds: length.Seconds(), Requests: int(s.o.Rate * length.Seconds()), Connections: connections,
	}
	if s.command.reads() {
		p.File = filepath.Join(s.o.Dir, "output")
		if err := os.Remove(p.File); err != nil && !os.IsNotExist(err) {
			return p, err
		}
	}
	return p, nil
}

// watch starts the generator, waits for its end, and reads what it said. Everything of it is gone afterwards.
func (s *session) watch(r *running, p Pathology, words []string, file string, length time.Duration, run *generators.TrialRun) error {
	var out, complaints limited
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = slices.Clone(s.o.Env), &out, &complaints
	began := time.Now()
	child, err := process.LaunchFenced(cmd, nil)
	if err != nil {
		return fmt.Errorf("%w; check the command after --", err)
	}
	r.process = child
	usage := process.WatchAll(child.Pids)
	happened := make(chan struct{})
	go func() {
		defer close(happened)
		if p.during != nil {
			p.during(&s.o, r)
		}
	}()
	killed := false
	select {
	case <-child.Done():
	case <-r.ctx.Done():
	case <-time.After(length + patience):
		killed = true
	}
	took := time.Since(began)
	child.Stop(grace)
	<-happened
	used := usage.Usage()
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	state := cmd.ProcessState
	cpu := max(used.CPU, state.UserTime()+state.SystemTime())
	run.CPU, run.Memory, run.Exit, run.Failed = float64(cpu)/1e3, used.MaxRSS, child.State(), child.ExitCode() != 0
	if killed {
		run.Exit, run.Failed = "killed: it had not ended "+patience.String()+" after its time", true
	}
	if p.Name == "steady" {
		s.cores = max(s.cores, cpu.Seconds()/took.Seconds())
	}
	s.read(run, p, out.String(), complaints.String(), file)
	return nil
}

// read reads what the generator said.
func (s *session) read(run *generators.TrialRun, p Pathology, out, complaints, file string) {
	texts := []string{out, complaints, out + "\n" + complaints}
	if file != "" {
		text, err := readFile(file)
		if err != nil {
			run.Unread = fmt.Sprintf("the command wrote no file {{.File}}: %v", err)
			return
		}
		texts = []string{text}
	}
	reader, said, err := s.understand(texts)
	if run.Said = said; err != nil {
		run.Unread = err.Error()
	} else {
		s.reader, s.version = reader, cmp.Or(said.Version, s.version)
	}
	run.Said.Words = s.fresh(run.Said.Words, complaints, p.Name == "steady")
}

// understand reads the first text that can be read: generators print their figures on standard output, or
// on standard error. The error is that of the text that comes nearest.
func (s *session) understand(texts []string) (r *generators.Reader, said generators.Said, err error) {
	for _, text := range texts {
		found, bad := s.reader, error(nil)
		if found == nil {
			found, bad = generators.Find(text)
		}
		if bad == nil {
			if said, bad = found.Read(text); bad == nil {
				return found, said, nil
			}
			r = found
		}
		if err == nil || r == found {
			err = bad
		}
	}
	return r, generators.Said{}, err
}

// complaint finds lines that warn.
var complaint = regexp.MustCompile(`(?i)\b(warn\w*|errors?|insufficient|behind|late|lag\w*|over-?load\w*|dropp\w+|bottleneck|cannot|could not|dead|reset|unable|invalid|throttl\w*|slow\w*)\b`)

var digits = regexp.MustCompile(`\d+`)

// fresh are warnings that no steady run has: those of the reader, and lines of standard error that warn.
func (s *session) fresh(words []string, complaints string, steady bool) (list []string) {
	for line := range strings.Lines(complaints) {
		if complaint.MatchString(line) {
			words = append(words, foreign.Line(strings.TrimSpace(line)))
		}
	}
	for _, word := range words {
		plain := digits.ReplaceAllString(word, "0")
		switch {
		case steady:
			s.said[plain] = true
			fallthrough
		case !s.said[plain]:
			if len(list) < mostWords && !slices.Contains(list, word) {
				list = append(list, word)
			}
		}
	}
	return list
}

// readFile reads the beginning of a file that the generator wrote.
func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostFile))
	return string(b), err
}

// limited is the beginning of an output.
type limited struct{ b bytes.Buffer }

// Write implements io.Writer. It never fails: a generator whose output is not read would stop.
func (l *limited) Write(p []byte) (int, error) {
	if room := mostText - l.b.Len(); room > 0 {
		l.b.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

func (l *limited) String() string { return l.b.String() }
