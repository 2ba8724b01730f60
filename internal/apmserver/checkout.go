package apmserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/sandbox"
)

// Checkout is apm-server in a local clone of its repository.
type Checkout struct {
	place
	current
}

// NewCheckout is the clone in that folder. Its commands run in the sandbox, if there is one, and see
// the plain environment variables, and those named in also.
func NewCheckout(dir string, box *sandbox.Sandbox, also ...string) (*Checkout, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		return nil, fmt.Errorf("%s is not a git clone; give the folder of a clone of apm-server", dir)
	}
	return &Checkout{place: place{dir, also, box}}, nil
}

// Location implements Server.
func (c *Checkout) Location() Location { return Location{Kind: KindCheckout, Dir: c.dir} }

// Switch fetches, checks out and makes, as s requests. Otherwise the clone must already be at
// the branch or revision of s.
func (c *Checkout) Switch(ctx context.Context, s Switch, out io.Writer) (Revision, error) {
	c.set(Revision{})
	r, err := c.change(ctx, &s, out)
	if err != nil {
		return Revision{}, err
	}
	c.set(r)
	return r, nil
}

func (c *Checkout) change(ctx context.Context, s *Switch, out io.Writer) (r Revision, err error) {
	if err := s.validate(); err != nil {
		return r, err
	}
	remotes, err := c.git(ctx, "remote")
	if err != nil {
		return r, err
	}
	remote, branch := s.split(strings.Fields(remotes))
	for _, step := range steps(s, remote) {
		if err := step.run(ctx, c.place, s.Verbose, out); err != nil {
			return r, err
		}
	}
	if r, err = c.describe(ctx, branch); err != nil {
		return r, err
	}
	if s.Fetch && s.Revision == "" {
		c.tellStale(ctx, remote+"/"+branch, r.Hash, out)
	}
	return r, c.isAt(ctx, s, remote, branch, r.Hash)
}

// tellStale warns if the fetched commit is not checked out: git fetch does not move a local
// branch.
func (c *Checkout) tellStale(ctx context.Context, fetched, head string, out io.Writer) {
	if at, err := c.git(ctx, "rev-parse", "--verify", "--quiet", fetched+"^{commit}"); err == nil && at != head {
		fmt.Fprintf(out, "the clone is at %.10s, and %s at %.10s; for that one: apm switch -c %s\n", head, fetched, at, fetched)
	}
}

// step is a command of Switch.
type step []string

// steps are the requested steps of s, in order.
func steps(s *Switch, remote string) (all []step) {
	at := s.Branch
	if s.Revision != "" {
		at = s.Revision
	}
	for _, one := range []struct {
		wanted bool
		step   step
	}{
		{s.Fetch, step{"git", "fetch", remote}},
		{s.Checkout, step{"git", "-c", "advice.detachedHead=false", "checkout", at, "--"}},
		{s.MakeUpdate, step{"make", "update"}},
		{s.Make, step{"make"}},
	} {
		if one.wanted {
			all = append(all, one.step)
		}
	}
	return all
}

// run runs the step. Without verbose it shows the end of the output, and only after a
// failure.
func (s step) run(ctx context.Context, at place, verbose bool, out io.Writer) error {
	if verbose {
		fmt.Fprintf(out, "$ %s\n", strings.Join(s, " "))
		return at.run(ctx, out, s[0], s[1:]...)
	}
	last := process.NewLog()
	err := at.run(ctx, last, s[0], s[1:]...)
	if err != nil {
		fmt.Fprintf(out, "$ %s\n", strings.Join(s, " "))
		process.Print(out, last.Tail(linesOnFailure, ""), false)
	}
	return err
}

// linesOnFailure is the number of output lines shown after a failure, out of up to thousands.
const linesOnFailure = 40

// git runs git and returns its output.
func (p place) git(ctx context.Context, args ...string) (string, error) {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", args...)
	if err := p.settle(cmd); err != nil {
		return "", err
	}
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		if said := strings.TrimSpace(complaint.String()); said != "" {
			err = errors.New(said)
		}
		return "", fmt.Errorf("git %s in %s: %w", args[0], p.dir, err)
	}
	return strings.TrimSpace(out.String()), nil
}

// describe is the revision that is checked out.
func (c *Checkout) describe(ctx context.Context, branch string) (Revision, error) {
	r := Revision{Branch: branch}
	shown, err := c.git(ctx, "show", "-s", "--format=%H%n%cI%n%h %s", "HEAD")
	if err != nil {
		return r, err
	}
	if err := r.parse(shown); err != nil {
		return r, err
	}
	difference, err := c.git(ctx, "status", "--porcelain", "--untracked-files=no")
	r.Unstaged = difference != ""
	return r, err
}

// parse reads git's format %H %cI and the subject, one per line.
func (r *Revision) parse(shown string) (err error) {
	lines := strings.SplitN(shown, "\n", 3)
	if len(lines) < 3 {
		return fmt.Errorf("git describes the commit as %q, not as a hash, a date and a subject", shown)
	}
	r.Hash, r.Subject = lines[0], lines[2]
	r.Date, err = time.Parse(time.RFC3339, lines[1])
	r.Date = r.Date.UTC()
	return err
}

// isAt compares the checked-out commit with the named one: a wrong name would stay in the
// report.
func (c *Checkout) isAt(ctx context.Context, s *Switch, remote, branch, head string) error {
	names := []string{s.Branch, remote + "/" + branch, branch}
	if s.Revision != "" {
		names = []string{s.Revision}
	}
	for _, name := range names {
		if at, err := c.git(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}"); err == nil && at == head {
			return nil
		}
	}
	hint := "add -c to check it out"
	if s.Checkout {
		hint = "is it the name of a revision?"
	}
	return fmt.Errorf("%s is at %.10s, which is not %s; %s", c.dir, head, names[0], hint)
}

// program is the file that make builds in the clone.
const program = "apm-server"

// Start runs the clone's program on a free port of this machine.
func (c *Checkout) Start(ctx context.Context, o Options) (*Running, error) {
	if err := c.Location().CheckLimits(&o); err != nil {
		return nil, err
	}
	path := filepath.Join(c.dir, program)
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("there is no program %s in %s; make it, for example with: apm switch -m BRANCH", program, c.dir)
	}
	return startLocal(ctx, path, c.place, &o)
}
