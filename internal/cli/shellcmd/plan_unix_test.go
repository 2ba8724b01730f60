//go:build unix

package shellcmd

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/taktload/takt/internal/shell"
)

// A session names no pipe: takt would wait for the other end, and the session with it.
func TestNoPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := &confined{rules: shell.Rules{Dir: dir}}
	if _, err := k.below("pipe"); err == nil || !strings.Contains(err.Error(), "a pipe or a device") {
		t.Error(err)
	}
	for _, name := range []string{"new", "."} {
		if _, err := k.below(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
