package shell

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/sandbox"
	"github.com/taktload/takt/internal/value"
)

// Modes of Confinement.
const (
	sandboxAuto    = "auto"
	sandboxOff     = "off"
	sandboxRequire = "require"
)

// Confinement are the settings of the sandbox in which git, make and apm-server of a clone run.
type Confinement struct {
	Mode   string // "": off
	User   string
	See    []string
	Memory int64
	CPU    float64
	Home   string // folder of the programs' homes

	Tasks   int    // limit of processes and threads; 0: 4096
	Reserve uint64 // free bytes that the sandbox leaves on a disk; 0: 1 GiB
}

func (f *Confinement) addFlags(fs *pflag.FlagSet) {
	fs.Var(value.Choice(&f.Mode, sandboxAuto, sandboxOff, sandboxRequire), "sandbox", "run git, make and apm-server of a clone in a sandbox, `auto|off|require`: auto on servers with --token-file, if this machine can; require on every server, or refuse to start")
	fs.Var(value.Text(&f.User), "sandbox-user", "`USER` of programs in the sandbox, if takt is root (default: a free user number)")
	fs.Var(value.List(&f.See), "sandbox-see", "`PATH` outside /usr that programs in the sandbox can read, such as a JDK; repeatable")
	fs.Var(value.Size(&f.Memory), "sandbox-memory", "memory `LIMIT` of the sandbox, such as 8g (default: 3/4 of the machine)")
	fs.Float64Var(&f.CPU, "sandbox-cpu", 0, "limit the sandbox to `N` cores (default: none)")
}

func (f *Confinement) check(faults *value.Faults) {
	faults.If(f.Mode == sandboxOff && (f.User != "" || len(f.See) > 0 || f.Memory > 0 || f.CPU > 0), "--sandbox off has no user, paths or limits; leave out --sandbox-…")
	faults.If(!(f.CPU >= 0 && f.CPU <= 1<<20), "--sandbox-cpu is %g; give a number of cores, such as 0.5", f.CPU)
	faults.If(f.Memory < 0, "--sandbox-memory is negative; give a size such as 8g")
	for _, path := range f.See {
		_, err := os.Stat(path)
		faults.If(err != nil || !strings.HasPrefix(path, "/"), "--sandbox-see %s: give the absolute path of a file or folder that exists", path)
	}
}

// confines reports whether checkouts are to run in a sandbox, if the machine can.
func (o *Options) confines() bool {
	named := len(o.Folders) > 0 || o.Team != "" // else sessions with a token have no checkouts
	return o.Sandbox.Mode == sandboxRequire || o.Sandbox.Mode == sandboxAuto && o.TokenFile != "" && named
}

// openSandbox tries the sandbox, also with each folder that exists. Without it, a server that requires it does
// not start, and another one says so.
func (s *Server) openSandbox() error {
	if !s.options.confines() {
		return nil
	}
	err := errors.New("takt does not know its own program")
	if s.host.Program != "" {
		s.box, err = sandbox.New(s.options.sandbox(s.host.Program))
	}
	must := s.options.Sandbox.Mode == sandboxRequire
	if err != nil {
		if must {
			return fmt.Errorf("there is no sandbox here: %w; or give --sandbox off", err)
		}
		if len(s.now().Folders) == 0 {
			return nil
		}
		s.boxNotes = []string{fmt.Sprintf("checkouts are not confined, and their code has all rights of this user: %v; give --sandbox off to accept that, or leave out --apm-folder", err)}
		return nil
	}
	if err := s.limited(s.box.Unlimited()); err != nil {
		return err
	}
	folders := s.now().Folders
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		if _, err := os.Stat(folders[name]); err != nil {
			continue // apm use says so
		}
		if err := s.box.Check(folders[name]); err != nil && must {
			return fmt.Errorf("the folder %s has no sandbox: %w", name, err)
		} else if err != nil {
			s.boxNotes = append(s.boxNotes, fmt.Sprintf("the folder %s cannot be used: %v; or give --sandbox off", name, err))
		}
	}
	return nil
}

// limited says that the sandbox lacks limits which somebody gave. A server that requires the sandbox
// does not start without them.
func (s *Server) limited(lacking []string) error {
	if len(lacking) == 0 {
		return nil
	}
	text := fmt.Sprintf("the %s of the sandbox cannot be limited, because takt may not create control groups here; leave out --sandbox-memory and --sandbox-cpu, or run takt where it may", strings.Join(lacking, " and the "))
	if s.options.Sandbox.Mode == sandboxRequire {
		return errors.New(text)
	}
	s.boxNotes = append(s.boxNotes, text)
	return nil
}

// folderNotes say which named folders cannot be used now. The owner may yet create them.
func (s *Server) folderNotes() (notes []string) {
	all := s.now().Folders
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, err := os.Stat(all[name]); err != nil {
			notes = append(notes, fmt.Sprintf("the folder %s cannot be used: %v; create it, or correct --apm-folder", name, err))
		} else if _, err := os.Stat(filepath.Join(all[name], ".git")); err != nil {
			notes = append(notes, fmt.Sprintf("the folder %s is not a git clone: %s; apm use %s will refuse it", name, all[name], name))
		}
	}
	return notes
}

// sandbox are the options of the sandbox. Whatever belongs to the server is hidden.
func (o *Options) sandbox(program string) sandbox.Options {
	return sandbox.Options{
		Program: program, Home: o.Sandbox.Home, User: o.Sandbox.User, See: o.Sandbox.See, Memory: o.Sandbox.Memory, CPU: o.Sandbox.CPU,
		Tasks: o.Sandbox.Tasks, Reserve: o.Sandbox.Reserve,
		Hide: o.ownPaths(),
	}
}

// ownPaths are the files and folders of the server.
func (o *Options) ownPaths() []string {
	all := append([]string{o.TokenFile, o.Team, o.Cert, o.Key, o.AuditLog, o.Unix, o.DumpDir, o.StateDir, o.Store}, o.Homes...)
	return slices.DeleteFunc(all, func(path string) bool { return path == "" || strings.Contains(path, "://") })
}

// confinable refuses a folder that contains what belongs to the server. A sandbox can cover a file
// there, but the code could rename the folder above the file, and put another one in its place.
func (s *Server) confinable(folder string) error {
	if !s.options.confines() {
		return nil
	}
	for _, path := range append(s.options.ownPaths(), s.options.Sandbox.Home, s.host.Program) {
		if path != "" && leadsThrough(path, folder) {
			return fmt.Errorf("takt's own %s is in the folder %s, whose code could replace it; move it, set XDG_STATE_HOME, XDG_DATA_HOME and XDG_CACHE_HOME to folders elsewhere, or give --sandbox off", path, folder)
		}
	}
	return nil
}

// confinables is confinable for all named folders.
func (s *Server) confinables(all folders) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := s.confinable(all[name]); err != nil {
			faults = append(faults, fmt.Errorf("--apm-folder %s: %w", name, err))
		}
	}
	return errors.Join(faults...)
}

// leadsThrough reports whether a path is in a folder, or leads through it by links: whoever can
// change the folder can change where the path leads.
func leadsThrough(path, folder string) bool {
	path, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	folder = realPath(folder)
	for ; ; path = filepath.Dir(path) {
		if isBelow(realPath(path), folder) {
			return true
		}
		if path == filepath.Dir(path) {
			return false
		}
	}
}

// saySandbox says what confines checkouts.
func (c *session) saySandbox() {
	switch s := c.server; {
	case s.box != nil:
		c.say("Checkouts run in a sandbox: " + s.box.String())
	case s.options.confines():
		c.say("Checkouts run without a sandbox: this machine has none, as the server's output says")
	}
}
