package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// How long opening a store and saving a run may take; after that, the run goes to the spool.
const (
	saveTime  = 10 * time.Second
	abortTime = 2 * time.Second // after the second signal
)

// storing is the place where runs are stored.
type storing struct {
	where string // path or URL; "": the file in the user's home directory
	said  bool   // the user was told that there is no home directory
}

func (s *storing) addFlags(fs *pflag.FlagSet) {
	fs.Var(value.Store(&s.where), "store", "store runs in the file or cluster `PATH|URL`, with a URL such as elasticsearch://HOST:PORT or opensearch://…; the default is $XDG_DATA_HOME/takt/takt.db; a password in the URL is visible in ps, TAKT_STORE_PASSWORD is not")
}

// place is the path or URL of the store.
func (s *storing) place(env Env) (string, error) {
	if s.where != "" {
		return s.where, nil
	}
	return env.underHome(dataHome, "takt.db")
}

// isCluster reports whether a store is a cluster, and not a file.
func isCluster(where string) bool { return strings.Contains(where, "://") }

// address is place for a file: the same from any directory, and without a password.
func (s *storing) address(env Env) (string, error) {
	where, err := s.place(env)
	if err != nil {
		return "", err
	}
	if !isCluster(where) {
		return filepath.Abs(where)
	}
	u, err := url.Parse(where)
	if err != nil {
		return hidePassword(where), nil
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	return u.String(), nil
}

// storeVariables are the environment variables for a cluster's credentials, which should not be
// on a command line.
func storeVariables() []string {
	return []string{"TAKT_STORE_USER", "TAKT_STORE_PASSWORD", "TAKT_STORE_API_KEY", "TAKT_STORE_CA"}
}

// with opens the store for f, and creates it if it does not exist.
func (s *storing) with(ctx context.Context, env Env, f func(store.Store) error) error {
	return s.use(ctx, env, store.Open, f)
}

// reading opens the store for f. It does not create a missing store, whose name is probably
// misspelt. First it recovers runs whose processes ended without a report.
func (s *storing) reading(ctx context.Context, env Env, f func(store.Store) error) error {
	s.recover(ctx, env, false)
	return s.use(ctx, env, store.OpenExisting, f)
}

func (s *storing) use(ctx context.Context, env Env, open opener, f func(store.Store) error) error {
	st, err := s.open(ctx, env, open)
	if err != nil {
		return err
	}
	return patient(ctx, func() error {
		defer st.Close()
		return f(st)
	})
}

// opener is store.Open or store.OpenExisting.
type opener func(context.Context, string, store.Options) (store.Store, error)

func (s *storing) open(ctx context.Context, env Env, open opener) (store.Store, error) {
	where, err := s.place(env)
	if err != nil {
		return nil, err
	}
	v := storeVariables()
	options := store.Options{User: env.Getenv(v[0]), Password: env.Getenv(v[1]), APIKey: env.Getenv(v[2]), CAFile: env.Getenv(v[3])}
	ctx, cancel := saving(ctx, nil)
	defer cancel()
	var opened store.Store
	err = patient(ctx, func() (err error) {
		opened, err = open(ctx, where, options)
		return err
	})
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// keep saves the run, even after a signal that ended the run. If saving fails or takes too long,
// the report goes to the spool; the exit code of the run stays the same.
func (s *storing) keep(env Env, r *takt.Report) {
	s.keepBy(env, r, func(ctx context.Context) error {
		return s.with(ctx, env, func(st store.Store) error { return st.Save(ctx, r) })
	})
}

// keepBy is keep with another function to save r.
func (s *storing) keepBy(env Env, r *takt.Report, save func(context.Context) error) {
	err := inTime(env.Abort, save)
	if err == nil {
		return
	}
	to := env.Stderr
	if env.unstored != nil {
		to = env.unstored
	}
	if homeless := (*noHomeError)(nil); errors.As(err, &homeless) {
		if !s.said { // once for several runs
			fmt.Fprintf(to, "takt: the run is not stored: %v, or give --store FILE or --no-store\n", err)
		}
		s.said = true
		return
	}
	var dir, command string
	spooled := inTime(env.Abort, func(context.Context) (err error) {
		dir, command, err = s.spool(env, r)
		return err
	})
	if spooled != nil {
		fmt.Fprintf(to, "takt: the run is not stored: %v; nor can it wait for the store: %v; write it with -o json=FILE, then run takt store import FILE\n", err, spooled)
		return
	}
	fmt.Fprintf(to, "takt: the run %s is not stored yet: %v; its report waits in %s; when the store is back, run: %s\n", r.ID, err, dir, command)
}

// spool writes the report to the spool, and returns its folder and the command that sends the
// report to the store.
func (s *storing) spool(env Env, r *takt.Report) (dir, command string, err error) {
	waits, err := spoolOf(env)
	if err != nil {
		return "", "", err
	}
	address, err := s.address(env)
	if err != nil {
		return "", "", err
	}
	return waits.Dir(), syncCommand(env, address), waits.Add(r, address)
}
