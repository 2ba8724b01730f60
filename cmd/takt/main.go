// Command takt is a load generator that tells the truth about what users feel.
package main

import (
	"os"

	"github.com/taktload/takt/internal/cli"
)

func main() {
	interrupt, abort := cli.Signals()
	stdout := cli.NewStdout(os.Stdout)
	code := cli.Main(cli.Env{
		Stdin: os.Stdin, Stdout: stdout, Stderr: os.Stderr, Getenv: os.Getenv, Environ: os.Environ, Executable: os.Executable,
		Interrupt: interrupt, Abort: abort,
	}, os.Args[1:])
	os.Exit(stdout.Exit(code, os.Stderr))
}
