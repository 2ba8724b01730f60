package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/store/elastic"
	"github.com/taktload/takt/internal/store/sqlite"
)

// Options are a cluster's credentials. They come from the environment, because passwords do
// not belong on a command line.
type Options struct {
	User, Password string
	APIKey         string // has priority over user and password
	CAFile         string // PEM file of the authority that signed the server's certificate; "": the system's authorities
}

// Open opens the store in the file or cluster that where names. It creates a missing file.
func Open(ctx context.Context, where string, o Options) (Store, error) {
	return open(ctx, where, o, sqlite.Open)
}

// OpenExisting is Open for reading only: a missing file is fault.ErrAbsent.
func OpenExisting(ctx context.Context, where string, o Options) (Store, error) {
	return open(ctx, where, o, sqlite.OpenExisting)
}

// Look is OpenExisting for a reader that changes nothing: the tables of an older takt stay as they are.
func Look(ctx context.Context, where string, o Options) (Store, error) {
	return open(ctx, where, o, sqlite.Look)
}

func open(ctx context.Context, where string, o Options, file func(context.Context, string) (*sqlite.Store, error)) (Store, error) {
	scheme, _, isURL := strings.Cut(where, "://")
	if !isURL {
		return opened(file(ctx, where))
	}
	for _, known := range elastic.Schemes() {
		if scheme == known {
			return opened(elastic.Open(where, elastic.Options(o)))
		}
	}
	return nil, fmt.Errorf("no store is known by %s://; give a file, or a URL with %s", scheme, strings.Join(elastic.Schemes(), "://, ")+"://")
}

// opened prevents a nil pointer from becoming a non-nil Store.
func opened[S Store](s S, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
