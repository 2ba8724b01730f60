// Package sandbox confines programs that others wrote: own user, own view of files and processes,
// limits. Linux alone has what this needs; elsewhere New refuses.
package sandbox

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Entry is the hidden command that takt uses to start itself in a new namespace, to set the sandbox
// up from within and then to become the confined program.
const Entry = "sandboxed"

// Options are the settings of a sandbox.
type Options struct {
	Program string   // path of this program, which must run Enter for the command Entry
	Home    string   // folder for a home per confined folder, with its caches
	User    string   // name or number of the user, only if takt is root; "": a free number
	See     []string // further files and folders that programs can read
	Hide    []string // files and folders that no program sees, wherever they are
	Memory  int64    // limit in bytes of all programs together; 0: three quarters of the machine
	CPU     float64  // limit in cores; 0: none
	Tasks   int      // limit of processes and threads; 0: 4096
	Reserve uint64   // free bytes of a disk below which takt ends a program; 0: 1 GiB
}

// Limits that no option changes.
const (
	maxFiles    = 65536
	maxFileSize = 16 << 30
)

// bind is a file or a folder that is visible in the sandbox, at the same path or another.
type bind struct {
	From, To string
	Write    bool
	Map      int // descriptor of the user namespace that maps the owner; 0: none
}

// plan says what Enter sets up. It comes from takt through a pipe.
type plan struct {
	Args    []string
	Dir     string
	Scratch string // an existing folder, over which the new root is mounted
	Binds   []bind
	Hide    []string
	Groups  []string // files cgroup.procs to join
	UID     int      // user and group to become; -1: stay
	GID     int
	Tasks   int
}

// Folder is what a command works on.
type Folder struct {
	Dir   string
	Fixed []string // files and folders below Dir that the command cannot change
}

// sandboxHome is HOME within.
const sandboxHome = "/home/sandbox"

// ownVariables are set, or not set, by the sandbox itself: they name folders that are not there.
func ownVariables() []string {
	return strings.Fields(`HOME USER LOGNAME SHELL PWD TMPDIR XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR XDG_STATE_HOME
		GOPATH GOBIN GOCACHE GOMODCACHE GOTMPDIR GOENV GOWORK SSH_AUTH_SOCK GIT_SSH GIT_SSH_COMMAND`)
}

// environ is the environment within, of one outside. The configuration of git in the home, which a
// program may have written, does not apply.
func environ(outside []string) (inside []string) {
	own := ownVariables()
	for _, v := range outside {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains(own, name) {
			inside = append(inside, v)
		}
	}
	return append(inside, "HOME="+sandboxHome, "USER=sandbox", "LOGNAME=sandbox", "GIT_CONFIG_GLOBAL=/dev/null")
}

// isBelow reports whether an absolute path is in the folder, or is the folder.
func isBelow(path, folder string) bool {
	inside, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(inside)
}

// realPath is the path without symbolic links, or the path itself if it does not exist.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}

// Run is the program that Entry starts: it becomes the confined program, or says why it cannot.
// It does not return without an error.
func Run(in io.Reader, complain io.Writer) int {
	err := Enter(in)
	fmt.Fprintf(complain, "takt: the sandbox cannot be set up: %v\n", err)
	return failed
}

// failed is the exit code of Entry without a sandbox. A confined program may have it, too.
const failed = 125

// IsEntry reports whether a process was started to enter a sandbox.
func IsEntry() bool { return len(os.Args) == 2 && os.Args[1] == Entry }
