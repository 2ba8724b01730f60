//go:build real

package docker

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// engine runs a program with the engine that scripts/servers has started, and gives
// what it says and its exit code.
func engine(t *testing.T, name string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "DOCKER_HOST="+os.Getenv("TAKT_DOCKER"))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// The image of make docker: takt http from it, as the user that it names, and what it
// kept is there for the next container.
func TestRealImage(t *testing.T) {
	if out, code := engine(t, "make", "docker"); code != 0 {
		t.Fatal(out)
	}
	defer engine(t, "docker", "volume", "rm", "takt-test")
	defer engine(t, "docker", "rmi", "-f", "takt")
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer target.Close()
	takt := func(args ...string) (string, int) {
		return engine(t, "docker", append([]string{"run", "--rm", "--network", "host", "-v", "takt-test:/data", "takt"}, args...)...)
	}
	for _, revision := range []string{"a1b2c3d", "d4e5f6a"} {
		if out, code := takt("http", "-n", "20", "-c", "2", "--label", "branch=main", "--label", "revision="+revision, target.URL); code != 0 || !strings.Contains(out, "20") {
			t.Errorf("takt http: exit code %d\n%s", code, out)
		}
	}
	if out, code := takt("runs", "branch=main"); code != 0 || !strings.Contains(out, "http") || strings.Contains(out, "no such run") {
		t.Errorf("takt runs: exit code %d\n%s", code, out)
	}
	// One run of each revision is too few to judge by: 5 is verify's code for that.
	if out, code := takt("verify", "branch=main"); code != 5 {
		t.Errorf("takt verify: exit code %d\n%s", code, out)
	}
	serveShell(t)
	if out, _ := engine(t, "docker", "inspect", "-f", "{{.Config.User}} {{.Config.WorkingDir}} {{.Config.Entrypoint}} {{len .RootFS.Layers}}", "takt"); out != "10001:10001 /data [/takt] 3\n" {
		t.Error(out)
	}
}

// serveShell is takt -server in a container, with a port of it on this machine. Beyond
// the container's loopback it wants a token, and TLS or to be told that there is none.
func serveShell(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("ann correct-horse\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, code := engine(t, "docker", "run", "-d", "--rm", "-p", "127.0.0.1:0:8234", "-v", tokens+":/tokens:ro", "takt",
		"-server", "--addr", "0.0.0.0:8234", "--token-file", "/tokens", "--insecure")
	if code != 0 {
		t.Fatal(out)
	}
	id := strings.TrimSpace(out)
	defer engine(t, "docker", "kill", id)
	for log := ""; !strings.Contains(log, "takt server: "); { // the engine takes connections before takt does
		if log, code = engine(t, "docker", "logs", id); code != 0 {
			t.Fatal(log)
		}
	}
	address, _ := engine(t, "docker", "port", id, "8234/tcp")
	conn, err := net.Dial("tcp", strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "auth correct-horse\nstatus\nquit\n"); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(said), "0 commands queued") || !strings.Contains(string(said), "bye!") {
		t.Errorf("%v\n%s", err, said)
	}
}
