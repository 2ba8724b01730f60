package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

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
		"GIT_OBJECT_DIRECTORY=" + r.snapshots(), "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(r.objects()),
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
