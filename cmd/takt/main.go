// Command takt is a load generator that tells the truth about what users feel.
package main

import (
	"os"

	"github.com/taktload/takt/internal/cli"
)

func main() {
	interrupt, abort := cli.Signals()
	os.Exit(cli.Main(cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Environ: os.Environ, Executable: os.Executable,
		Interrupt: interrupt, Abort: abort,
	}, os.Args[1:]))
}
