package cli

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

	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/shell"
)

// jobCommand is how the shell starts this program again. The command line comes on
// standard input, since it may have secrets: neither ps nor /proc/PID/environ show them.
const jobCommand = "shell-job"

// maxJobLine bounds that command line; a line of the shell has 64 KiB.
const maxJobLine = 1 << 20

func newJob(env Env) *cobra.Command {
	return &cobra.Command{
		Use: jobCommand, Hidden: true, Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			var args []string
			if err := json.NewDecoder(io.LimitReader(env.Stdin, maxJobLine)).Decode(&args); err != nil {
				return fmt.Errorf("the command line of a job is read from standard input, as a JSON list: %w", err)
			}
			env.Stdin = strings.NewReader("")
			return exitWith(Main(env, args))
		},
	}
}

// exitWith ends with the code of a command that has said all.
func exitWith(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

// runChild runs a job in a process of its own: its settings of the runtime, and what it
// leaves behind, end with it. The context's end is SIGINT to it, abort SIGKILL.
func (e Env) runChild(ctx context.Context, abort <-chan struct{}, call shell.Call) int {
	cmd, err := e.child(call)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintf(call.Out, "takt: the job cannot be started: %v\n", err)
		return exitFailed
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
				_ = cmd.Process.Signal(os.Interrupt) // fails only when it has ended
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
	<-told
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		fmt.Fprintf(call.Out, "takt: the job: %v\n", err)
		return exitFailed
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return exitSignal + 9 // it was killed
}

// environOf is what a job sees of this process's environment. Somebody else's job sees no
// credentials, with which it could go to any target, but those of the store: --store of
// such a session is no URL. Its git looks for no repository above the folder for files.
func (e Env) environOf(call shell.Call) []string {
	if !call.Plain {
		return e.Environ()
	}
	return append(proc.PlainEnvironment(e.Environ(), storeVariables()...), "GIT_CEILING_DIRECTORIES="+filepath.Dir(call.Dir))
}

func (e Env) child(call shell.Call) (*exec.Cmd, error) {
	if e.Executable == nil || e.Environ == nil {
		return nil, errors.New("takt does not know its own program")
	}
	path, err := e.Executable()
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(call.Args)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: path, Args: []string{"takt", jobCommand}}
	cmd.Dir, cmd.Env = call.Dir, slices.Concat(e.environOf(call), call.Env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(string(line)), call.Out, call.Out
	if call.Report != nil {
		cmd.Stdout = call.Report
	}
	ownGroup(cmd)
	return cmd, nil
}
