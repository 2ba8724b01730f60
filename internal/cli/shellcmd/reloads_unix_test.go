//go:build unix

package shellcmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/shell"
)

// said collects what a process writes, for other goroutines.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// await waits until a text was written.
func (s *said) await(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		all := s.text.String()
		s.mu.Unlock()
		if strings.Contains(all, text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q is not in %q", text, all)
		}
	}
}

// SIGHUP reads the files of a server again; a wrong file changes nothing, and is said.
func TestReloads(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(tokens, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ann correct-horse\n")
	var out said
	s, err := shell.Listen(shell.Options{Unix: filepath.Join(dir, "socket"), TokenFile: tokens, DumpDir: filepath.Join(dir, "dumps")}, shell.Host{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { // closes its socket
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = s.Serve(ctx, nil) // "context canceled"
	}()
	defer host{core.Env{Stderr: &out}}.reloads(s)()
	for _, step := range [][2]string{
		{"ann correct-horse\nbob hunter2hunter2\n", "SIGHUP: the token file and the team file are read again\n"},
		{"ann short\n", "tokens:1: the token of ann is shorter than 8 characters; choose a longer one; nothing has changed\n"},
	} {
		write(step[0])
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		out.await(t, step[1])
	}
}
