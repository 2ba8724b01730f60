package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/taktload/takt/internal/store/elastic"
	"github.com/taktload/takt/internal/store/sqlite"
)

// Options are what a cluster asks for. Passwords do not belong on a command line, so
// they come from the environment.
type Options struct {
	User, Password string
	APIKey         string // goes before user and password
	CAFile         string // PEM of the authority that signed the server's certificate; "": the system's
}

// Open opens the store in the file, or of the cluster, that where names. A file that is
// not there is made.
func Open(ctx context.Context, where string, o Options) (Store, error) {
	return open(ctx, where, o, sqlite.Open)
}

// OpenExisting is Open for those who only read: a file that is not there is
// fault.ErrAbsent.
func OpenExisting(ctx context.Context, where string, o Options) (Store, error) {
	return open(ctx, where, o, sqlite.OpenExisting)
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

// opened keeps a nil pointer from becoming a Store that is not nil.
func opened[S Store](s S, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
