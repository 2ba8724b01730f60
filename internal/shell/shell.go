// Package shell is takt behind a socket: people and scripts send commands by telnet. Load
// jobs wait in one queue for all sessions, and each user has their own definitions. Jobs run
// through functions of the caller.
package shell

import (
	"context"
	"io"

	"github.com/taktload/takt/pkg/takt"
)

// Call is one command line of takt to run.
type Call struct {
	Args []string  // without the program's name; may contain secrets
	Env  []string  // NAME=VALUE, on top of the server's own environment
	Dir  string    // working directory, for relative file names
	Out  io.Writer // gets standard error, and standard output unless Report does
	// Plain removes everything that could be a secret from the server's environment.
	Plain bool
	// Configs are those of the plan of Args.
	Configs []string
	// Reaches are the machines that the command may connect to, as package reach reads them.
	Reaches []string
	// Report gets standard output, if it is not nil.
	Report io.Writer
	// Live gets the run while it goes on, and what the command is refused, as lines of package live, if it is
	// not nil.
	Live io.Writer
}

// Run runs a command line and returns its exit code. The end of the context stops the
// command gracefully, closing abort stops it at once.
type Run func(ctx context.Context, abort <-chan struct{}, c Call) int

// Plan is what a command line will do.
type Plan struct {
	Shown   []string // the command line to show: without secrets
	Secret  bool     // the command line contains a secret
	Configs []string // which config files it names, for its Call: the host knows them by that
}

// Rules limit a command line of a session.
type Rules struct {
	Allow func(host string) bool // reports whether it may load a host or host:port; nil: all
	Own   bool                   // the session is of takt's own user or root
	Look  bool                   // it may write no files
	Named []Named                // the names of targets in the command line whose URLs have passwords
}

// Named is a name of a team's target, and its URL, whose password a session may use, and not see.
type Named struct{ Name, URL string }

// Host is the program that the shell is part of.
type Host struct {
	Run      Run
	Confine  func(dir string) (free func(), err error)               // confines this process to the files below dir, for Plan; nil: nothing does
	Save     func(ctx context.Context, c Call, r *takt.Report) error // stores r where a job with the environment of c would
	Plan     func(args []string, r Rules) (Plan, error)              // checks a command line; the error has every fault
	Settings func(file, text string) ([]Setting, error)              // reads a text in the format of config files
	Flags    func(line []string) []string                            // flags of the command that a line begins with, as --rate; nil: no completion of flags
	Version  string
	Docker   string // the container engine, as in DOCKER_HOST; "": the default one
	Program  string // path of this program, which must have the command sandbox.Entry; "": no sandbox
	GoPath   string // the value of GOPATH; "": unknown
}
