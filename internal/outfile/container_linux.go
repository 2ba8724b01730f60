package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// hinted adds to the error of opening path what to do about it in a container: a mounted folder
// belongs to a user of the host, who is not the user of the image.
func hinted(path string, err error) error {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} { // of Docker, of Podman
		if _, missing := os.Lstat(mark); missing == nil {
			return hintedFor(os.Geteuid(), path, err)
		}
	}
	return err
}

// hintedFor is hinted in a container whose user is uid. Without another owner --user would not help.
func hintedFor(uid int, path string, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	place := path
	info, bad := os.Stat(place) // a mounted file has an owner of its own
	if bad != nil {
		place = filepath.Dir(path)
		info, bad = os.Stat(place)
	}
	if bad != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) == uid {
		return err
	}
	return fmt.Errorf("%w: %s belongs to user %d, and takt is user %d in this container; run the container with --user $(id -u):$(id -g), and mount a folder of yours", err, place, owner.Uid, uid)
}
