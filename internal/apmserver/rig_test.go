package apmserver

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// binaries is a folder for programs that tests build.
var binaries string

func TestMain(m *testing.M) {
	if os.Getenv(orphanVariable) != "" {
		becomeParent()
		return
	}
	var err error
	if binaries, err = os.MkdirTemp("", "takt-apmserver-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(binaries)
	os.Exit(code)
}

// fakeServer builds the fake apm-server once.
var fakeServer = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaries, program)
	out, err := exec.Command("go", "build", "-o", path, "./testdata/fakeserver").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return path, err
})

// command runs a command to its end.
func command(t *testing.T, dir string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_COMMITTER_DATE=2026-01-31T18:00:00Z", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// newClone makes a bare repository with the branches main and other, whose make copies
// the fake server, and a clone of it at main.
func newClone(t *testing.T) string {
	t.Helper()
	path, err := fakeServer()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bare, seed, clone := filepath.Join(dir, "apm-server.git"), filepath.Join(dir, "seed"), filepath.Join(dir, "clone")
	command(t, dir, "git", "init", "-q", "--bare", "-b", "main", bare)
	command(t, dir, "git", "init", "-q", "-b", "main", seed)
	for _, branch := range []string{"main", "other"} {
		makefile := "apm-server:\n\t@echo making " + branch + "\n\tcp " + path + " apm-server\nupdate:\n\t@echo updating\n.PHONY: apm-server update\n"
		if err := os.WriteFile(filepath.Join(seed, "Makefile"), []byte(makefile), 0o600); err != nil {
			t.Fatal(err)
		}
		command(t, seed, "git", "checkout", "-q", "-B", branch)
		command(t, seed, "git", "add", "Makefile")
		command(t, seed, "git", "commit", "-q", "-m", "the server of "+branch)
		command(t, seed, "git", "push", "-q", bare, branch)
	}
	command(t, dir, "git", "clone", "-q", bare, clone)
	return clone
}

// made is the checkout with the fake server in it.
func made(t *testing.T) *Checkout {
	t.Helper()
	c, err := NewCheckout(newClone(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Switch(t.Context(), Switch{Branch: "main", Make: true}, t.Output()); err != nil {
		t.Fatal(err)
	}
	return c
}

// post is a load of n requests, one after the other.
func post(n int) Load {
	return func(ctx context.Context, urls ...string) (*takt.Report, error) {
		r := &takt.Report{DurationS: 2, Status: map[string]uint64{}, Variables: map[string]any{"events": 10, "spans": 4, "url": urls[0] + "/intake/v2/events"}, Extra: map[string]any{"pushed": 1.6e6, "accepted": 1.5e6}}
		begun := time.Now()
		for i := range n {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, urls[i%len(urls)]+"/intake/v2/events", nil)
			if err != nil {
				return nil, err
			}
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				r.Counts.Failed++
				continue
			}
			answer.Body.Close()
			r.Status[fmt.Sprint(answer.StatusCode)]++
			r.Counts.OK++
		}
		r.Latency = map[string]takt.Latency{takt.LatencyResponse: {Count: r.Counts.OK, P50: 1200, P90: 2500, P99: 9000, Max: float64(time.Since(begun).Microseconds())}}
		return r, nil
	}
}
