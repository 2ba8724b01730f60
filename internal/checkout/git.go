// Package checkout reads commits of a user's git repository, checks them out in folders of takt's,
// and builds them there. It changes nothing in the repository.
package checkout

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// localVariables are git's own variables of a repository. In a hook, git sets them, and git would
// then work on the user's repository in takt's folders.
var localVariables = strings.Fields(`GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
	GIT_COMMON_DIR GIT_NAMESPACE GIT_PREFIX GIT_CONFIG GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT GIT_GRAFT_FILE GIT_SHALLOW_FILE
	GIT_REPLACE_REF_BASE GIT_NO_REPLACE_OBJECTS GIT_IMPLICIT_WORK_TREE GIT_INTERNAL_SUPER_PREFIX`)

// git is how to call git.
type git struct {
	folder string   // where git runs
	inside bool     // in a repository of takt's: git must not see variables of another one
	also   []string // further variables
	config []string // NAME=VALUE
}

// out runs git and returns what it prints, without line breaks at the end.
func (g git) out(ctx context.Context, args ...string) (string, error) {
	words := []string{"-c", "core.fsmonitor=false"} // it would start a process that stays
	for _, c := range g.config {
		words = append(words, "-c", c)
	}
	cmd := exec.CommandContext(ctx, "git", append(words, args...)...)
	cmd.Dir = g.folder
	cmd.Env = append(g.environment(cmd.Environ()), "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	cmd.Env = append(cmd.Env, g.also...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case err == nil:
		return strings.TrimRight(stdout.String(), "\n"), nil
	case ctx.Err() != nil:
		return "", cmp.Or(context.Cause(ctx), ctx.Err())
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("git is not installed, and --git needs it")
	}
	said := strings.TrimSpace(stderr.String())
	return "", fmt.Errorf("git %s: %s", args[0], cmp.Or(said, err.Error()))
}

func (g git) environment(all []string) []string {
	if !g.inside {
		return slices.Clone(all)
	}
	return slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(localVariables, name)
	})
}

// Repository is a repository of the user. takt only reads it.
type Repository struct {
	folder string // where the user is
	top    string // the folder of the working tree; "": the repository is bare
	prefix string // from top to folder; "" or ends with /
	common string // the .git folder, with the objects
	format string // of object names: sha1 or sha256
	cache  string // takt's folder for this repository
}

// Open finds the repository that contains the folder. Below cache takt keeps what it makes.
func Open(ctx context.Context, folder, cache string) (*Repository, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	r := &Repository{folder: folder}
	for _, ask := range []struct {
		to   *string
		args []string
	}{
		{&r.common, []string{"rev-parse", "--git-common-dir"}},
		{&r.format, []string{"rev-parse", "--show-object-format"}},
		{&r.prefix, []string{"rev-parse", "--show-prefix"}},
	} {
		if *ask.to, err = r.git(ctx, ask.args...); err != nil {
			return nil, fmt.Errorf("%s is not in a git repository that can be read: %w", folder, err)
		}
	}
	if !filepath.IsAbs(r.common) {
		r.common = filepath.Join(folder, r.common)
	}
	if inside, _ := r.git(ctx, "rev-parse", "--is-inside-work-tree"); inside == "true" {
		if r.top, err = r.git(ctx, "rev-parse", "--show-toplevel"); err != nil {
			return nil, err
		}
	}
	r.cache = filepath.Join(cache, filepath.Base(cmp.Or(r.top, r.common))+"-"+short(r.common))
	return r, nil
}

func (r *Repository) git(ctx context.Context, args ...string) (string, error) {
	return git{folder: r.folder}.out(ctx, args...)
}
