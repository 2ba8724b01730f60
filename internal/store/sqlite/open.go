package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/internal/store/fault"
)

// pragmas are set for each connection. Others write for a few milliseconds at a time;
// who waits 5 s waits for something that hangs. FULL: a run that was saved survives a
// power failure, for one fsync a Save.
var pragmas = []string{"busy_timeout(5000)", "synchronous(FULL)"}

// Open opens the store in that file, and makes it and its folder if need be, for the
// user alone. From a store that may only be read, or on a full disk, runs can be read:
// Save and Delete give fault.ErrReadOnly or fault.ErrFull.
func Open(ctx context.Context, path string) (*Store, error) {
	return open(ctx, path, opening{create: true, upgrade: true}, pragmas)
}

// OpenExisting is Open, but without a file the error is fault.ErrAbsent.
func OpenExisting(ctx context.Context, path string) (*Store, error) {
	return open(ctx, path, opening{upgrade: true}, pragmas)
}

// Look is OpenExisting for a reader that changes nothing: older tables stay as they are.
func Look(ctx context.Context, path string) (*Store, error) {
	return open(ctx, path, opening{}, pragmas)
}

// opening says what may change when a store is opened.
type opening struct{ create, upgrade bool }

func open(ctx context.Context, path string, o opening, pragmas []string) (*Store, error) {
	where, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if path, err = outfile.FollowOwn(where); err != nil {
		return nil, &fault.Error{Kind: fault.ErrUnreachable, Store: where, Cause: err, Hint: "give another file with --store"}
	}
	shared, err := touch(path, o.create)
	if err != nil {
		return nil, err
	}
	if shared {
		return connect(ctx, path, pragmas, immutable, false)
	}
	for _, end := range besides {
		if _, err := outfile.FollowOwn(path + end); err != nil {
			return nil, &fault.Error{Kind: fault.ErrUnreachable, Store: where, Cause: err, Hint: "remove that file, or give a store in a folder of yours with --store"}
		}
	}
	s, err := connect(ctx, path, pragmas, "rw", o.upgrade)
	if !errors.Is(err, fault.ErrReadOnly) && !errors.Is(err, fault.ErrUnreachable) && !errors.Is(err, fault.ErrFull) {
		return s, err
	}
	for _, mode := range readOnlyModes(path) {
		if s, failed := connect(ctx, path, pragmas, mode, false); failed == nil {
			return s, nil
		}
	}
	return nil, err
}

// readOnlyModes are those in which a store can be opened that cannot be written to. In
// a folder that is read-only too SQLite cannot make the files that keep readers and
// writers apart, so it has to take the database for immutable. That passes over what
// stands in the WAL only; as long as somebody writes there is one.
func readOnlyModes(path string) []string {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return []string{"ro"}
	}
	return []string{"ro", immutable}
}

// immutable is the mode in which SQLite reads a store and nothing beside it.
const immutable = "ro&immutable=1"

// besides are the ends of the names of the files that SQLite keeps beside a store. SQLite takes what is in them
// for a part of the store.
var besides = [...]string{"-journal", "-wal", "-shm"}

// touch makes the file if it is not there and create says so. SQLite gives the files
// beside it the same mode. To be allowed to read it is enough. In a folder where everybody may write, as /tmp,
// another user could put SQLite's files beside the store at any moment, so touch refuses a store that may be
// written there; shared is one that may only be read.
func touch(path string, create bool) (shared bool, err error) {
	if err := notAFile(path); err != nil {
		return false, &fault.Error{Kind: fault.ErrUnreachable, Store: path, Cause: err, Hint: "give a file with --store"}
	}
	flags := os.O_RDWR
	shared = outfile.IsShared(path)
	if create && !shared {
		flags |= os.O_CREATE
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, flags, 0o600)
	}
	if err == nil && shared {
		err = f.Close()
	}
	denied := errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
	if denied {
		if readable, bad := os.Open(path); bad == nil {
			f, err = readable, nil
		}
	}
	switch {
	case shared && !denied && (create || !errors.Is(err, fs.ErrNotExist)):
		return false, &fault.Error{Kind: fault.ErrUnreachable, Store: path, Cause: errShared, Hint: "use a folder of your own, for example: mkdir -m 700 " + filepath.Join(filepath.Dir(path), "mine")}
	case err == nil:
		return shared, f.Close()
	case noRoom(err):
		return false, &fault.Error{Kind: fault.ErrFull, Store: path, Cause: err, Hint: fullHint}
	case denied:
		return false, &fault.Error{Kind: fault.ErrReadOnly, Store: path, Cause: err, Hint: "give another file with --store"}
	case !create && errors.Is(err, fs.ErrNotExist):
		return false, &fault.Error{Kind: fault.ErrAbsent, Store: path, Hint: "takt makes it with the first run"}
	}
	return false, &fault.Error{Kind: fault.ErrUnreachable, Store: path, Cause: err, Hint: "give another file with --store"}
}

var errShared = errors.New("it is in a folder where everybody may write, so another user could put files beside it")

func connect(ctx context.Context, path string, pragmas []string, mode string, upgrade bool) (*Store, error) {
	query := url.Values{"_pragma": pragmas, "_txlock": {"immediate"}}
	name := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode() + "&mode=" + mode}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	s := &Store{db, path}
	if err := s.migrate(ctx, upgrade); err != nil {
		return nil, errors.Join(s.fault(ctx, err), db.Close())
	}
	return s, nil
}
