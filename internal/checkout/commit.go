package checkout

import (
	"context"
	"fmt"
	"strings"
)

// Commit is a commit, or the working tree.
type Commit struct {
	Name    string `json:"name"`    // as the user wrote it
	Hash    string `json:"hash"`    // with -dirty: the working tree, which differs from that commit
	Tree    string `json:"tree"`    // hash of the files
	Date    string `json:"date"`    // RFC 3339
	Branch  string `json:"branch"`  // "": unknown
	Subject string `json:"subject"` // the first line of the message

	Merge bool `json:"merge"` // it has several parents

	object string // hash of the commit to check out
}

// String is the name, the short hash and the subject.
func (c Commit) String() string {
	hash := c.Short()
	if c.Name == "" || strings.HasPrefix(c.Hash, c.Name) {
		return fmt.Sprintf("%s (%s)", hash, c.Subject)
	}
	return fmt.Sprintf("%s (%s, %s)", c.Name, hash, c.Subject)
}

// Short is the beginning of the hash.
func (c Commit) Short() string {
	hash, dirty := strings.CutSuffix(c.Hash, "-dirty")
	if len(hash) > 10 {
		hash = hash[:10]
	}
	if dirty {
		return hash + "-dirty"
	}
	return hash
}

// head is the name of the commit that is checked out.
const head = "HEAD"

// Range returns the two commits that the text names, with git diff's rules: A..B, A.. and ..B, in
// which HEAD is left out; A...B, from where B left A; A, for A and the working tree.
func (r *Repository) Range(ctx context.Context, text string) (from, to Commit, err error) {
	a, b, symmetric := strings.Cut(text, "...")
	found := symmetric
	if !symmetric {
		a, b, found = strings.Cut(text, "..")
	}
	if text == "" || found && a == "" && b == "" {
		return from, to, fmt.Errorf("%q does not name two commits; write BASE..HEAD, BASE...HEAD, or BASE for BASE and the working tree", text)
	}
	if from, err = r.Resolve(ctx, orHead(a)); err != nil {
		return from, to, err
	}
	if !found {
		to, err = r.WorkingTree(ctx)
		r.place(ctx, &from, to)
		return from, to, err
	}
	if to, err = r.Resolve(ctx, orHead(b)); err != nil {
		return from, to, err
	}
	if !symmetric {
		r.place(ctx, &from, to)
		return from, to, nil
	}
	base, err := r.git(ctx, "merge-base", from.object, to.object)
	if err != nil {
		return from, to, fmt.Errorf("%s and %s have no common commit; in a shallow clone, fetch more of the history: git fetch --unshallow", orHead(a), orHead(b))
	}
	branch := from.Branch
	from, err = r.Resolve(ctx, base)
	from.Branch = branch
	return from, to, err
}

// place sets the branch of a commit that is not the name of a branch, such as HEAD~1, to that of its
// descendant.
func (r *Repository) place(ctx context.Context, c *Commit, descendant Commit) {
	if c.Branch != "" || descendant.Hash == "" {
		return
	}
	if _, err := r.git(ctx, "merge-base", "--is-ancestor", c.object, strings.TrimSuffix(descendant.Hash, "-dirty")); err == nil {
		c.Branch = descendant.Branch
	}
}

func orHead(name string) string {
	if name == "" {
		return head
	}
	return name
}

// Resolve returns the commit of that name, which may begin with a dash.
func (r *Repository) Resolve(ctx context.Context, name string) (Commit, error) {
	hash, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil && ctx.Err() == nil {
		return Commit{}, fmt.Errorf("git knows no commit %q; git log --oneline lists commits, and a shallow clone has only the newest", name)
	}
	if err != nil {
		return Commit{}, err
	}
	c, err := r.describe(ctx, hash)
	c.Name, c.Branch = name, r.branchOf(ctx, name)
	return c, err
}

func (r *Repository) describe(ctx context.Context, hash string) (c Commit, err error) {
	shown, err := r.git(ctx, "show", "-s", "--no-show-signature", "--format=%H%n%T%n%cI%n%s", hash)
	if err != nil {
		return c, err
	}
	lines := strings.SplitN(shown, "\n", 4)
	if len(lines) < 4 {
		return c, fmt.Errorf("git describes %s as %q, not as hashes, a date and a subject", hash, shown)
	}
	return Commit{Hash: lines[0], Tree: lines[1], Date: lines[2], Subject: lines[3], object: lines[0]}, nil
}

// branchOf is the branch that the name begins with, as main~2 does; "": it does not begin with one.
func (r *Repository) branchOf(ctx context.Context, name string) string {
	if i := strings.IndexAny(name, "~^@:"); i > 0 {
		name = name[:i]
	}
	full, err := r.git(ctx, "rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options", name)
	if err != nil {
		return ""
	}
	full = strings.TrimPrefix(strings.TrimSpace(full), "--end-of-options\n") // old git repeats it
	if branch, ok := strings.CutPrefix(full, "refs/heads/"); ok {
		return branch
	}
	branch, _ := strings.CutPrefix(full, "refs/remotes/")
	if branch == full {
		return ""
	}
	return branch
}

// History lists the commits after from up to to, along the first parents: a merge is one step, as it
// was for those who use the branch.
func (r *Repository) History(ctx context.Context, from, to Commit) (list []Commit, err error) {
	end, dirty := strings.CutSuffix(to.Hash, "-dirty")
	out, err := r.git(ctx, "log", "--first-parent", "--reverse", "--no-show-signature", "--format=%H%x00%T%x00%cI%x00%P%x00%s", from.object+".."+end)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\x00", 5)
		if len(f) < 5 {
			return nil, fmt.Errorf("git describes a commit as %q, not as hashes, a date and a subject", line)
		}
		list = append(list, Commit{Hash: f[0], Tree: f[1], Date: f[2], Branch: to.Branch, Merge: strings.Contains(f[3], " "), Subject: f[4], object: f[0]})
	}
	if dirty {
		list = append(list, to)
	}
	return list, nil
}
