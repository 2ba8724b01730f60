package verifycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"

	"github.com/taktload/takt/internal/checkout"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/functions"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/judge/verify"
	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/service"
)

// pair is the two commits of --git, with their servers.
type pair struct {
	*commits
	repository *checkout.Repository
	sides      [2]*commitSide // by verify.DuetBase and verify.DuetHead
}

// commitSide is one commit and its server.
type commitSide struct {
	*commits
	name   string // base or head
	commit checkout.Commit
	built  *checkout.Built
	server *service.Server // nil: it does not run
	deaf   bool            // the user knows that the server does not end by itself
	heap   string          // page of the server with the figures of its runtime; "": none
	asked  bool            // heap is known

	profile      profileSource  // of the runs now
	profiles     *functions.Run // of the last run
	profileFault error          // why that run has no profile
}

// prepare checks out and builds both commits.
func (c *commits) prepare(ctx context.Context, v *verifyCommand) (*pair, error) {
	cache, err := v.env.UnderHome(core.CacheHome, "git")
	if err != nil {
		return nil, err
	}
	p := &pair{commits: c}
	if p.repository, err = checkout.Open(ctx, ".", cache); err != nil {
		return nil, err
	}
	base, head, err := p.repository.Range(ctx, c.commits)
	if err != nil {
		return nil, core.ExitWith(core.ExitUsage, fmt.Errorf("--git %s: %w", c.commits, err))
	}
	out := v.env.Stderr
	if head.Name == "HEAD" && p.repository.Changed(ctx) {
		fmt.Fprintf(out, "verify: the working tree has changes that are not in HEAD; --git %s, without dots, compares with them\n", base.Name)
	}
	if base.Tree == head.Tree {
		fmt.Fprintln(out, "verify: both commits have the same files, so a difference is chance")
	}
	for i, commit := range []checkout.Commit{base, head} {
		p.sides[i] = &commitSide{commits: c, name: sideName(i), commit: commit}
		if err := p.sides[i].make(ctx, p.repository, out); err != nil {
			p.close(out)
			return nil, err
		}
	}
	p.cores.divide(out)
	return p, nil
}

// make builds the commit, and says so.
func (s *commitSide) make(ctx context.Context, r *checkout.Repository, out io.Writer) (err error) {
	s.built, err = r.Build(ctx, s.commit, s.build, s.slow)
	var failed *checkout.BuildError
	if errors.As(err, &failed) {
		fmt.Fprintf(out, "verify: the end of the output of --build, at %s %s:\n", s.name, s.commit)
		process.Print(out, failed.Tail, false)
		return s.fault(err)
	}
	if err != nil {
		return s.wrong(err)
	}
	fmt.Fprintf(out, "verify: %s: %s %s\n", s.name, s.commit, s.made())
	return nil
}

// made says what became of the commit, which is only checked out without --build.
func (s *commitSide) made() string {
	what := "built"
	if s.build == "" {
		what = "checked out"
	}
	if s.built.Took == 0 {
		return "is " + what + " already"
	}
	return fmt.Sprintf("was %s in %.3g s, in %s", what, s.built.Took.Seconds(), s.built.Folder)
}

// fault is an error of the commit, whose exit code says which side it is.
func (s *commitSide) fault(err error) error {
	code := core.ExitBase
	if s.name == "head" {
		code = core.ExitHead
	}
	return core.ExitWith(code, s.wrong(err))
}

func (s *commitSide) wrong(err error) error { return fmt.Errorf("%s %s: %w", s.name, s.commit, err) }

// close ends the servers, and lets others remove the builds.
func (p *pair) close(out io.Writer) {
	p.cores.join()
	for _, s := range p.sides {
		if s != nil {
			s.stop(out)
			if s.built != nil {
				s.built.Close()
			}
		}
	}
}

// start starts the server, unless it runs.
func (s *commitSide) start(ctx context.Context, out io.Writer) (err error) {
	if s.server != nil {
		return nil
	}
	s.server, err = service.Start(ctx, service.Options{
		Command: s.run, Folder: s.built.Folder, Env: checkout.Environment((&exec.Cmd{}).Environ()),
		CPUs: s.cores.servers, Ready: s.when, Patience: s.wait, Grace: s.grace,
	})
	if err != nil {
		return s.failed(err, out)
	}
	return nil
}

// stop ends the server. It says once that a server has to be killed, since that takes long at each run.
func (s *commitSide) stop(out io.Writer) {
	if s.server != nil && s.server.Stop() && !s.deaf {
		s.deaf = true
		fmt.Fprintf(out, "verify: %s: the server had not ended %v after SIGTERM, so takt killed it; each end of the server takes so long, and --stop-timeout shortens it\n", s.name, s.grace)
	}
	s.server = nil
}

// failed shows the last output of a server, and returns an error with the exit code of its side.
func (s *commitSide) failed(err error, out io.Writer) error {
	var failed *service.Failed
	if !errors.As(err, &failed) {
		return s.wrong(err)
	}
	if len(failed.Tail) > 0 {
		fmt.Fprintf(out, "verify: the end of the output of --run, at %s %s:\n", s.name, s.commit)
		process.Print(out, failed.Tail, false)
	}
	return s.fault(err)
}

// side is that of base or head.
func (p *pair) side(name string) *commitSide {
	if name == sideName(verify.DuetHead) {
		return p.sides[verify.DuetHead]
	}
	return p.sides[verify.DuetBase]
}

// address names the server in messages.
func (s *commitSide) address() string {
	return fmt.Sprintf("the server of %s on port %d", s.commit.Short(), s.server.Port)
}

// words are those of the load, with the server's port and labels of the revision.
func (s *commitSide) words(load []string) (words []string) {
	for _, w := range append(slices.Clone(load), s.labels()...) {
		words = append(words, s.server.WithPort(w))
	}
	return words
}

func (s *commitSide) labels() (words []string) {
	for _, l := range [][2]string{
		{stored.LabelRevision, s.commit.Hash}, {stored.LabelRevisionDate, s.commit.Date}, {stored.LabelBranch, s.commit.Branch},
	} {
		if l[1] != "" {
			words = append(words, "--label", l[0]+"="+l[1])
		}
	}
	return words
}

// note adds the commits to a judgement, and names the sides of a duet by them.
func (p *pair) note(j *verify.Judgement) {
	p.sides[verify.DuetHead].describe(&j.Head)
	for i := range j.Comparisons {
		p.sides[verify.DuetBase].describe(&j.Comparisons[i].Base)
	}
}

func (s *commitSide) describe(side *verify.Side) {
	c := told(s.commit)
	side.Commit = &c
}

func told(c checkout.Commit) verify.Commit {
	return verify.Commit{Name: c.Name, Hash: c.Hash, Date: c.Date, Branch: c.Branch, Subject: c.Subject}
}
