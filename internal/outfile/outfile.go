// Package outfile writes files that replace older ones. The old content stays until
// there is new content: a full disk or a crash costs no old report.
package outfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is a file that is being written. The content goes to a temporary file in the
// same folder, which Show or Close renames. Where that is impossible, as with a pipe, a
// device or a folder without write permission, the content goes to the file itself.
type File struct {
	path  string   // after symbolic links
	in    folders  // the path's
	f     *os.File // the temporary file, or the file itself
	temp  string   // path of the temporary file; "": renamed, or there is none
	begun bool     // something was written
}

// Open opens the file at path and leaves its content as it is. The error is that of a
// path that cannot be written. Open follows links as Follow does.
func Open(path string) (*File, error) {
	path, err := Follow(path)
	if err != nil {
		return nil, err
	}
	in, err := folderOf(path)
	if err != nil {
		return nil, hinted(path, err)
	}
	if f := in.beside(path); f != nil {
		return f, nil
	}
	f, err := in.open(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		in.close()
		return nil, hinted(path, err)
	}
	return &File{path: path, in: in, f: f}, nil
}

// beside makes a temporary file beside the one at path; nil where it could not replace
// that one, or would change more than its content.
func (d folders) beside(path string) *File {
	path, old, ok := d.target(path)
	if !ok {
		return nil
	}
	dir := filepath.Dir(path)
	d.sweep(dir)
	f, temp, err := d.create(dir, 0o666) // the permissions of a new file
	if err != nil {
		return nil
	}
	if old != nil && become(f, old) != nil {
		_ = errors.Join(f.Close(), d.remove(temp))
		return nil
	}
	return &File{path: path, in: d, f: f, temp: temp}
}

// target follows symbolic links to the file that is to be replaced; old is nil when
// there is none yet.
func (d folders) target(path string) (to string, old os.FileInfo, ok bool) {
	if _, err := d.lstat(path); errors.Is(err, os.ErrNotExist) {
		return path, nil, true
	}
	to, err := d.real(path)
	if err != nil || IsOpen(path) || IsOpen(to) {
		return "", nil, false
	}
	old, err = d.lstat(to)
	return to, old, err == nil && old.Mode().IsRegular() && !linked(old) && d.writable(to)
}

// IsOpen reports whether path stands for something that is open, as /dev/stdout and
// /proc/self/fd/1 do.
func IsOpen(path string) bool {
	abs, err := filepath.Abs(path)
	return err != nil || slices.ContainsFunc([]string{"/dev/std", "/dev/fd/", "/proc/"}, func(s string) bool { return strings.HasPrefix(abs, s) })
}

// writable reports whether the user may change the file. To rename another one over it
// takes the permission of the folder only.
func (d folders) writable(path string) bool {
	f, err := d.open(path, os.O_WRONLY, 0)
	return err == nil && f.Close() == nil
}

// Write implements io.Writer.
func (f *File) Write(b []byte) (int, error) {
	if !f.begun && f.temp == "" {
		if err := truncate(f.f); err != nil {
			return 0, err
		}
	}
	f.begun = true
	n, err := f.f.Write(b)
	return n, f.named(err)
}

// named is err with the path that the user knows.
func (f *File) named(err error) error {
	var e *fs.PathError
	if !errors.As(err, &e) {
		return err
	}
	return &fs.PathError{Op: e.Op, Path: f.path, Err: e.Err}
}

// truncate empties a regular file; pipes and devices have nothing to lose.
func truncate(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return f.Truncate(0)
}

// Show makes what was written so far visible at the path, and what follows. Before the
// first Write it does nothing.
func (f *File) Show() error {
	if !f.begun || f.temp == "" {
		return nil
	}
	if f.in.rename(f.temp, f.path) == nil {
		f.temp = ""
		return nil
	}
	return f.overwrite()
}

// overwrite copies what was written into the file at the path, which cannot be renamed
// over: it is a mount point, say.
func (f *File) overwrite() error {
	to, err := f.in.open(f.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	if _, err = f.f.Seek(0, io.SeekStart); err == nil {
		_, err = io.Copy(to, f.f)
	}
	if err != nil {
		return errors.Join(err, to.Close())
	}
	_ = errors.Join(f.f.Close(), f.in.remove(f.temp)) // nobody needs it now
	f.f, f.temp = to, ""
	return nil
}

// Close ends the file: at the path is what was written, also if that is nothing.
func (f *File) Close() error {
	if f.f == nil {
		return nil
	}
	if err := f.finish(); err != nil {
		return errors.Join(err, f.abandon())
	}
	err := f.f.Close()
	f.f = nil
	f.in.close()
	return err
}

// finish shows everything. The content reaches the disk before its name does, so that
// neither a power failure nor an error that comes late leaves an empty file.
func (f *File) finish() error {
	var err error
	if !f.begun {
		_, err = f.Write(nil)
	}
	if err == nil && f.temp != "" {
		err = f.named(f.f.Sync())
	}
	if err == nil {
		err = f.Show()
	}
	return err
}

// Discard ends the file without what was not shown yet.
func (f *File) Discard() { _ = f.abandon() } // nobody needs what was written

func (f *File) abandon() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	if f.temp != "" {
		err = errors.Join(err, f.in.remove(f.temp))
	}
	f.in.close()
	f.f, f.temp = nil, ""
	return err
}
