//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The new root is a tmpfs, with nothing in it but what the plan names. Copies of mounts are opened
// first: the tmpfs may cover where they are.

// view replaces the files that this process sees.
func (p *plan) view() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot detach from the mounts of the system: %w", err)
	}
	trees := make([]int, len(p.Binds))
	for i := range p.Binds {
		var err error
		if trees[i], err = p.Binds[i].open(); err != nil {
			return err
		}
	}
	devices, err := openDevices()
	if err != nil {
		return err
	}
	root := p.Scratch
	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=1m"); err != nil {
		return fmt.Errorf("cannot mount a new root: %w", err)
	}
	if err := mountOwn(root, devices); err != nil {
		return err
	}
	for i, b := range p.Binds {
		if err := b.attach(root, trees[i]); err != nil {
			return fmt.Errorf("cannot show %s: %w", b.To, err)
		}
	}
	if err := enterRoot(root); err != nil {
		return err
	}
	for _, path := range p.Hide {
		if err := hide(path); err != nil {
			return fmt.Errorf("cannot hide %s: %w", path, err)
		}
	}
	return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// noTree is the result of open for a path that does not exist, or is a link.
const noTree = -1

// open copies the mounts at a path, with no more rights than the bind has.
func (b *bind) open() (int, error) {
	if link, err := os.Readlink(b.From); err == nil && filepath.Dir(b.From) == "/" && !filepath.IsAbs(link) { // /bin -> usr/bin
		return noTree, nil
	}
	tree, err := unix.OpenTree(unix.AT_FDCWD, b.From, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !b.Write:
		return noTree, nil
	case errors.Is(err, unix.ENOSYS):
		return noTree, errors.New("the sandbox needs Linux 5.12 or later")
	case err != nil:
		return noTree, fmt.Errorf("cannot show %s: %w", b.From, err)
	}
	a := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if !b.Write {
		a.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if b.Map > 0 {
		a.Attr_set |= unix.MOUNT_ATTR_IDMAP
		a.Userns_fd = uint64(b.Map)
	}
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &a)
	if err != nil && b.Map > 0 {
		return noTree, fmt.Errorf("the file system of %s cannot map owners (%w); give --sandbox-user USER, and make this user the owner of the folder", b.From, err)
	}
	return tree, err
}

// attach puts a tree into the new root, or a link as it is.
func (b *bind) attach(root string, tree int) error {
	to := filepath.Join(root, b.To)
	if tree == noTree {
		if link, err := os.Readlink(b.From); err == nil && !filepath.IsAbs(link) {
			return os.Symlink(link, to)
		}
		return nil
	}
	if err := mountpoint(tree, to); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", unix.AT_FDCWD, to, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// mountpoint creates the file or folder that a tree covers.
func mountpoint(tree int, to string) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(tree, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return os.MkdirAll(to, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// deviceNames are the devices that every program may use.
func deviceNames() []string { return []string{"null", "zero", "full", "random", "urandom"} }

// openDevices copies the mounts of devices: a user namespace cannot create devices.
func openDevices() (trees []int, err error) {
	for _, name := range deviceNames() {
		tree, err := unix.OpenTree(unix.AT_FDCWD, "/dev/"+name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return nil, fmt.Errorf("cannot show /dev/%s: %w", name, err)
		}
		trees = append(trees, tree)
	}
	return trees, nil
}

// mountOwn mounts what each sandbox has for itself: processes, devices, temporary files. It limits
// temporary files, which are in memory.
func mountOwn(root string, devices []int) error {
	for _, m := range []struct {
		to, kind, data string
		flags          uintptr
	}{
		{"proc", "proc", "", unix.MS_NOEXEC},
		{"tmp", "tmpfs", "mode=1777,size=25%", 0},
		{"dev", "tmpfs", "mode=755,size=64k", unix.MS_NOEXEC},
		{"dev/shm", "tmpfs", "mode=1777,size=64m", unix.MS_NOEXEC},
	} {
		to := filepath.Join(root, m.to)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, to, m.kind, unix.MS_NOSUID|unix.MS_NODEV|m.flags, m.data); err != nil {
			return fmt.Errorf("cannot mount a new /%s: %w", m.to, err)
		}
	}
	for i, name := range deviceNames() {
		if err := (&bind{To: "/dev/" + name}).attach(root, devices[i]); err != nil {
			return fmt.Errorf("cannot show /dev/%s: %w", name, err)
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink(to, filepath.Join(root, "dev", name)); err != nil {
			return err
		}
	}
	return nil
}

// enterRoot makes root the root of this process, and lets go of the old one.
func enterRoot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("cannot change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil { // the old root is above the new one
		return fmt.Errorf("cannot leave the old root: %w", err)
	}
	return os.Chdir("/")
}

// hide covers a path, if it is visible.
func hide(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil // is not visible
	case info.IsDir():
		return unix.Mount("tmpfs", path, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "mode=0,size=4k")
	}
	return unix.Mount("/dev/null", path, "", unix.MS_BIND, "")
}
