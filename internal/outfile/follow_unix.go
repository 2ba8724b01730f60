//go:build unix

package outfile

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/taktload/takt/internal/files"
)

// noFollow makes a link at the end of a path an error.
const noFollow = syscall.O_NOFOLLOW

// noWait keeps the opening of a pipe from waiting for its other end.
const noWait = syscall.O_NONBLOCK

// mostLinks is the number of links in a path that Linux follows.
const mostLinks = 40

// Follow returns the path without symbolic links, also if there is no file yet. In a folder where everybody
// may write, as /tmp, it accepts only links and files of takt's user and of the folder's owner: anybody else
// could have made the link to let takt overwrite a file, or the file to read what takt writes. Nor does it accept
// a file there that has another name. This is the rule of Linux's fs.protected_symlinks, protected_hardlinks,
// protected_regular and protected_fifos, which a host may have turned off, also for folders without the sticky bit. In any folder, a link of another user leads only to what that
// user owns. What is not there, and too many links, are left to who
// opens the path.
func Follow(path string) (string, error) {
	return follow(path, files.Lstat, files.Stat, files.Readlink)
}

// FollowOwn is Follow for a path that takt or its user chose, which a process that is confined to a folder
// follows, too.
func FollowOwn(path string) (string, error) { return follow(path, os.Lstat, os.Stat, os.Readlink) }

// everybody is the permission of all users to write.
const everybody = 0o002

// IsShared reports whether everybody may put files beside that one.
func IsShared(path string) bool {
	info, err := os.Stat(filepath.Dir(path))
	return err == nil && info.Mode()&everybody != 0
}

// Replaceable returns the folder above a file in which another user than takt's and root could put another
// file or folder in the place of the one that is there; "": none. Nobody else can where the sticky bit is set.
func Replaceable(path string) string {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	for ; err == nil; dir = filepath.Dir(dir) {
		info, bad := os.Stat(dir)
		if bad != nil {
			return "" // whoever opens the file says why
		}
		owner, known := OwnerOf(info)
		if shared := info.Mode()&everybody != 0 && info.Mode()&fs.ModeSticky == 0; known && (shared || owner != 0 && owner != os.Geteuid()) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
}

type lookUp func(string) (fs.FileInfo, error)

func follow(path string, lstat, stat lookUp, readlink func(string) (string, error)) (string, error) {
	at, rest, links := "", path, 0 // at has no links
	var theirs *plantedError       // the last link of another user, who is not root
	if filepath.IsAbs(path) {
		at = "/"
	}
	for rest != "" {
		name, after, _ := strings.Cut(rest, "/")
		next := filepath.Join(at, name)
		info, err := lstat(cmp.Or(next, "."))
		switch {
		case links > 0 && files.Refusal(err) != nil:
			return "", &fs.PathError{Op: "open", Path: path, Err: files.ErrLink}
		case err != nil || IsOpen(next):
			at, rest = filepath.Join(next, after), ""
			continue
		case info.IsDir():
			at, rest = next, after
			continue
		}
		link := info.Mode()&fs.ModeSymlink != 0
		if trap := planted(stat, cmp.Or(at, "."), next, info); trap != nil {
			return "", &fs.PathError{Op: "open", Path: path, Err: trap}
		}
		if !link {
			at, rest = next, after
			continue
		}
		to, err := readlink(next)
		if links++; err != nil || links > mostLinks {
			return path, nil
		}
		if maker, ok := OwnerOf(info); ok && maker != 0 && maker != os.Geteuid() {
			theirs = &plantedError{path: next, owner: maker, link: true, astray: true}
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = to + "/" + after
	}
	switch {
	case links == 0:
		return path, nil
	case theirs != nil && !belongs(lstat, at, theirs.owner):
		return "", &fs.PathError{Op: "open", Path: path, Err: theirs}
	}
	return at, nil
}

// belongs reports whether a user owns the file at a path without links, or if there is none, its folder:
// then that user could write it without takt.
func belongs(lstat lookUp, path string, user int) bool {
	info, err := lstat(path)
	if err != nil {
		info, err = lstat(cmp.Or(filepath.Dir(path), "."))
	}
	if err != nil {
		return false
	}
	owner, ok := OwnerOf(info)
	return ok && owner == user
}

// OwnerOf is the number of a file's user.
func OwnerOf(info fs.FileInfo) (uid int, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}

// planted returns why a link or a file in a folder may be another user's trap; nil: it is none. Another name of
// a file, which keeps its owner, can be made by everybody where fs.protected_hardlinks is off.
func planted(stat lookUp, folder, path string, it fs.FileInfo) error {
	info, err := stat(folder)
	if err != nil || info.Mode()&everybody == 0 {
		return nil
	}
	owner, ok := OwnerOf(it)
	above, also := OwnerOf(info)
	trap := &plantedError{path: path, owner: owner, link: it.Mode()&fs.ModeSymlink != 0}
	trap.twice = !trap.link && it.Mode().IsRegular() && linked(it)
	if theirs := ok && also && owner != os.Geteuid() && owner != above; !theirs && !trap.twice {
		return nil
	}
	return trap
}
