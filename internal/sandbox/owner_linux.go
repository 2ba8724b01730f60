//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// owner is who owns files on the disk.
type owner struct{ uid, gid int }

// firstExtra is the descriptor of a process's first extra file.
const firstExtra = 3

// mapOf returns the descriptor, in the started process, of the user namespace that shows the owner of
// a folder as the user of the programs: they can change its files, and on the disk the files
// stay the owner's. 0: the programs have that user.
func (s *Sandbox) mapOf(dir string, extra *[]*os.File) (int, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !s.root || int(st.Uid) == s.uid {
		return 0, nil
	}
	f, err := s.mapped(owner{int(st.Uid), int(st.Gid)})
	if err != nil {
		return 0, err
	}
	*extra = append(*extra, f)
	return firstExtra + len(*extra) - 1, nil
}

// mapped returns the namespace that maps an owner.
func (s *Sandbox) mapped(o owner) (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.maps[o]; f != nil {
		return f, nil
	}
	f, err := s.newMap(o)
	if err != nil {
		return nil, s.explain(fmt.Errorf("cannot map the owner of files: %w", err))
	}
	s.maps[o] = f
	return f, nil
}

// newMap starts a process in the namespace, which waits for its plan until the namespace is open.
func (s *Sandbox) newMap(o owner) (f *os.File, err error) {
	cmd := exec.Command(s.options.Program, Entry)
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: o.uid, HostID: s.uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: o.gid, HostID: s.gid, Size: 1}},
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	f, err = os.Open(fmt.Sprintf("/proc/%d/ns/user", cmd.Process.Pid))
	_ = in.Close()
	var exit *exec.ExitError
	if end := cmd.Wait(); err == nil && !errors.As(end, &exit) { // without a plan it fails
		err = end
	}
	return f, err
}
