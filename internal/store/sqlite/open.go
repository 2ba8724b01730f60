package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
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
	if err := touch(path, o.create); err != nil {
		return nil, err
	}
	free, err := guard(path)
	if err != nil {
		return nil, &fault.Error{Kind: fault.ErrUnreachable, Store: where, Cause: err, Hint: "remove that file, or give a store in a folder of yours with --store"}
	}
	defer free()
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
	return []string{"ro", "ro&immutable=1"}
}

// besides are the ends of the names of the files that SQLite keeps beside a store.
var besides = [...]string{journal, "-wal", "-shm"}

const journal = "-journal"

// guard refuses a store beside which another user has put one of SQLite's files: SQLite would take what is in it
// for a part of the store. In a folder where everybody may write it makes these files itself, before anybody else
// can; the sticky bit keeps them, and SQLite takes them for empty. free removes the journal, which a store in WAL
// mode does not need, and which nobody can use while the store is open.
func guard(path string) (free func(), err error) {
	free = func() {}
	shared := outfile.IsShared(path) && mayWrite(path)
	for _, end := range besides {
		if shared && makeEmpty(path+end) && end == journal {
			free = func() { _ = os.Remove(path + journal) } // SQLite may have done so
		}
		if _, err := outfile.FollowOwn(path + end); err != nil {
			free()
			return nil, err
		}
	}
	return free, nil
}

// mayWrite reports whether the store can be changed: who only reads it leaves nothing beside it.
func mayWrite(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	return err == nil && f.Close() == nil
}

// makeEmpty makes a file that SQLite takes for empty, and reports whether it did: a journal whose first byte is
// 0 is over, and SQLite keeps it. Who cannot make files cannot let SQLite make any.
func makeEmpty(path string) bool {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // follows no link
	if err != nil {
		return false
	}
	if strings.HasSuffix(path, journal) {
		_, err = f.Write([]byte{0})
	}
	return errors.Join(err, f.Close()) == nil
}

// touch makes the file if it is not there and create says so. SQLite gives the files
// beside it the same mode. To be allowed to read it is enough.
func touch(path string, create bool) (err error) {
	flags := os.O_RDWR
	if err := notAFile(path); err != nil {
		return &fault.Error{Kind: fault.ErrUnreachable, Store: path, Cause: err, Hint: "give a file with --store"}
	}
	if create {
		flags |= os.O_CREATE
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, flags, 0o600)
	}
	denied := errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
	if denied {
		if readable, bad := os.Open(path); bad == nil {
			f, err = readable, nil
		}
	}
	switch {
	case err == nil:
		return f.Close()
	case noRoom(err):
		return &fault.Error{Kind: fault.ErrFull, Store: path, Cause: err, Hint: fullHint}
	case denied:
		return &fault.Error{Kind: fault.ErrReadOnly, Store: path, Cause: err, Hint: "give another file with --store"}
	case !create && errors.Is(err, fs.ErrNotExist):
		return &fault.Error{Kind: fault.ErrAbsent, Store: path, Hint: "takt makes it with the first run"}
	}
	return &fault.Error{Kind: fault.ErrUnreachable, Store: path, Cause: err, Hint: "give another file with --store"}
}

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
