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

// child is a process started by takt, the leader of its own process group. If takt dies, the
// system kills it.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended; valid once done is closed
}

// launch starts the command. Its output goes to cmd.Stdout and cmd.Stderr.
func launch(cmd *exec.Cmd) (*child, error) {
	c := &child{cmd: cmd, done: make(chan struct{})}
	cmd.SysProcAttr = ownGroup()
	cmd.WaitDelay = time.Second // for output of a grandchild that outlives the group
	started := make(chan error)
	go c.watch(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", cmd.Path, err)
	}
	return c, nil
}

// watch starts the process and waits for its end. It stays in its thread, because Linux kills
// the process when the starting thread ends.
func (c *child) watch(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	if awaitExit(c.cmd.Process.Pid) {
		signalGroup(c.cmd.Process.Pid, true) // kill the rest of the group: until the leader is reaped, no other group can have its number
	}
	c.err = c.cmd.Wait()
	close(c.done)
}

// end asks the group to end, kills it after grace, and waits for the end.
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

// commandStopTime is the grace for git and make, which have nothing to save.
const commandStopTime = 2 * time.Second

// place is the folder of commands, and the names of variables that they see besides the plain
// ones.
type place struct {
	dir  string
	also []string
}

// sshVariables are for git fetch alone: with the agent a Makefile could act as the user.
func sshVariables() []string { return []string{"SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND"} }

// settle sets the command's folder and environment. Others wrote the code that is built and
// started, so it must not see this process's secrets. Nobody can type a password.
func (p place) settle(cmd *exec.Cmd) {
	cmd.Dir = p.dir
	also := p.also
	if len(cmd.Args) > 1 && cmd.Args[0] == "git" && cmd.Args[1] == "fetch" {
		also = slices.Concat(also, sshVariables())
	}
	cmd.Env = append(proc.PlainEnvironment(cmd.Environ(), also...), "GIT_TERMINAL_PROMPT=0")
}

// run runs a command until it or ctx ends.
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
