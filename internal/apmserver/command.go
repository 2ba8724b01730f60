package apmserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"github.com/taktload/takt/internal/proc"
)

// child is a process that takt started, the leader of a process group of its own. If
// takt dies the system kills it.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended, once done is closed
}

// launch starts the command. What it writes goes to cmd.Stdout and cmd.Stderr.
func launch(cmd *exec.Cmd) (*child, error) {
	c := &child{cmd: cmd, done: make(chan struct{})}
	cmd.SysProcAttr = ownGroup()
	cmd.WaitDelay = time.Second // for what a grandchild says that outlives the group
	started := make(chan error)
	go c.watch(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", cmd.Path, err)
	}
	return c, nil
}

// watch starts the process and waits for its end. Linux kills it when the thread ends
// that has started it, hence this one stays.
func (c *child) watch(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	if awaitExit(c.cmd.Process.Pid) {
		signalGroup(c.cmd.Process.Pid, true) // what is left of it: until it is reaped, no other group can have its number
	}
	c.err = c.cmd.Wait()
	close(c.done)
}

// end asks the group to end, kills it after the grace, and waits for the end.
func (c *child) end(grace time.Duration) {
	select {
	case <-c.done:
		return
	default:
	}
	signalGroup(c.cmd.Process.Pid, false)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		signalGroup(c.cmd.Process.Pid, true)
		<-c.done
	}
}

// commandStopTime is for git and make, which have nothing to save.
const commandStopTime = 2 * time.Second

// place is where commands run, and the names of variables that they see besides the
// plain ones.
type place struct {
	dir  string
	also []string
}

// sshVariables are for git fetch alone: with the agent a Makefile could be anybody.
func sshVariables() []string { return []string{"SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND"} }

// settle gives the command its folder and its environment. What is made and started was
// written by others, so it sees no secrets of this process. Nobody is there to type a
// password.
func (p place) settle(cmd *exec.Cmd) {
	cmd.Dir = p.dir
	also := p.also
	if len(cmd.Args) > 1 && cmd.Args[0] == "git" && cmd.Args[1] == "fetch" {
		also = slices.Concat(also, sshVariables())
	}
	cmd.Env = append(proc.PlainEnvironment(cmd.Environ(), also...), "GIT_TERMINAL_PROMPT=0")
}

// run runs a command to its end, or to that of ctx.
func (p place) run(ctx context.Context, out io.Writer, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	p.settle(cmd)
	cmd.Stdout, cmd.Stderr = out, out
	c, err := launch(cmd)
	if err != nil {
		return err
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		c.end(commandStopTime)
		return cmp.Or(context.Cause(ctx), ctx.Err())
	}
	var exit *exec.ExitError
	if errors.As(c.err, &exit) {
		return fmt.Errorf("%s failed: %w", name, exit)
	}
	return c.err
}
