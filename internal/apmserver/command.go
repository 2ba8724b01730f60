package apmserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/sandbox"
)

// commandStopTime is the grace for git and make, which have nothing to save.
const commandStopTime = 2 * time.Second

// place is the folder of commands, the names of variables that they see besides the plain ones, and
// the sandbox that confines them; nil: none.
type place struct {
	dir  string
	also []string
	box  *sandbox.Sandbox
}

// sshVariables are for git fetch alone: with the agent a Makefile could act as the user.
func sshVariables() []string { return []string{"SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND"} }

// settle sets the command's folder and environment, and confines it. Others wrote the code that is
// built and started, so it must not see this process's secrets. Nobody can type a password.
func (p place) settle(cmd *exec.Cmd, more ...string) error {
	cmd.Dir = p.dir
	also := p.also
	if len(cmd.Args) > 1 && cmd.Args[0] == "git" && cmd.Args[1] == "fetch" {
		also = slices.Concat(also, sshVariables())
	}
	cmd.Env = append(proc.PlainEnvironment(cmd.Environ(), also...), "GIT_TERMINAL_PROMPT=0")
	cmd.Env = append(cmd.Env, more...)
	f := sandbox.Folder{Dir: p.dir, Fixed: []string{".git"}}
	if cmd.Args[0] == "git" {
		f.Fixed = nil
		if p.box != nil {
			cmd.Env = append(cmd.Env, gitAlone()...)
		}
	}
	return p.box.Confine(cmd, f)
}

// gitAlone lets git run no program that code of the clone may have put there: only git may change
// .git, and a repository in a folder of the clone has settings that a Makefile can write.
func gitAlone() []string {
	settings := []string{"diff.ignoreSubmodules=all", "submodule.recurse=false", "fetch.recurseSubmodules=false", "core.fsmonitor=false", "protocol.ext.allow=never"}
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))}
	for i, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	return env
}

// run runs a command until it or ctx ends.
func (p place) run(ctx context.Context, out io.Writer, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	if err := p.settle(cmd); err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = out, out
	c, err := process.Launch(cmd)
	if err != nil {
		return err
	}
	select {
	case <-c.Done():
	case err := <-p.box.Guard(p.dir, c.Done()):
		c.End(0)
		return err
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
