package apmserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"

	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/process"
)

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
	c, err := process.Launch(cmd)
	if err != nil {
		return err
	}
	select {
	case <-c.Done():
	case <-ctx.Done():
		c.End(commandStopTime)
		return cmp.Or(context.Cause(ctx), ctx.Err())
	}
	var exit *exec.ExitError
	if errors.As(c.Err(), &exit) {
		return fmt.Errorf("%s failed: %w", name, exit)
	}
	return c.Err()
}
