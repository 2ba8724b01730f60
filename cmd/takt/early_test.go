//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// SIGQUIT stops a run with the exit code that docs/exit-codes.md promises, also when it comes while Go
// still initializes packages. GODEBUG=inittrace=1 shows when that is: each line is a package.
func TestSignalBeforeMain(t *testing.T) {
	const early = "init github.com/taktload/takt/cmd/takt/early "
	target := httptest.NewServer(http.NotFoundHandler())
	defer target.Close()
	for _, at := range []string{early, "init net/http "} {
		cmd := exec.Command("takt", "http", "--rate", "1/s", "-z", "1h", "--no-store", target.URL) // testscript has put this binary into PATH
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		said, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var rest bytes.Buffer
		before, sent := 0, false
		for lines := bufio.NewScanner(said); lines.Scan(); {
			text := lines.Text()
			switch {
			case strings.HasPrefix(text, at):
				sent = true
				if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil {
					t.Error(err)
				}
			case strings.HasPrefix(text, "init "):
				if !sent {
					before++
				}
			default:
				rest.WriteString(text + "\n")
			}
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 131 || !sent || strings.Contains(rest.String(), "goroutine") {
			t.Errorf("%s: sent %v, %v, %.500s", at, sent, err, rest.String())
		}
		if at == early && before > 60 { // of 200
			t.Errorf("%d packages are initialized before the signals are caught", before)
		}
	}
}
