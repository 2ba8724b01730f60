package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/spool"
	"github.com/taktload/takt/pkg/takt"
)

// saveTime is how long a store may take to keep a run; after it the run is spooled.
const saveTime = 10 * time.Second

// storing is where runs are kept.
type storing struct {
	where string // path or URL; "": the file in the user's home
	said  bool   // that there is no home
}

func (s *storing) addFlags(fs *goFlagSet) {
	fs.StringVar(&s.where, "store", "", "keep runs in the file `PATH|URL`, or in the cluster of elasticsearch://HOST:PORT or opensearch://…; the default is $XDG_DATA_HOME/takt/takt.db")
}

// place is the path or URL of the store.
func (s *storing) place(env Env) (string, error) {
	if s.where != "" {
		return s.where, nil
	}
	return env.underHome(dataHome, "takt.db")
}

// open opens the store.
func (s *storing) open(ctx context.Context, env Env) (store.Store, error) {
	where, err := s.place(env)
	if err != nil {
		return nil, err
	}
	v := storeVariables()
	return store.Open(ctx, where, store.Options{
		User: env.Getenv(v[0]), Password: env.Getenv(v[1]), APIKey: env.Getenv(v[2]), CAFile: env.Getenv(v[3]),
	})
}

// storeVariables are those of the environment that a cluster's credentials come from,
// which have no place on a command line.
func storeVariables() []string {
	return []string{"TAKT_STORE_USER", "TAKT_STORE_PASSWORD", "TAKT_STORE_API_KEY", "TAKT_STORE_CA"}
}

// with opens the store for f.
func (s *storing) with(ctx context.Context, env Env, f func(store.Store) error) error {
	st, err := s.open(ctx, env)
	if err != nil {
		return err
	}
	defer st.Close()
	return f(st)
}

// spool is where runs wait that the store could not take.
func spoolOf(env Env) (*spool.Spool, error) {
	dir, err := env.underHome(stateHome, "spool")
	if err != nil {
		return nil, err
	}
	return spool.Open(dir), nil
}

// keep saves the run. A signal that has ended the run does not end this. Where that
// is not possible the report goes to the spool; it never costs the run its exit code.
func (s *storing) keep(env Env, r *takt.Report) {
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	r = format.Finite(r)
	err := s.with(ctx, env, func(st store.Store) error { return st.Save(ctx, r) })
	if err == nil {
		return
	}
	if homeless := (*noHomeError)(nil); errors.As(err, &homeless) {
		s.sayOnce(env, "takt: the run is not stored: %v, or give --store FILE or --no-store\n", err)
		return
	}
	waits, spooled := spoolOf(env)
	if spooled == nil {
		spooled = waits.Add(r)
	}
	if spooled != nil {
		fmt.Fprintf(env.Stderr, "takt: the run is not stored: %v; nor can it wait for the store: %v; keep it with -o json=FILE, then takt store import FILE\n", err, spooled)
		return
	}
	fmt.Fprintf(env.Stderr, "takt: the run %s is not stored yet: %v; its report waits in %s; when the store is back, run: takt store sync\n", r.ID, err, waits.Dir())
}

// sayOnce says it for the first of several runs.
func (s *storing) sayOnce(env Env, text string, args ...any) {
	if !s.said {
		fmt.Fprintf(env.Stderr, text, args...)
	}
	s.said = true
}
