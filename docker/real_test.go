//go:build real

package docker

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
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
	if out, _ := engine(t, "docker", "inspect", "-f", "{{.Config.User}} {{.Config.WorkingDir}} {{.Config.Entrypoint}} {{len .RootFS.Layers}}", "takt"); out != "10001:10001 /data [/takt] 3\n" {
		t.Error(out)
	}
}
