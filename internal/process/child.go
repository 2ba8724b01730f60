// Package process is a program that takt starts: its process group, its output and its usage.
package process

import (
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"github.com/taktload/takt/internal/pause"
)

// Child is a process started by takt, the leader of its own process group. If takt dies, the
// system kills the process.
type Child struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended; valid once done is closed
}

// Launch starts the command. Its output goes to cmd.Stdout and cmd.Stderr.
func Launch(cmd *exec.Cmd) (*Child, error) { return LaunchOn(cmd, nil) }

// LaunchOn is Launch on these CPUs; nil: on all.
func LaunchOn(cmd *exec.Cmd, cpus []int) (*Child, error) {
	c := &Child{cmd: cmd, done: make(chan struct{})}
	ownGroup(cmd)
	cmd.WaitDelay = time.Second // for output of a grandchild that outlives the group
	started := make(chan error)
	go c.watch(cpus, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", cmd.Path, err)
	}
	return c, nil
}

// watch starts the process and waits for its end. It stays in its thread, because Linux kills
// the process when the starting thread ends.
func (c *Child) watch(cpus []int, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := onCPUs(cpus, c.cmd.Start)
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

// Pid is the number of the process and of its group.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Done is closed when the process has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err is how the process ended; valid once Done is closed.
func (c *Child) Err() error { return c.err }

// State describes how the process ended, such as "exit status 1"; valid once Done is closed.
func (c *Child) State() string { return c.cmd.ProcessState.String() }

// ExitCode is the exit code of the process, -1 after a signal; valid once Done is closed.
func (c *Child) ExitCode() int { return c.cmd.ProcessState.ExitCode() }

// Pause stops the process and its group (SIGSTOP) for d, or until the process has ended. The error is that of
// the system, which some systems have in any case.
func (c *Child) Pause(d time.Duration) error {
	if err := pauseGroup(c.Pid(), true); err != nil {
		return err
	}
	if !pause.For(d, c.done) {
		return nil
	}
	return pauseGroup(c.Pid(), false)
}

// End asks the group to end, kills it after grace, and waits for the end. killed: it had not ended by itself.
func (c *Child) End(grace time.Duration) (killed bool) {
	select {
	case <-c.done:
		return false
	default:
	}
	signalGroup(c.cmd.Process.Pid, false)
	if killed = pause.For(grace, c.done); killed {
		signalGroup(c.cmd.Process.Pid, true)
		<-c.done
	}
	return killed
}
