//go:build unix

package outfile

import (
	"os"
	"syscall"
)

// linked reports whether the file has more names, which would keep the old content.
func linked(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return !ok || s.Nlink > 1
}

// become gives f the owner and the permissions of the file that it replaces.
func become(f *os.File, old os.FileInfo) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	is, want := info.Sys().(*syscall.Stat_t), old.Sys().(*syscall.Stat_t)
	if is.Uid != want.Uid || is.Gid != want.Gid {
		if err := f.Chown(int(want.Uid), int(want.Gid)); err != nil {
			return err
		}
	}
	return f.Chmod(old.Mode())
}
