//go:build unix

package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/target"
)

// A log may be a named pipe, as <(ssh host tail -f access.log) is one: the first signal
// ends the wait for somebody to open it, and for its first line.
func TestSignalEndsPipe(t *testing.T) {
	url := serve(t, target.Options{})
	for _, opened := range []bool{false, true} {
		for name, args := range map[string]func(log string) []string{
			"trace":  func(log string) []string { return []string{"trace", "stats", log} },
			"replay": func(log string) []string { return []string{"replay", "--tps", "10", log, url} },
		} {
			log := filepath.Join(t.TempDir(), "log")
			if err := syscall.Mkfifo(log, 0o600); err != nil {
				t.Fatal(err)
			}
			if opened {
				f, err := os.OpenFile(log, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(100*time.Millisecond, func() { cancel(&core.SignalError{Number: 2}) })
			ended := make(chan int, 1)
			var errs bytes.Buffer
			go func() {
				ended <- Main(core.Env{Stdout: io.Discard, Stderr: &errs, Getenv: func(string) string { return "" }, Interrupt: ctx}, args(log))
			}()
			select {
			case code := <-ended:
				if code != 130 {
					t.Errorf("%s, opened %v: exit code %d: %s", name, opened, code, &errs)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s, opened %v: a signal did not end it", name, opened)
			}
			if f, err := os.OpenFile(log, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // whoever waits in open goes on
				_ = f.Close()
			}
		}
	}
}
