package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// clone makes a repository of its own in dir, with the files of the commit. It borrows the objects
// of the user's repository. git archive would leave out files with the attribute export-ignore, and
// git worktree would write into the user's repository.
func (r *Repository) clone(ctx context.Context, c Commit, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cacheFault(err)
	}
	g := git{folder: dir, inside: true, config: append(r.filters(ctx), "core.hooksPath=/dev/null", "advice.detachedHead=false", "init.defaultBranch=main")}
	if _, err := g.out(ctx, "init", "--quiet", "--template=", "--object-format="+r.format, "."); err != nil {
		return cacheFault(err)
	}
	if err := r.borrow(ctx, filepath.Join(dir, ".git")); err != nil {
		return cacheFault(err)
	}
	if _, err := g.out(ctx, "checkout", "--quiet", "--detach", c.object, "--"); err != nil {
		return cacheFault(err)
	}
	return r.submodules(ctx, g, r.common)
}

// borrow lets the repository in gitDir find the objects, and gives it the tags, so that git describe
// works in a build.
func (r *Repository) borrow(ctx context.Context, gitDir string) error {
	write := func(name, text string) error {
		return os.WriteFile(filepath.Join(gitDir, name), []byte(text), 0o644)
	}
	if err := os.MkdirAll(filepath.Join(gitDir, "objects", "info"), 0o755); err != nil {
		return err
	}
	lenders := quoted(r.objects()) + "\n"
	if exists(r.snapshots()) {
		lenders += quoted(r.snapshots()) + "\n"
	}
	err := write("objects/info/alternates", lenders)
	if shallow, missing := os.ReadFile(filepath.Join(r.common, "shallow")); missing == nil {
		err = errors.Join(err, write("shallow", string(shallow)))
	}
	tags, failed := r.git(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags")
	if tags != "" {
		err = errors.Join(err, write("packed-refs", tags+"\n"))
	}
	return errors.Join(err, failed)
}

// quoted is a path as git reads it in a list of alternates, which colons separate in a variable.
func quoted(path string) string {
	if !strings.ContainsAny(path, "\n\":") && !strings.HasPrefix(path, "#") {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// filters are the user's settings that decide what a file looks like after a checkout, for example
// those of git lfs install --local.
func (r *Repository) filters(ctx context.Context) (list []string) {
	out, err := r.git(ctx, "config", "--local", "--null", "--get-regexp", `^(filter\.|lfs\.|core\.(autocrlf|eol|symlinks|safecrlf)$)`)
	if err != nil {
		return nil // the repository has no such setting
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		name, text, found := strings.Cut(entry, "\n")
		if found {
			list = append(list, name+"="+text)
		}
	}
	return list
}

// submodules checks out the submodules of the repository that g works in, from the clones that the
// user has of them in the folder modules of from. It does not use the network: the commit of a
// submodule that the user has not fetched is an error.
func (r *Repository) submodules(ctx context.Context, g git, from string) error {
	listed, err := g.out(ctx, "config", "--file", ".gitmodules", "--null", "--get-regexp", `^submodule\..*\.path$`)
	if err != nil || listed == "" {
		return nil // there are none
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		key, path, _ := strings.Cut(entry, "\n")
		name := strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")
		module := filepath.Join(from, "modules", name)
		if !filepath.IsLocal(name) || !filepath.IsLocal(path) {
			return fmt.Errorf("the submodule %q has a path outside of its repository", name)
		}
		if _, missing := os.Stat(module); missing != nil {
			continue // the user has not initialized it either
		}
		own := g
		own.config = append(own.config, "submodule."+name+".url="+module, "protocol.file.allow=always")
		if _, err := own.out(ctx, "submodule", "update", "--init", "--quiet", "--", path); err != nil {
			return fmt.Errorf("cannot check out the submodule %s: %w; in your clone: git fetch --recurse-submodules", path, err)
		}
		inner := g
		inner.folder = filepath.Join(g.folder, path)
		if err := r.submodules(ctx, inner, module); err != nil {
			return err
		}
	}
	return nil
}
