//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Sandbox confines commands. nil confines nothing.
type Sandbox struct {
	options Options
	uid     int // of the programs
	gid     int
	root    bool // takt is root, so the programs get a user of their own
	group   *group

	mu   sync.Mutex
	maps map[owner]*os.File // user namespaces that map an owner of files to the user of the programs
}

// New returns a sandbox, after a program ran in one. The error says what this machine lacks.
func New(o Options) (*Sandbox, error) {
	o.Home, o.Tasks = realPath(o.Home), cmp.Or(o.Tasks, defaultTasks)
	s := &Sandbox{options: o, uid: os.Getuid(), gid: os.Getgid(), root: os.Geteuid() == 0, maps: map[owner]*os.File{}}
	if err := s.choose(); err != nil {
		return nil, err
	}
	s.group = newGroup(cmp.Or(o.Memory, defaultMemory()), o.CPU, s.options.Tasks)
	probe := filepath.Join(o.Home, "probe")
	err := s.own(probe)
	if err == nil {
		err = s.Check(probe)
	}
	if err != nil {
		_ = s.Close() // the first error is the cause
		return nil, err
	}
	return s, nil
}

// The numbers that systemd uses for users who exist only while a service runs.
const (
	firstFree = 61184
	lastFree  = 65519
)

// choose sets the user of the programs.
func (s *Sandbox) choose() error {
	switch {
	case !s.root && s.options.User != "":
		return errors.New("only root can start programs as another user; leave out --sandbox-user, or run takt as root")
	case !s.root:
		return nil
	case s.options.User != "":
		u, err := user.Lookup(s.options.User)
		if err != nil {
			u, err = user.LookupId(s.options.User)
		}
		if err != nil {
			return fmt.Errorf("no user %s; create the user, or leave out --sandbox-user", s.options.User)
		}
		s.uid, _ = strconv.Atoi(u.Uid) // numbers on Linux
		s.gid, _ = strconv.Atoi(u.Gid)
		if s.uid == 0 {
			return errors.New("--sandbox-user is root; give a user without rights")
		}
		return nil
	}
	for n := range lastFree - firstFree + 1 {
		id := firstFree + (os.Getpid()+n)%(lastFree-firstFree+1)
		_, errUser := user.LookupId(strconv.Itoa(id))
		_, errGroup := user.LookupGroupId(strconv.Itoa(id))
		if errUser != nil && errGroup != nil {
			s.uid, s.gid = id, id
			return nil
		}
	}
	return errors.New("no free user number; give --sandbox-user")
}

// Close removes the control groups.
func (s *Sandbox) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.maps {
		_ = f.Close() // loses nothing
	}
	clear(s.maps)
	return s.group.remove()
}

// String says what confines the programs.
func (s *Sandbox) String() string {
	who := "takt's user number, without rights, in a user namespace"
	if s.root {
		who = fmt.Sprintf("the user %d", s.uid)
	}
	return fmt.Sprintf("as %s, with files, processes and IPC of their own; the network is not confined; %s", who, s.group)
}

// Unlimited lists the limits that the options give, and that takt may not set here.
func (s *Sandbox) Unlimited() (names []string) {
	if s.options.Memory > 0 && s.group.memory == 0 {
		names = append(names, "memory")
	}
	if s.options.CPU > 0 && s.group.cpu == 0 {
		names = append(names, "CPU")
	}
	return names
}

// Check runs a program in the sandbox of that folder, which does nothing.
func (s *Sandbox) Check(dir string) error {
	cmd := exec.Command("true")
	var said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
	if err := s.Confine(cmd, Folder{Dir: dir}); err != nil {
		return err
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		return s.explain(err)
	}
	text := strings.TrimPrefix(strings.TrimSpace(said.String()), "takt: the sandbox cannot be set up: ")
	return s.explain(errors.New(cmp.Or(text, err.Error())))
}

// explain adds what to do to an error of a start in new namespaces.
func (s *Sandbox) explain(err error) error {
	const sysctls = "sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns"
	refused := false
	for _, e := range []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.ENOSPC, syscall.EUSERS} {
		refused = refused || errors.Is(err, e) || err != nil && strings.HasSuffix(err.Error(), ": "+e.Error()) // the process in the namespaces can only print it
	}
	switch {
	case !refused:
		return err
	case s.root:
		return fmt.Errorf("the kernel does not let takt set up namespaces: %w; in a container, give takt CAP_SYS_ADMIN; else allow user namespaces (%s)", err, sysctls)
	}
	return fmt.Errorf("the kernel does not let ordinary users set up namespaces: %w; allow user namespaces (%s), or run takt as root", err, sysctls)
}

// Confine changes a command so that it runs in the sandbox. It sets the command's environment,
// folder and input; the caller sets its output, and starts it.
func (s *Sandbox) Confine(cmd *exec.Cmd, f Folder) error {
	if s == nil {
		return nil
	}
	home, err := s.homeOf(f.Dir)
	if err != nil {
		return err
	}
	p := plan{Args: cmd.Args, Dir: realPath(f.Dir), Scratch: home, UID: -1, GID: -1, Tasks: s.options.Tasks}
	if s.root {
		p.UID, p.GID = s.uid, s.gid
	}
	if p.Groups, err = s.group.join(); err != nil {
		return err
	}
	cmd.ExtraFiles = nil
	if p.Binds, err = s.binds(p.Dir, home, f.Fixed, &cmd.ExtraFiles); err != nil {
		return err
	}
	p.Hide = s.hidden(p.Dir)
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	cmd.Path, cmd.Args, cmd.Err = s.options.Program, []string{"takt", Entry}, nil
	cmd.Dir, cmd.Env = "/", append(environ(cmd.Environ()), "PWD="+p.Dir)
	cmd.Stdin = bytes.NewReader(text)
	cmd.SysProcAttr = s.namespaces()
	return nil
}

// namespaces are the kernel's views that a program gets for itself. Without root, a user namespace
// comes first: in it the setup has the rights that it needs.
func (s *Sandbox) namespaces() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS}
	if !s.root {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: s.uid, HostID: s.uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: s.gid, HostID: s.gid, Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP} // else the setup would lose them: it is not user 0 there
	}
	return a
}

// homeOf is the home of the programs of a folder, which keeps their caches.
func (s *Sandbox) homeOf(dir string) (string, error) {
	sum := sha256.Sum256([]byte(realPath(dir)))
	home := filepath.Join(s.options.Home, hex.EncodeToString(sum[:8]))
	return home, s.own(home)
}

// own creates a folder of takt for the programs. A user that --sandbox-user names has the same number
// next time, so the folder can be this user's: then no owner has to be mapped.
func (s *Sandbox) own(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil || s.options.User == "" {
		return err
	}
	return os.Chown(dir, s.uid, s.gid)
}

// binds are all files that a program sees; extra receives the descriptors that they need.
func (s *Sandbox) binds(dir, home string, fixed []string, extra *[]*os.File) (all []bind, err error) {
	seen := append(systemPaths(), s.options.See...)
	if root := os.Getenv("GOROOT"); root != "" {
		seen = append(seen, root)
	}
	for _, path := range seen {
		all = append(all, bind{From: path, To: path})
	}
	for _, b := range []bind{{From: home, To: sandboxHome, Write: true}, {From: dir, To: dir, Write: true}} {
		if b.Map, err = s.mapOf(b.From, extra); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	for _, name := range fixed {
		b := bind{From: filepath.Join(dir, name), To: filepath.Join(dir, name), Map: all[len(all)-1].Map}
		info, err := os.Lstat(b.From)
		switch {
		case err != nil: // is not there
		case info.Mode().Type() == os.ModeSymlink:
			return nil, fmt.Errorf("%s is a link, which the sandbox cannot protect; put a folder there", b.From)
		default:
			all = append(all, b)
		}
	}
	return all, nil
}

// systemPaths are what programs of the system need. Of /etc they see only files without secrets.
func systemPaths() []string {
	return append(strings.Fields(`/usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix/store /gnu/store`), strings.Fields(`/etc/passwd /etc/group /etc/nsswitch.conf
		/etc/hosts /etc/host.conf /etc/resolv.conf /etc/gai.conf /etc/protocols /etc/services /etc/localtime /etc/timezone /etc/os-release
		/etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/alternatives /etc/ca-certificates /etc/ssl/certs /etc/ssl/openssl.cnf
		/etc/pki/tls /etc/pki/ca-trust /etc/crypto-policies /etc/mime.types /etc/java`)...)
}

// hidden are the paths to cover. A folder that contains the confined folder is not visible anyway,
// but for what leads there.
func (s *Sandbox) hidden(dir string) (all []string) {
	for _, path := range s.options.Hide {
		if path = realPath(path); !isBelow(dir, path) {
			all = append(all, path)
		}
	}
	return all
}

// defaultTasks is enough for make -j on a large machine, and for a server of many threads.
const defaultTasks = 4096

// defaultMemory is three quarters of the machine.
func defaultMemory() int64 {
	var i syscall.Sysinfo_t
	if err := syscall.Sysinfo(&i); err != nil {
		return math.MaxInt64
	}
	return int64(i.Totalram) * int64(i.Unit) / 4 * 3
}
