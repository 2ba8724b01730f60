package shell_test

import (
	"os"
	"testing"

	"github.com/taktload/takt/internal/sandbox"
)

// The test binary is also the program that enters a sandbox, and one that tries to leave it.
func TestMain(m *testing.M) {
	if sandbox.IsEntry() {
		os.Exit(sandbox.Run(os.Stdin, os.Stderr))
	}
	if len(os.Args) > 2 && os.Args[1] == probeWord {
		os.Exit(probe(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

// probeWord is the first argument of a test binary that tries to leave a sandbox.
const probeWord = "red-team-probe"
