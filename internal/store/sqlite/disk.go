package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/taktload/takt/internal/outfile"
)

// noRoom reports whether err says that the disk, or the user's part of it, is full.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// roomFor writes so much as SQLite writes beside the database when it opens one. SQLite
// cannot tell a full disk from a read-only one: without its files the database is
// read-only for it.
const roomFor = 64 << 10

// diskFull is the error of writing into the folder of the database when there is no room;
// nil: there is, or something else is wrong.
func diskFull(path string) error {
	f, err := outfile.Unfinished(filepath.Dir(path))
	if err == nil {
		_, err = f.Write(make([]byte, roomFor))
		_ = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	var errno syscall.Errno
	if noRoom(err) && errors.As(err, &errno) {
		return errno
	}
	return nil
}

// notAFile is the fault of a path at which there is something else than a file. SQLite
// would read a pipe, and wait for ever.
func notAFile(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().IsRegular() {
		return nil // if there is nothing, the file is made
	}
	kind := "device"
	switch mode := info.Mode(); {
	case mode.IsDir():
		kind = "directory"
	case mode&fs.ModeNamedPipe != 0:
		kind = "named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "socket"
	}
	return fmt.Errorf("it is a %s", kind)
}
