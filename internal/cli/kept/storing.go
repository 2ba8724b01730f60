// Package kept is where commands store runs and find them again.
package kept

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/store/spool"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// How long opening a store and saving a run may take; after that, the run goes to the spool.
const (
	saveTime  = 10 * time.Second
	abortTime = 2 * time.Second // after the second signal
)

// Storing is the place where runs are stored.
type Storing struct {
	Where string // path or URL; "": the file in the user's home directory
	Limit int    // most runs in a file; 0: no limit
	said  bool   // the user was told that there is no home directory
}

// AddFlags adds --store.
func (s *Storing) AddFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupStorage, s.addFlags)
}

func (s *Storing) addFlags(fs *pflag.FlagSet) {
	fs.Var(value.Store(&s.Where), "store", "store runs in the file or cluster `PATH|URL`, with a URL such as elasticsearch://HOST:PORT or opensearch://…; the default is $XDG_DATA_HOME/takt/takt.db; a password in the URL is visible in ps, TAKT_STORE_PASSWORD is not")
}

// place is the path or URL of the store.
func (s *Storing) place(env core.Env) (string, error) {
	if s.Where != "" {
		return s.Where, nil
	}
	return env.UnderHome(core.DataHome, "takt.db")
}

// IsCluster reports whether a store is a cluster, and not a file.
func IsCluster(where string) bool { return strings.Contains(where, "://") }

// Address is place for a file: the same from any directory, and without a password.
func (s *Storing) Address(env core.Env) (string, error) {
	where, err := s.place(env)
	if err != nil {
		return "", err
	}
	if !IsCluster(where) {
		return filepath.Abs(where)
	}
	u, err := url.Parse(where)
	if err != nil {
		return value.HidePassword(where), nil
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	return u.String(), nil
}

// With opens the store for f, and creates it if it does not exist.
func (s *Storing) With(ctx context.Context, env core.Env, f func(store.Store) error) error {
	return s.use(ctx, env, store.Open, f)
}

// Reading opens the store for f. It does not create a missing store, whose name is probably
// misspelt. First it recovers runs whose processes ended without a report.
func (s *Storing) Reading(ctx context.Context, env core.Env, f func(store.Store) error) error {
	s.Recover(ctx, env, false)
	return s.use(ctx, env, store.OpenExisting, f)
}

// Looking is Reading for a command that changes nothing: it recovers no runs, and leaves the tables of an
// older takt as they are.
func (s *Storing) Looking(ctx context.Context, env core.Env, f func(store.Store) error) error {
	return s.use(ctx, env, store.Look, f)
}

func (s *Storing) use(ctx context.Context, env core.Env, open opener, f func(store.Store) error) error {
	st, err := s.open(ctx, env, open)
	if err != nil {
		return err
	}
	return Patient(ctx, func() error {
		defer st.Close()
		return f(st)
	})
}

// allowed refuses a file of a session that is not in the folder of sessions. SQLite opens its files by
// their names, so only the owner's sessions name one.
func (s *Storing) allowed(env core.Env) error {
	given := env.Session && slices.ContainsFunc(env.Settings.Given, func(s core.Setting) bool {
		return s.Name == "store" && s.Origin.Kind != core.FromEnvironment
	})
	switch {
	case !given || IsCluster(s.Where):
		return nil
	case !env.Owner:
		return errors.New("a session with a token has the server's store; leave --store out")
	}
	return files.Check(s.Where)
}

// opener is store.Open, store.OpenExisting or store.Look.
type opener func(context.Context, string, store.Options) (store.Store, error)

func (s *Storing) open(ctx context.Context, env core.Env, open opener) (store.Store, error) {
	where, err := s.place(env)
	if err == nil {
		err = s.allowed(env)
	}
	if err != nil {
		return nil, err
	}
	v := core.StoreVariables()
	options := store.Options{User: env.Getenv(v[0]), Password: env.Getenv(v[1]), APIKey: env.Getenv(v[2]), CAFile: env.Getenv(v[3])}
	ctx, cancel := saving(ctx, nil)
	defer cancel()
	var opened store.Store
	err = Patient(ctx, func() (err error) {
		opened, err = open(ctx, where, options)
		return err
	})
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// Keep saves the run, even after a signal that ended the run, and removes the oldest runs above
// the limit. If saving fails or takes too long, the report goes to the spool; the exit code of the
// run stays the same. It reports whether the run is in the store.
func (s *Storing) Keep(env core.Env, r *takt.Report) bool {
	saved := s.keepBy(env, r, func(ctx context.Context) error {
		return s.With(ctx, env, func(st store.Store) error { return st.Save(ctx, r) })
	})
	if saved {
		s.trim(env, r)
	}
	return saved
}

// unstored is where messages about the store go.
func unstored(env core.Env) io.Writer {
	if env.Unstored != nil {
		return env.Unstored
	}
	return env.Stderr
}

// keepBy is Keep with another function to save r, and without the limit.
func (s *Storing) keepBy(env core.Env, r *takt.Report, save func(context.Context) error) bool {
	err := inTime(env.Abort, save)
	if err == nil {
		return true
	}
	to := unstored(env)
	if homeless := (*core.NoHomeError)(nil); errors.As(err, &homeless) {
		if !s.said { // once for several runs
			fmt.Fprintf(to, "takt: the run is not stored: %v, or give --store FILE or --no-store\n", err)
		}
		s.said = true
		return false
	}
	var dir, command string
	spooled := inTime(env.Abort, func(context.Context) (err error) {
		dir, command, err = s.spool(env, r)
		return err
	})
	if spooled != nil {
		fmt.Fprintf(to, "takt: the run is not stored: %v; nor can it wait for the store: %v; write it with -o json=FILE, then run takt store import FILE\n", err, spooled)
		return false
	}
	fmt.Fprintf(to, "takt: the run %s is not stored yet: %v; its report waits in %s; when the store is back, run: %s\n", r.ID, err, dir, command)
	return false
}

// spool writes the report to the spool, and returns its folder and the command that sends the
// report to the store.
func (s *Storing) spool(env core.Env, r *takt.Report) (dir, command string, err error) {
	waits, err := SpoolOf(env)
	if err != nil {
		return "", "", err
	}
	address, err := s.Address(env)
	if err != nil {
		return "", "", err
	}
	return waits.Dir(), SyncCommand(env, address), waits.Add(r, address)
}

// SpoolOf is the folder of runs that could not be stored and wait for their store.
func SpoolOf(env core.Env) (*spool.Spool, error) {
	dir, err := env.UnderHome(core.StateHome, "spool")
	if err != nil {
		return nil, err
	}
	return spool.Open(dir), nil
}

// SyncCommand is the command that sends the waiting runs to the store at that address.
func SyncCommand(env core.Env, address string) string {
	return onStore(env, "takt store sync", address)
}

// ShowCommand is the command that shows a stored run again.
func (s *Storing) ShowCommand(env core.Env, id string) string {
	if env.Session {
		return "show " + id
	}
	address, err := s.Address(env)
	if err != nil { // cannot happen for a run that is stored
		return "takt show " + id
	}
	return onStore(env, "takt show "+id, address)
}

// onStore is the command with the store at that address, unless it is the standard one.
func onStore(env core.Env, command, address string) string {
	if standard, err := new(Storing).Address(env); err == nil && address == standard {
		return command
	}
	return command + " --store " + quoted(address)
}

// plain matches words that need no quotes in a shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted is the word, quoted for a shell if necessary.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
