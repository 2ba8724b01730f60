package shellcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/live"
	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/sandbox"
	"github.com/taktload/takt/internal/shell"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/pkg/takt"
)

// JobCommand is the hidden command by which the shell starts this program again. The job reads
// its command line from standard input, because it may contain secrets, and ps and
// /proc/PID/environ do not show standard input.
const JobCommand = "shell-job"

// maxJobLine limits a job's command line, in bytes; a line of the shell has at most 64 KiB.
const maxJobLine = 1 << 20

// job is what a job reads from standard input.
type job struct {
	Args    []string `json:"args"`
	Owner   bool     `json:"owner"`   // the session is of the server's owner
	Configs []string `json:"configs"` // SHA-256 of the config files that the server has checked
	Reaches []string `json:"reaches"` // machines that the job may connect to
}

var errNotConfined = errors.New("this program cannot confine sessions to a folder; use takt")

// NewJob returns the hidden command of a job.
func NewJob(env core.Env) *cobra.Command {
	return &cobra.Command{
		Use: JobCommand, Hidden: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == liveWord {
				return nil
			}
			return core.NoArgs(cmd, args)
		},
		RunE: func(_ *cobra.Command, words []string) error {
			if env.Confine == nil || env.Restrict == nil {
				return errNotConfined
			}
			var pipe io.Writer
			if len(words) > 0 {
				pipe = core.LivePipe()
				env.Watchers = append(env.Watchers, func() live.Watcher { return live.Feed(pipe) })
			}
			refused := refusals(pipe)
			if _, err := env.Confine(".", refused); err != nil { // first: what follows is a stranger's
				return err
			}
			var j job
			if err := json.NewDecoder(io.LimitReader(env.Stdin, maxJobLine)).Decode(&j); err != nil {
				return fmt.Errorf("cannot read the command line of the job from standard input, as JSON: %w", err)
			}
			if _, err := env.Restrict(j.Reaches, refused); err != nil {
				return err
			}
			env.Stdin, env.Session, env.Owner, env.Configs = strings.NewReader(""), true, j.Owner, j.Configs
			env.Programs = nil                                      // a visitor of the server may not start programs of its host
			if code := env.Main(env, j.Args); code != core.ExitOK { // it printed its own errors
				return core.ExitWith(code, nil)
			}
			return nil
		},
	}
}

// mostRefusals limits what a job tells of its refusals: a load may be refused a thousand times a second.
const mostRefusals = 20

// refusals passes on what the process of a job is refused, each text once; w may be nil.
func refusals(w io.Writer) func(error) {
	var mu sync.Mutex
	told := map[string]bool{}
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if text := err.Error(); w != nil && len(told) < mostRefusals && !told[text] {
			told[text] = true
			live.Refuse(w, text)
		}
	}
}

// NewEntry returns the hidden command of a sandbox, which the confined program replaces.
func NewEntry(env core.Env) *cobra.Command {
	return &cobra.Command{
		Use: sandbox.Entry, Hidden: true, Args: core.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return core.ExitWith(sandbox.Run(env.Stdin, env.Stderr), nil)
		},
	}
}

// liveWord is the argument of a job whose run its parent shows.
const liveWord = "live"

// runChild runs a job in a separate process, so that its runtime settings and its remains end
// with it. The end of ctx sends SIGINT to the process, abort sends SIGKILL.
func (e host) runChild(ctx context.Context, abort <-chan struct{}, call shell.Call) int {
	cmd, err := e.child(call)
	shown := func() {}
	if err == nil {
		shown, err = start(cmd, call.Live)
	}
	if err != nil {
		fmt.Fprintf(call.Out, "takt: the job cannot be started: %v\n", err)
		return core.ExitFailed
	}
	ended := make(chan struct{})
	told := make(chan struct{})
	go func() {
		defer close(told)
		stop := ctx.Done()
		for {
			select {
			case <-stop:
				stop = nil
				_ = cmd.Process.Signal(os.Interrupt) // fails only if the job has ended
			case <-abort:
				_ = cmd.Process.Kill()
				return
			case <-ended:
				return
			}
		}
	}()
	err = cmd.Wait()
	close(ended)
	shown()
	<-told
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		fmt.Fprintf(call.Out, "takt: the job: %v\n", err)
		return core.ExitFailed
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return core.ExitSignal + 9 // a signal ended the job, which can only be SIGKILL
}

// lastWords is how long a process that the job left behind, with its pipe, is waited for.
const lastWords = time.Second

// start starts a job whose run goes to live through a pipe of its own; nil: nobody shows the run.
// Call ended after the job.
func start(cmd *exec.Cmd, live io.Writer) (ended func(), err error) {
	if live == nil {
		return func() {}, cmd.Start()
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Args, cmd.ExtraFiles = append(cmd.Args, liveWord), []*os.File{w}
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(live, r) // ends with the job, or at the end of r
	}()
	return func() {
		select {
		case <-done: // what the job said last is here, too
		case <-time.After(lastWords):
		}
		_ = r.Close() // a process that the job left behind must not keep the copy running
		<-done
	}, nil
}

// environOf is the environment of a job. A job of another user (call.Plain) gets no credentials,
// which it could send to any target, except those of the store: such a session cannot set
// --store to a URL. The limit of the store is the owner's. Its git does not search for a repository above its folder.
func (e host) environOf(call shell.Call) []string {
	if !call.Plain {
		return e.Environ()
	}
	return append(proc.PlainEnvironment(e.Environ(), append(core.StoreVariables(), kept.LimitVariable)...), "GIT_CEILING_DIRECTORIES="+filepath.Dir(call.Dir))
}

// saveReport stores the report of a test where a job of this call would.
func (e host) saveReport(ctx context.Context, call shell.Call, r *takt.Report) error {
	server := e.Getenv
	e.Getenv = func(name string) string {
		for _, v := range call.Env {
			if text, ok := strings.CutPrefix(v, name+"="); ok {
				return text
			}
		}
		return server(name)
	}
	s := kept.Storing{Where: e.Getenv("TAKT_STORE")}
	return s.With(ctx, e.Env, func(st store.Store) error { return st.Save(ctx, r) })
}

func (e host) child(call shell.Call) (*exec.Cmd, error) {
	if e.Executable == nil || e.Environ == nil {
		return nil, errors.New("takt does not know its own program")
	}
	path, err := e.Executable()
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(job{call.Args, !call.Plain, call.Configs, call.Reaches})
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: path, Args: []string{"takt", JobCommand}}
	cmd.Dir, cmd.Env = call.Dir, slices.Concat(e.environOf(call), call.Env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(string(line)), call.Out, call.Out
	if call.Report != nil {
		cmd.Stdout = call.Report
	}
	core.OwnGroup(cmd)
	return cmd, nil
}
