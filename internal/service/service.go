// Package service is a server under test that takt starts: its port, when it is ready, its output,
// its usage, and its end.
package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/permanent"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/timeline"
)

// Options say how to start a server.
type Options struct {
	Command  string        // for sh -c; with PortMark
	Folder   string        // where the command runs
	Env      []string      // its environment, besides PORT
	Ready    Ready         // when it is ready
	Patience time.Duration // longest time until it is ready
	CPUs     []int         // CPUs that the server may use; nil: all
	Grace    time.Duration // time to end by itself before it is killed
}

// Server is a running server.
type Server struct {
	Port int

	options Options
	child   *process.Fenced
	log     *process.Log
	stopped bool
}

// Start starts a server and waits until it is ready.
func Start(ctx context.Context, o Options) (*Server, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	o.Ready = o.Ready.at(port)
	if o.Ready.line == nil {
		switch err := o.Ready.answers(ctx); {
		case permanent.Is(err):
			return nil, never(err)
		case err == nil:
			return nil, fmt.Errorf("another program answers at %s before the server is started; end that program, or use %s in --run", o.Ready.text, PortMark)
		}
	}
	s := &Server{Port: port, options: o, log: process.NewLog()}
	seen := &finder{line: o.Ready.line, found: make(chan struct{})}
	cmd := exec.Command("sh", "-c", withPort(o.Command, port))
	cmd.Dir = o.Folder
	cmd.Env = s.environment()
	cmd.Stdout = io.MultiWriter(s.log, seen)
	cmd.Stderr = cmd.Stdout
	if s.child, err = process.LaunchFenced(cmd, o.CPUs); err != nil {
		return nil, err
	}
	if err := s.await(ctx, seen.found); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// await waits until the server is ready, whose output said it when found is closed.
func (s *Server) await(ctx context.Context, found <-chan struct{}) error {
	w := Wait{Patience: s.options.Patience, Said: found, Ended: s.child.Done()}
	if s.options.Ready.line == nil {
		w.Ask = s.options.Ready.answers
	}
	err := w.For(ctx)
	var late *Late
	switch {
	case errors.Is(err, ErrEnded):
		return s.Failure()
	case errors.As(err, &late):
		return &Failed{Why: fmt.Sprintf("the server is not ready after %v: %v; raise --ready-timeout, or check --ready%s", s.options.Patience, s.missing(late), s.elsewhere()), Tail: s.tail()}
	case permanent.Is(err):
		return &Failed{Why: never(err).Error(), Tail: s.tail()}
	}
	return err
}

// missing is what a late server lacks.
func (s *Server) missing(l *Late) error {
	if l.Last != nil {
		return l.Last
	}
	return errors.New("no line of its output matches " + strings.TrimPrefix(s.options.Ready.text, "log:"))
}

// never is the error of a server that waiting does not make ready.
func never(why error) error {
	return fmt.Errorf("the server cannot become ready: %w; correct --ready", why)
}

// elsewhere names the ports of a server that listens on other ones than its own; "": it does not.
func (s *Server) elsewhere() string {
	ports := process.Listening(s.child.Pids())
	if len(ports) == 0 || slices.Contains(ports, s.Port) {
		return ""
	}
	var list []string
	for _, p := range ports {
		list = append(list, strconv.Itoa(p))
	}
	return fmt.Sprintf("; the server listens on port %s, and not on its port %d: give it %s in --run, or the variable PORT", strings.Join(list, ", "), s.Port, PortMark)
}

// Done is closed when the server has ended.
func (s *Server) Done() <-chan struct{} { return s.child.Done() }

// tailLines is the number of lines of output that an error shows.
const tailLines = 20

func (s *Server) tail() []process.Line { return s.log.Tail(tailLines, "") }

// Failed is a server that ended by itself, or that is never ready.
type Failed struct {
	Why  string
	Tail []process.Line // the end of its output
}

// Error implements error.
func (e *Failed) Error() string { return e.Why }

// Failure is the error of a server that has ended by itself.
func (s *Server) Failure() error {
	why := fmt.Sprintf("the server ended by itself (%s)", s.child.State())
	if s.child.ExitCode() == 0 {
		why += "; the command of --run must not return while the server runs"
	}
	lines := s.tail()
	if first, after := s.log.Fatal(); len(first) > 0 && after >= tailLines {
		lines = append(append(first, process.Line{Text: "…"}), lines...)
	}
	return &Failed{Why: why, Tail: lines}
}

// Stop asks the server to end, kills it after the grace, and kills what it has started and left. killed: it
// had not ended by itself.
func (s *Server) Stop() (killed bool) {
	if s.stopped {
		return false
	}
	s.stopped = true
	return s.child.Stop(s.options.Grace)
}

// Watch begins to measure the memory and the CPU time of all processes of the server.
func (s *Server) Watch() *process.Watched { return process.WatchAll(s.child.Pids) }

// Sample begins to read memory and CPU of these processes and the server's log, once a second.
func (s *Server) Sample() *timeline.Sampler {
	return timeline.Begin(process.Timeline(s.child.Pids), timeline.Group{s.log.Sample})
}

// PlaceOf replaces the server's port in a text by PortMark, so that the settings of two runs are
// equal.
func (s *Server) PlaceOf(text string) string {
	return strings.ReplaceAll(text, ":"+strconv.Itoa(s.Port), ":"+PortMark)
}

// WithPort replaces PortMark by the server's port.
func (s *Server) WithPort(text string) string { return withPort(text, s.Port) }
