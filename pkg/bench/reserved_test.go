package bench

import (
	"flag"
	"io"
	"os"
	"testing"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/program"
)

// Every flag of Main is reserved: a program's own flag of the same name would panic.
func TestMainsFlagsAreReserved(t *testing.T) {
	own := flag.NewFlagSet("x", flag.ContinueOnError)
	own.SetOutput(io.Discard)
	m := mainProgram{flags: own, name: "x", stdout: os.Stdout, stderr: os.Stderr}
	m.define(&mainSettings{engine: engine.Defaults()}).VisitAll(func(f *pflag.Flag) {
		if !program.Reserved(f.Name) {
			t.Errorf("--%s is not reserved", f.Name)
		}
	})
}
