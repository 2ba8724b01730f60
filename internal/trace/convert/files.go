package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/taktload/takt/internal/trace"
)

// Making says how files are made.
type Making struct {
	Zero  bool  // sparse files: only zeros, which need no space on most file systems
	Limit int64 // limit of the bytes of all files, unless Zero; 0: no limit
}

// Made counts what Files did.
type Made struct {
	Files      uint64 // made or lengthened
	Bytes      int64  // the size of these files
	Present    uint64 // records whose file existed and was long enough
	Skipped    uint64 // records that need no file
	Impossible uint64 // records whose file cannot exist: its name is too long, or is also a folder's
}

// Files creates the files below root that a server needs to answer the requests of a log:
// for a GET or HEAD whose status shows that the file existed, a file of the size that was
// sent, or of the largest size; for a DELETE an empty file. The name is the path without
// the query, plus index.html if the path ends with /. rows gets a row of the load format
// for each file, with the status 201.
func Files(root *os.Root, src trace.Stream, how Making, rows io.Writer) (Made, error) {
	m := maker{root: root, how: how, rows: rows, random: rand.NewChaCha8([32]byte{})}
	err := trace.Each(src, m.record)
	return m.made, err
}

// maker creates files.
type maker struct {
	root   *os.Root
	how    Making
	rows   io.Writer
	random *rand.ChaCha8
	made   Made
	row    []byte
}

func (m *maker) record(r *trace.Record) error {
	size, name := wanted(r), fileName(r.URI)
	if size < 0 || name == "" {
		m.made.Skipped++
		return nil
	}
	done, err := m.make(name, size)
	switch {
	case impossible(err):
		m.made.Impossible++
		return nil
	case err != nil:
		return fmt.Errorf("cannot make the file of %s:%d: %w", r.File, r.Line, err)
	case !done:
		m.made.Present++
		return nil
	}
	m.made.Files++
	m.made.Bytes += size
	row := trace.Record{At: r.At, Second: r.Second, Latency: trace.Unknown, Transfer: trace.Unknown, Bytes: size, URI: r.URI, Status: 201, Method: []byte("PUT")}
	m.row = AppendLoadRow(m.row[:0], &row)
	_, err = m.rows.Write(m.row)
	return err
}

// wanted is the size of the file that a record needs, or -1 for no file. The statuses are
// those of a file that exists; 408 and 499 say that the client left.
func wanted(r *trace.Record) int64 {
	switch string(r.Method) {
	case "DELETE":
		return 0
	case "GET", "HEAD":
		switch r.Status {
		case 200, 203, 206, 304, 408, 499, 500:
			return max(r.Bytes, 0)
		}
	}
	return -1
}

// fileName is the relative name of the file of a URI, or "" if a file cannot have the name.
func fileName(uri []byte) string {
	raw, _, _ := bytes.Cut(uri, []byte("?"))
	text, err := url.PathUnescape(string(raw))
	if err != nil || !strings.HasPrefix(text, "/") || strings.ContainsRune(text, 0) {
		return ""
	}
	if strings.HasSuffix(text, "/") {
		text += "index.html"
	}
	return strings.TrimPrefix(path.Clean(text), "/")
}

// make creates or lengthens a file, and reports whether that was necessary.
func (m *maker) make(name string, size int64) (bool, error) {
	if err := m.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return false, err
	}
	f, err := m.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if isNew := err == nil; !isNew {
		info, statErr := m.root.Stat(name)
		if statErr != nil {
			return false, err
		}
		if info.IsDir() {
			return false, syscall.EISDIR
		}
		if info.Size() >= size {
			return false, nil
		}
		if f, err = m.root.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0); err != nil {
			return false, err
		}
	}
	if !m.how.Zero && m.how.Limit > 0 && size > m.how.Limit-m.made.Bytes {
		err = fmt.Errorf("the files would take more than %d bytes; give a higher limit, or files without content", m.how.Limit)
	} else {
		err = m.fill(f, size)
	}
	return true, errors.Join(err, f.Close())
}

func (m *maker) fill(f *os.File, size int64) error {
	if m.how.Zero {
		return f.Truncate(size)
	}
	_, err := io.CopyN(f, m.random, size)
	return err
}

// impossible reports whether err says that the file cannot exist, rather than that it could
// not be written.
func impossible(err error) bool {
	for _, cause := range []error{fs.ErrExist, syscall.EISDIR, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.EINVAL} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}
