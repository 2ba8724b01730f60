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

	"github.com/taktload/takt/internal/sandbox"
	"github.com/taktload/takt/pkg/takt"
)

// The test binary with this variable starts a server and waits for ever.
const orphanVariable = "TAKT_TEST_ORPHAN"

func becomeParent() {
	r, err := startLocal(context.Background(), os.Getenv(orphanVariable), place{dir: os.TempDir()}, &Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.URLs[0])
	select {}
}

// binaries is a folder for programs that tests build.
var binaries string

func TestMain(m *testing.M) {
	if os.Getenv(orphanVariable) != "" {
		becomeParent()
		return
	}
	if sandbox.IsEntry() {
		os.Exit(sandbox.Run(os.Stdin, os.Stderr))
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
	path := filepath.Join(binaries, "fakeserver")
	out, err := exec.Command("go", "build", "-o", path, "./testdata/fakeserver").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return path, err
})

// repository makes a bare repository with the branches main and other, whose make
// copies the fake server. Once: it takes 20 runs of git.
var repository = sync.OnceValues(func() (string, error) {
	path, err := fakeServer()
	if err != nil {
		return "", err
	}
	bare := filepath.Join(binaries, "apm-server.git")
	script := `set -e
git init -q --bare -b main "$1"
git init -q -b main "$2"
cd "$2"
for branch in main other; do
	printf 'apm-server:\n\t@echo making %s\n\tcp %s apm-server\nupdate:\n\t@echo updating\n.PHONY: apm-server update\n' $branch "$3" >Makefile
	git checkout -q -B $branch
	git add Makefile
	git commit -q -m "the server of $branch"
	git push -q "$1" $branch
done`
	_, err = inShell(script, bare, filepath.Join(binaries, "seed"), path)
	return bare, err
})

// inShell runs a script with git set up for tests.
func inShell(script string, args ...string) (string, error) {
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_COMMITTER_DATE=2026-01-31T18:00:00Z", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), err
}

// newClone makes a clone of the repository, at main.
func newClone(t *testing.T) string {
	t.Helper()
	bare, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	shell(t, `git clone -q "$1" "$2"`, bare, clone)
	return clone
}

// shell runs a script that has to succeed.
func shell(t *testing.T, script string, args ...string) string {
	t.Helper()
	out, err := inShell(script, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// made is the checkout with the fake server in it.
func made(t *testing.T) *Checkout {
	t.Helper()
	c, err := NewCheckout(newClone(t), nil)
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
