// Package shell is takt behind a socket: people type commands at it by telnet or from
// scripts, load jobs stand in one queue for all of them, and each has definitions of
// their own. It runs jobs through functions that its caller gives it.
package shell

import (
	"context"
	"io"
)

// Call is one command line of takt that is to be run.
type Call struct {
	Args []string  // without the program's name; may hold secrets
	Env  []string  // NAME=VALUE, on top of the server's own environment
	Dir  string    // the folder in which relative names of files are
	Out  io.Writer // gets standard error, and standard output
	// Plain leaves out of the server's environment all that could be a secret.
	Plain bool
	// Report gets standard output instead, unless it is nil.
	Report io.Writer
}

// Run runs a command line and returns its exit code. The context's end asks it to stop
// gracefully, abort to stop at once.
type Run func(ctx context.Context, abort <-chan struct{}, c Call) int

// Plan is what a command line will do.
type Plan struct {
	Args   []string // as they are to be run
	Shown  []string // without secrets
	Secret bool     // Shown leaves something out
}

// Rules are what a command line of a session is held to.
type Rules struct {
	Dir   string                 // all files that it names are below
	Allow func(host string) bool // whether it may load host or host:port; nil: all
	Own   bool                   // the session is of the server's own user
	Look  bool                   // it may write nothing
}

// Host is the program that the shell is part of.
type Host struct {
	Run     Run
	Plan    func(args []string, r Rules) (Plan, error) // checks a command line; the error has every fault
	Version string
	Docker  string // the engine of containers, as in DOCKER_HOST; "": the usual one
	GoPath  string // where Go programs have their sources; "": not known
}
