package door

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/outfile"
)

// maxPrivate limits what takt reads of a token or key file.
const maxPrivate = 1 << 20

// ReadPrivate reads a file of secrets, unless every user of this machine can read it,
// another user can change or replace it, or it has more than 1 MiB, as /dev/zero has.
func ReadPrivate(path string) ([]byte, error) {
	path, err := outfile.FollowOwn(path)
	if err != nil {
		return nil, err
	}
	f, err := files.OpenOwn(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w; takt runs as user %d, so give the file to that user, or in a container run takt as the file's owner with docker run --user", err, os.Geteuid())
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		theirs, _ := Theirs(path, info)
		err = errors.Join(checkPrivate(path, info.Mode()), theirs)
	}
	if err != nil {
		return nil, err
	}
	return files.ReadAll(files.Text(f), path, maxPrivate)
}

// checkPrivate refuses a file that every user can read. It accepts pipes and, as Windows has no such modes,
// all files there.
func checkPrivate(path string, mode fs.FileMode) error {
	if perm := mode.Perm(); mode.IsRegular() && runtime.GOOS != "windows" && perm&0o026 == 0o004 && !isSheltered(path) {
		return fmt.Errorf("%s can be read by every user of this machine, its mode is %04o; run chmod 600 %s", path, perm, path)
	}
	return nil
}

// Theirs returns why another user than takt's and root decides what is in a file, and what to do about it; nil:
// nobody else does. strangers is nil, too, where only the file's group can change it: with umask 002 each user has
// a group without other members. info is of the open file.
func Theirs(path string, info fs.FileInfo) (theirs, strangers error) {
	path, err := outfile.FollowOwn(path)
	if err != nil {
		return err, err
	}
	strangers = cmp.Or(checkMode(path, info.Mode(), 0o002), checkOwner(path, info), checkFolder(path, info))
	return cmp.Or(checkMode(path, info.Mode(), 0o022), strangers), strangers
}

// checkMode refuses a file that those others can change. It accepts what checkPrivate does.
func checkMode(path string, mode, others fs.FileMode) error {
	if perm := mode.Perm(); mode.IsRegular() && runtime.GOOS != "windows" && perm&others != 0 {
		return fmt.Errorf("%s can be changed by others, its mode is %04o; run chmod 600 %s", path, perm, path)
	}
	return nil
}

// checkOwner refuses a file or a named pipe that belongs to another user than takt's or root, because its owner can
// change it whatever its mode is. It accepts what this process got open, as from <(pass show tokens), and a container's
// secrets.
func checkOwner(path string, info fs.FileInfo) error {
	uid, known := outfile.OwnerOf(info)
	if open := outfile.IsOpen(path) && !info.Mode().IsRegular(); !known || open || uid == 0 || uid == os.Geteuid() || isSecretOfContainer(path) {
		return nil
	}
	return fmt.Errorf("%s can be changed by the user %d, to whom it belongs; run chown %d %s", path, uid, os.Geteuid(), path)
}

// checkFolder refuses a file that another user can replace, since the folder allows it.
func checkFolder(path string, info fs.FileInfo) error {
	folder := outfile.Replaceable(path)
	if folder == "" || !info.Mode().IsRegular() || isSecretOfContainer(path) {
		return nil
	}
	return fmt.Errorf("%s can be replaced by another user, who may write in the folder %s; move it to a folder of yours", path, folder)
}

// containerSecrets is where container engines mount secrets: visible only in the container
// that gets them, with the mode 0444, which takt cannot change.
const containerSecrets = "/run/secrets/"

// isSheltered reports whether others cannot reach the file, whatever its own mode is: a
// folder above it is closed to them, or it is a container's secret.
func isSheltered(path string) bool {
	if isSecretOfContainer(path) {
		return true
	}
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// isSecretOfContainer reports whether the file is one, by its path or through a link.
func isSecretOfContainer(path string) bool {
	path, err := filepath.Abs(path)
	if err == nil && !strings.HasPrefix(path, containerSecrets) {
		path, err = filepath.EvalSymlinks(path)
	}
	return err == nil && strings.HasPrefix(path, containerSecrets)
}
