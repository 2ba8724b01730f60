//go:build unix

package http

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file that a scenario names is no pipe, for which takt would wait, and no device.
func TestScenarioWaitsForNoPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, os.DevNull} {
		for _, line := range []string{"@" + name, "@file a " + name, `@body {{file "` + name + `" 1}}`} {
			wantFault(t, "POST /a\n"+line+"\n", "it is a pipe or a device")
		}
	}
}
