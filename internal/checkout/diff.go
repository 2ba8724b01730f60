package checkout

import "context"

// Diff is what changes between two commits in the files that match a pattern of git, such as *.go, with whole
// functions.
func (r *Repository) Diff(ctx context.Context, from, to Commit, pattern string) (string, error) {
	g := git{folder: r.folder, also: []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(r.snapshots())}}
	return g.out(ctx, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "-W", from.object, to.object, "--", ":(top)"+pattern)
}
