package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/drivertest"
)

// Nobody writes to standard input; the first signal ends the wait for it, before the
// run and during it.
func TestSignalEndsStdin(t *testing.T) {
	url := serve(t, target.Options{})
	for name, c := range map[string]struct {
		first string
		args  []string
	}{
		"body":           {"", []string{"http", "-D", "-", "-n", "1", url}},
		"targets":        {"", []string{"http", "--targets", "-", "--rate", "10/s", url}},
		"further target": {"GET /\n\n", []string{"http", "--targets", "-", "--rate", "100/s", "-z", "1h", url}},
		"log":            {"", []string{"trace", "stats", "-"}},
		"further line":   {"GET /\n", []string{"trace", "stats", "-"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := io.Pipe()
			defer w.Close()
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				if c.first != "" {
					_, _ = io.WriteString(w, c.first) // returns when takt has read it
					time.Sleep(time.Second)           // a busy machine is slow to send what it read
				}
				time.Sleep(200 * time.Millisecond)
				cancel(&core.SignalError{Number: 2})
			}()
			var out, errs bytes.Buffer
			code := Main(core.Env{Stdin: r, Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Interrupt: ctx}, c.args)
			if code != 130 {
				t.Errorf("exit code %d: %s", code, &errs)
			}
			if c.first != "" && !strings.Contains(out.String(), "1 ok + 0 failed") && !strings.Contains(out.String(), "\nrequests    1\n") {
				t.Errorf("%s", &out)
			}
		})
	}
}

// A slow list is neither the generator's fault nor the target's. The list is up to 700 ms late. Beside
// answers of 1 s the generator itself may be 100 ms late before a run is invalid: where that is too little
// for a busy machine, answers take longer.
func TestSlowList(t *testing.T) {
	for _, mode := range []string{"loop", "worker"} {
		drivertest.Slowly(time.Second, func(service time.Duration) (again bool) {
			code, out, errs := slowList(t, mode, serve(t, target.Options{Service: service.String()}))
			if service < drivertest.Longest && strings.Contains(out, "INVALID") && strings.Contains(out, "waited for a core") {
				return true
			}
			if code != 0 || !strings.Contains(out, "20 ok + 0 failed") || !strings.Contains(out, "[list_late]") ||
				!strings.Contains(out, "[list_ended]") || strings.Contains(out, "INVALID") {
				t.Errorf("%s: exit code %d: %s%s", mode, code, out, errs)
			}
			return false
		})
	}
}

// slowList loads url from a list that has an operation every 40 ms.
func slowList(t *testing.T, mode, url string) (code int, out, errs string) {
	r, w := io.Pipe()
	go func() {
		for range 20 {
			_, _ = io.WriteString(w, "GET /\n\n")
			time.Sleep(40 * time.Millisecond)
		}
		w.Close()
	}()
	var stdout, stderr bytes.Buffer
	code = Main(core.Env{Stdin: r, Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }, Interrupt: t.Context()},
		[]string{"http", "--targets", "-", "--rate", "200/s", "-z", "1h", "--engine", mode, url})
	return code, stdout.String(), stderr.String()
}
