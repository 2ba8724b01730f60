package tlsflags

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync"

	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// keyLog is the file of --tls-keylog: secrets of connections in the key log format of NSS, which
// Wireshark reads. nil: nothing is logged.
type keyLog struct {
	f     *os.File
	path  string
	mu    sync.Mutex
	lines int
	err   error // the first one
}

// openKeyLog opens the file at path, which keeps what it has: the runs of a search write to one
// file, and a reader ignores keys that it does not need.
func openKeyLog(path string) (*keyLog, error) {
	f, err := outfile.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600) // for writing only, a pipe would wait for its reader
	if err != nil {
		return nil, value.Faultf("cannot write the key log: %w; name another file with --tls-keylog", err)
	}
	info, err := f.Stat()
	owner, known := 0, false
	if err == nil {
		owner, known = outfile.OwnerOf(info)
	}
	switch {
	case err != nil:
		err = value.Faultf("cannot write the key log: %w", err)
	case !info.Mode().IsRegular():
		err = value.Faultf("the key log %s is not a file; name a file with --tls-keylog", path)
	case known && owner != os.Geteuid():
		err = value.Faultf("the key log %s belongs to user %d, who could decrypt connections with it; name another file with --tls-keylog", path, owner)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		err = value.Faultf("others can read the key log %s, with which they can decrypt connections; chmod 600 that file, or name another one with --tls-keylog", path)
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return &keyLog{f: f, path: path}, nil
}

// Open opens the key log of a run, if there is to be one.
func (f *Flags) Open() (err error) {
	if f.KeyLog == "" {
		return nil
	}
	if f.keys, err = openKeyLog(f.KeyLog); err == nil {
		f.Config.KeyLogWriter = f.keys
	}
	return err
}

// Close ends the key log. Connections that are made later log nothing.
func (f *Flags) Close() error { return f.keys.close() }

// Write implements tls.Config.KeyLogWriter. It never fails: a full disk costs the log, not the
// handshakes of a run.
func (k *keyLog) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		if _, k.err = k.f.Write(b); k.err == nil {
			k.lines += bytes.Count(b, []byte("\n"))
		}
	}
	return len(b), nil
}

// report says that there are keys in a file, and whether all of them.
func (k *keyLog) report(r *takt.Report) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lines > 0 {
		r.Warn(warn.TLSKeylog, "%d secrets of TLS connections were written to %s: whoever can read that file can decrypt a capture of this run", takt.Number("secrets", k.lines), k.path)
	}
	if k.err != nil {
		r.Warn(warn.TLSKeylog, "the key log is not complete: %v", k.err)
	}
}

// close ends the log. Connections that are made later log nothing.
func (k *keyLog) close() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.err = fs.ErrClosed
	}
	if err := k.f.Close(); !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
