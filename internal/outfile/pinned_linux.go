package outfile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// pin opens the folder of a path that Follow returned, part by part. A link that somebody put into the place
// of a folder since then is an error, and what somebody does with a folder afterwards leads nowhere else: the
// files are found below the open folder, by their last names.
func pin(path string) (folders, error) {
	start, dir := ".", filepath.Dir(path)
	if filepath.IsAbs(dir) {
		start = "/"
	}
	at, err := openat(unix.AT_FDCWD, start, unix.O_PATH|unix.O_DIRECTORY, 0)
	for part := range strings.SplitSeq(dir, "/") {
		if err != nil || part == "" || part == "." {
			continue
		}
		above := at
		at, err = openat(above, part, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		_ = unix.Close(above) // an error loses nothing
	}
	if err != nil {
		return folders{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	p := pinned{at}
	return folders{p.open, p.lstat, p.remove, p.list, p.rename, func(name string) (string, error) { return name, nil }, p.close}, nil
}

func openat(at int, name string, flag int, mode uint32) (fd int, err error) {
	for {
		if fd, err = unix.Openat(at, name, flag|unix.O_CLOEXEC, mode); !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// pinned is an open folder.
type pinned struct{ at int }

// open opens a file as package os does. A file that another user put there since Follow looked is refused
// where Follow refuses it.
func (p pinned) open(name string, flag int, mode fs.FileMode) (*os.File, error) {
	fd, err := openat(p.at, filepath.Base(name), flag|unix.O_NOFOLLOW, uint32(mode.Perm()))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	var is unix.Stat_t
	if unix.Fstat(fd, &is) == nil && is.Mode&unix.S_IFMT == unix.S_IFIFO {
		_ = syscall.SetNonblock(fd, true) // a write can then be given up
	}
	f := os.NewFile(uintptr(fd), name)
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		if trap := planted(p.lstat, ".", name, info); trap != nil {
			err = &fs.PathError{Op: "open", Path: name, Err: trap}
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (p pinned) lstat(name string) (fs.FileInfo, error) {
	fd, err := openat(p.at, filepath.Base(name), unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return f.Stat()
}

func (p pinned) remove(name string) error {
	if err := unix.Unlinkat(p.at, filepath.Base(name), 0); err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	return nil
}

func (p pinned) rename(from, to string) error {
	if err := unix.Renameat(p.at, filepath.Base(from), p.at, filepath.Base(to)); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

func (p pinned) list(dir string) ([]os.DirEntry, error) {
	fd, err := openat(p.at, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: cmp.Or(dir, "."), Err: err}
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	return f.ReadDir(-1)
}

func (p pinned) close() { _ = unix.Close(p.at) } // an error loses nothing
