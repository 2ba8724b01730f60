package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
		return from, to, err
	}
	if to, err = r.Resolve(ctx, orHead(b)); err != nil || !symmetric {
		return from, to, err
	}
	base, err := r.git(ctx, "merge-base", from.object, to.object)
	if err != nil {
		return from, to, fmt.Errorf("%s and %s have no common commit; in a shallow clone, fetch more of the history: git fetch --unshallow", orHead(a), orHead(b))
	}
	from, err = r.Resolve(ctx, base)
	return from, to, err
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

// branchOf is the branch that the name stands for; "": it is not the name of a branch.
func (r *Repository) branchOf(ctx context.Context, name string) string {
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

// WorkingTree is the working tree: all files that git does not ignore, also new ones. Its objects
// go to the cache.
func (r *Repository) WorkingTree(ctx context.Context) (Commit, error) {
	at, err := r.Resolve(ctx, head)
	if err != nil {
		return at, err
	}
	if r.top == "" {
		return at, fmt.Errorf("the repository has no working tree; name two commits: %s..HEAD", at.Short())
	}
	if err := r.makeSnapshots(); err != nil {
		return at, cacheFault(err)
	}
	index, err := r.copyIndex(ctx)
	if err != nil {
		return at, err
	}
	defer os.Remove(index)
	g := git{folder: r.top, inside: true, also: []string{
		"GIT_DIR=" + r.gitDir(ctx), "GIT_WORK_TREE=" + r.top, "GIT_INDEX_FILE=" + index,
		"GIT_OBJECT_DIRECTORY=" + r.snapshots(), "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + r.objects(),
		"GIT_AUTHOR_NAME=takt", "GIT_AUTHOR_EMAIL=takt@localhost", "GIT_COMMITTER_NAME=takt", "GIT_COMMITTER_EMAIL=takt@localhost",
		"GIT_AUTHOR_DATE=" + at.Date, "GIT_COMMITTER_DATE=" + at.Date,
	}}
	if _, err := g.out(ctx, "add", "--all", "--", "."); err != nil {
		return at, err
	}
	tree, err := g.out(ctx, "write-tree")
	if err != nil || tree == at.Tree {
		return at, err
	}
	at.object, err = g.out(ctx, "commit-tree", tree, "-p", at.object, "-m", "the working tree")
	at.Name, at.Hash, at.Tree = "the working tree", at.Hash+"-dirty", tree
	at.Subject = "changes on " + at.Subject
	return at, err
}

// mostObjects is the number of objects of working trees from which on takt removes the older ones.
// Builds then lose only the history of a working tree, not its files.
const mostObjects = 10_000

func (r *Repository) makeSnapshots() error {
	objects, err := filepath.Glob(filepath.Join(escaped(r.snapshots()), "??", "*"))
	if err == nil && len(objects) > mostObjects {
		err = removeAll(r.snapshots())
	}
	return errors.Join(err, os.MkdirAll(r.snapshots(), 0o755))
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
		list = append(list, Commit{Hash: f[0], Tree: f[1], Date: f[2], Merge: strings.Contains(f[3], " "), Subject: f[4], object: f[0]})
	}
	if dirty {
		list = append(list, to)
	}
	return list, nil
}

// Changed reports whether the working tree differs from HEAD.
func (r *Repository) Changed(ctx context.Context) bool {
	out, err := r.git(ctx, "status", "--porcelain", "--untracked-files=no")
	return err == nil && out != "" && r.top != ""
}

// copyIndex copies the index, so that git need not read every file again.
func (r *Repository) copyIndex(ctx context.Context) (string, error) {
	f, err := os.CreateTemp(r.cache, "index-*")
	if err != nil {
		return "", cacheFault(err)
	}
	defer f.Close()
	data, err := os.ReadFile(filepath.Join(r.gitDir(ctx), "index"))
	if os.IsNotExist(err) {
		return f.Name(), os.Remove(f.Name()) // git refuses an empty file
	}
	if err == nil {
		_, err = f.Write(data)
	}
	return f.Name(), cacheFault(err)
}

// gitDir is the folder of this worktree in the repository: with git worktree it is not common.
func (r *Repository) gitDir(ctx context.Context) string {
	dir, err := r.git(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return r.common
	}
	return dir
}

func (r *Repository) objects() string   { return filepath.Join(r.common, "objects") }
func (r *Repository) snapshots() string { return filepath.Join(r.cache, "snapshots") }
