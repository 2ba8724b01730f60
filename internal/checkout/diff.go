package checkout

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
)

// Diff is what changes between two commits in the files that match one of git's patterns, such as *.go, with whole
// functions. Paths are those in the repository, behind a/ and b/.
func (r *Repository) Diff(ctx context.Context, from, to Commit, patterns []string) (string, error) {
	g := git{folder: r.folder, also: []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(r.snapshots())}, config: []string{"core.quotePath=false"}}
	args := []string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "-W", from.object, to.object, "--"}
	for _, p := range patterns {
		args = append(args, ":(top)"+p)
	}
	return g.out(ctx, args...)
}

// PathOf is the path in the repository of a file that a program of the build names, absolute or as its commands see
// it. ok: the file is of the build, and not in a folder of installed packages.
func (b *Built) PathOf(file string) (path string, ok bool) {
	file = strings.TrimPrefix(file, "file://")
	if file == "" || strings.HasPrefix(file, "<") {
		return "", false
	}
	tree := b.tree
	if real, err := filepath.EvalSymlinks(tree); err == nil && strings.HasPrefix(file, real) {
		tree = real
	}
	if !filepath.IsAbs(file) {
		for _, at := range []string{b.Folder, tree} {
			if exists(filepath.Join(at, file)) {
				file = filepath.Join(at, file)
				break
			}
		}
	}
	path, err := filepath.Rel(tree, file)
	if err != nil || !filepath.IsAbs(file) || !filepath.IsLocal(path) {
		return "", false
	}
	path = filepath.ToSlash(path)
	return path, !slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return slices.Contains(installed, part) })
}

// installed are the folders of packages that others wrote.
var installed = []string{"node_modules", "site-packages", "dist-packages"}
