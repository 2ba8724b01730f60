// Command takt is a load generator that tells the truth about what users feel.
package main

import (
	"io"
	"log"
	"os"

	"github.com/taktload/takt/cmd/takt/early"
	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/reach"
)

func main() {
	log.SetOutput(io.Discard) // net/http writes there what a server sends, a line for each connection; takt's errors say it
	interrupt, abort := core.Signals(early.Signals)
	files.Until(interrupt)
	stdout := core.NewStdout(os.Stdout)
	code := cli.Main(core.Env{
		Stdin: os.Stdin, Stdout: stdout, Stderr: os.Stderr, Getenv: os.Getenv, Environ: os.Environ, Executable: os.Executable, Confine: files.Confine, Restrict: reach.Confine,
		Programs:  func(string) bool { return true }, // the user named it
		Interrupt: interrupt, Abort: abort, Quit: core.Quit,
	}, os.Args[1:])
	os.Exit(stdout.Exit(code, os.Stderr))
}
