//go:build real

package docker

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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
	version, _ := engine(t, "git", "describe", "--tags", "--always", "--dirty")
	checkImage(t, "takt", strings.TrimSpace(version))
	checkMount(t, target.URL)
	checkFleet(t, target.URL)
	serveShell(t, false)
	serveShell(t, true)
	if out, _ := engine(t, "docker", "inspect", "-f", "{{.Config.User}} {{.Config.WorkingDir}} {{.Config.Entrypoint}} {{len .RootFS.Layers}}", "takt"); out != "10001:10001 /data [/takt] 3\n" {
		t.Error(out)
	}
}

// The built image has its labels, and is hardly larger than the binary.
func checkImage(t *testing.T, image, version string) {
	t.Helper()
	const label = "org.opencontainers.image."
	out, code := engine(t, "docker", "inspect", "-f", `{{index .Config.Labels "`+label+`title"}} {{index .Config.Labels "`+label+`licenses"}} {{index .Config.Labels "`+label+`version"}} {{.Size}}`, image)
	words := strings.Fields(out)
	if code != 0 || len(words) != 4 || words[0] != "takt" || words[1] != "Apache-2.0" || words[2] != version {
		t.Fatalf("exit code %d: %q, want the version %s", code, out, version)
	}
	size, err := strconv.ParseInt(words[3], 10, 64)
	binary, bad := os.Stat("../bin/image/out/takt")
	if err := errors.Join(err, bad); err != nil {
		t.Fatal(err)
	}
	if beside := size - binary.Size(); beside < 0 || beside > 1<<20 {
		t.Errorf("the image has %d bytes, %d beside the binary", size, beside)
	}
}

// A mounted folder of another user ends with what to do, before the run; with --user it is fine.
func checkMount(t *testing.T, target string) {
	t.Helper()
	out := t.TempDir()
	const owner = 12345
	if err := errors.Join(os.Chown(out, owner, owner), os.Chmod(out, 0o700)); err != nil {
		t.Fatal(err)
	}
	run := func(flags ...string) (string, int) {
		args := append([]string{"run", "--rm", "--network", "host", "-v", out + ":/out"}, flags...)
		return engine(t, "docker", append(args, "takt", "http", "-n", "1", "--no-store", "-o", "json=/out/r.json", target)...)
	}
	if said, code := run(); code != 2 || !strings.Contains(said, "--user $(id -u):$(id -g)") || !strings.Contains(said, "/out belongs to user 12345, and takt is user 10001") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if said, code := run("--user", fmt.Sprintf("%d:%d", owner, owner)); code != 0 {
		t.Errorf("with --user: exit code %d: %s", code, said)
	}
}

// A fleet of containers without anything that they may write, not even a home: nobody warns, and the
// exit codes are those of the run. The image has no shell, so the arguments are takt's own.
func checkFleet(t *testing.T, target string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	run := func(args ...string) (string, int) {
		strict := []string{"run", "--rm", "--network", "host", "--read-only", "--tmpfs", "/data:ro", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "-e", "TAKT_FLEET_TOKEN", "-e", "TAKT_NO_STORE=true", "takt"}
		return engine(t, "docker", append(strict, args...)...)
	}
	t.Setenv("TAKT_FLEET_TOKEN", strings.Repeat("0f", 32))
	var shards sync.WaitGroup
	for range 2 {
		shards.Go(func() {
			if out, code := run("shard", "--fleet", at); code != 0 || strings.Contains(out, "warning") {
				t.Errorf("shard: exit code %d: %s", code, out)
			}
		})
	}
	out, code := run("fleet", "--shards", "2", "--listen", at, "--join-timeout", "1m", "--", "http", "--rate", "50/s", "-z", "1s", target)
	if code != 0 || !strings.Contains(out, "50 scheduled = 50 ok") || strings.Contains(out, "takt: ") {
		t.Errorf("fleet: exit code %d: %s", code, out)
	}
	shards.Wait()
}

// The image from a clone alone, as docker build -f docker/Dockerfile . makes it.
func TestRealImageOfClone(t *testing.T) {
	from := strings.Fields(stages(t, "Dockerfile")[0][0])[1]
	if _, code := engine(t, "docker", "image", "inspect", from); code != 0 {
		if out, code := engine(t, "docker", "pull", "-q", from); code != 0 {
			t.Skip("the image of Go cannot be had: " + out)
		}
	}
	clone := filepath.Join(t.TempDir(), "clone")
	if out, code := engine(t, "git", "clone", "-q", ".", clone); code != 0 {
		t.Fatal(out)
	}
	defer engine(t, "docker", "rmi", "-f", "takt-of-clone")
	if out, code := engine(t, "docker", "build", "-q", "-t", "takt-of-clone", "-f", clone+"/docker/Dockerfile", clone); code != 0 {
		t.Fatal(out)
	}
	revision, _ := engine(t, "git", "describe", "--tags", "--always")
	if out, code := engine(t, "docker", "run", "--rm", "takt-of-clone", "version"); code != 0 || !strings.HasPrefix(out, "takt "+strings.TrimSpace(revision)+" ") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, _ := engine(t, "docker", "inspect", "-f", "{{.Config.User}} {{.Config.WorkingDir}} {{.Config.Entrypoint}} {{len .RootFS.Layers}}", "takt-of-clone"); out != "10001:10001 /data [/takt] 3\n" {
		t.Error(out)
	}
}

// serveShell is takt -server in a container, with a port of it on this machine, as docs say
// to run it. Beyond the container's loopback it wants a token, and TLS or to be told that
// there is none; the tokens are readable for their owner alone, or a container's secret.
func serveShell(t *testing.T, secret bool) {
	dir := t.TempDir()
	tokens, mode, at := filepath.Join(dir, "tokens"), os.FileMode(0o600), "/tokens"
	if secret {
		mode, at = 0o444, "/run/secrets/tokens"
	}
	const owner = 12345
	err := errors.Join(os.WriteFile(tokens, []byte("ann correct-horse\n"), mode), os.Mkdir(filepath.Join(dir, "data"), 0o700))
	if err = errors.Join(err, os.Chown(tokens, owner, owner), os.Chown(filepath.Join(dir, "data"), owner, owner), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	out, code := engine(t, "docker", "run", "-d", "--rm", "--user", fmt.Sprintf("%d:%d", owner, owner), "-p", "127.0.0.1:0:8234",
		"-v", dir+"/data:/data", "-v", tokens+":"+at+":ro", "takt",
		"-server", "--addr", "0.0.0.0:8234", "--token-file", at, "--insecure", "--allow-target", "127.0.0.1")
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
	if _, err := io.WriteString(conn, "auth correct-horse\nstatus\nhttp -n 1 http://127.0.0.1:1/\nhttp -n 1 http://10.0.0.1/\nquit\n"); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(said), "0 commands queued") || strings.Contains(string(said), "127.0.0.1 may not") || !strings.Contains(string(said), "10.0.0.1 may not be loaded") || !strings.Contains(string(said), "bye!") {
		t.Errorf("%v\n%s", err, said)
	}
}
