package store

import "context"

// Limited is a Store that can have a limit on its runs, and marks for runs that stay beyond it.
// Only a file implements it: runs of a cluster belong to a team, and the cluster has policies of
// its own for old documents.
type Limited interface {
	// Trim removes the oldest runs above limit, most of them at most, but no protected run and
	// not the run with the id except. It returns how many runs it removed.
	Trim(ctx context.Context, limit, most int, except string) (removed int, err error)
	// Remove is Delete without the protected runs. It returns the ids of the removed ones.
	Remove(ctx context.Context, ids ...string) (removed []string, err error)
	// Mark protects a stored run, or ends its protection.
	Mark(ctx context.Context, id string, protect bool) error
	// Marked returns the ids of the runs that Mark protects.
	Marked(ctx context.Context) (ids map[string]bool, err error)
}
