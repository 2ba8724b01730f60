//go:build real && linux

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// swarm is the Swarm of one node that scripts/servers has started.
type swarm struct {
	engine string // DOCKER_HOST
	takt   string // the binary in its image
	node   string // its hostname
}

func startedSwarm(t *testing.T) *swarm {
	t.Helper()
	engine := os.Getenv("TAKT_SWARM")
	if engine == "" {
		t.Skip("TAKT_SWARM is not set: run by scripts/test-real, which starts a Swarm")
	}
	t.Setenv("CGO_ENABLED", "0") // the image has no libraries
	s := &swarm{engine: engine, takt: built(t)}
	s.node = s.docker(t, "node", "inspect", "self", "--format", "{{.Description.Hostname}}")
	s.image(t)
	return s
}

// command runs a program with this Swarm.
func (s *swarm) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "DOCKER_HOST="+s.engine)
	return cmd
}

func (s *swarm) docker(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.command("docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// image makes an image of takt, as docker/Dockerfile does.
func (s *swarm) image(t *testing.T) {
	t.Helper()
	binary, err := os.ReadFile(s.takt)
	if err != nil {
		t.Fatal(err)
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	const user = 10001
	err = errors.Join(
		w.WriteHeader(&tar.Header{Name: "data/", Typeflag: tar.TypeDir, Mode: 0o755, Uid: user, Gid: user}),
		w.WriteHeader(&tar.Header{Name: "takt", Mode: 0o755, Size: int64(len(binary))}),
	)
	if _, bad := w.Write(binary); err != nil || bad != nil || w.Close() != nil {
		t.Fatal(err, bad)
	}
	cmd := s.command("docker", "import", "-c", `ENTRYPOINT ["/takt"]`, "-c", "USER 10001:10001", "-c", "ENV HOME=/data", "-c", "VOLUME /data", "-c", "WORKDIR /data", "-", "takt")
	cmd.Stdin = &files
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// onHost are flags for containers that use the network of this host.
func (s *swarm) onHost(t *testing.T) []string {
	return []string{"--network", "host", "--gatherer-node", s.node, "--port", freePort(t)}
}

// stack is what takt fleet manifest swarm prints for a load.
func (s *swarm) stack(t *testing.T, flags []string, load ...string) (folder string) {
	t.Helper()
	words := slices.Concat([]string{"fleet", "manifest", "swarm", "--shards", "2", "--cpus", "1", "--per-node", "2", "--memory", "256Mi", "--join-timeout", "20s"}, flags, []string{"--", "http"}, load)
	out, err := exec.Command(s.takt, words...).Output()
	if err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	folder = t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "fleet.yaml"), out, 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// asSaid runs the commands that a stack's first lines say.
func (s *swarm) asSaid(folder string) *exec.Cmd {
	cmd := s.command("bash", "-c", `sed -n 's/^#   //p' fleet.yaml | bash 2>&1`)
	cmd.Dir = folder
	return cmd
}

// remove removes the stack and its secret, as the first lines say, and waits until that is done.
func (s *swarm) remove(t *testing.T) {
	s.docker(t, "stack", "rm", "takt")
	eventually(t, "containers of the stack remain", func() string { return "" }, func() bool { return s.docker(t, "ps", "-q") == "" })
	s.docker(t, "secret", "rm", "takt-token")
}

// TestRealSwarm deploys stacks of takt's own manifest, and follows the first lines of the file.
func TestRealSwarm(t *testing.T) {
	s := startedSwarm(t)
	t.Run("stack", s.runs)
	t.Run("killed", s.lost)
	t.Run("overlay", s.overlay)
}

// runs is a run that --abort-on ends: the commands of the first lines end with its exit code. Odd
// words arrive as they are.
func (s *swarm) runs(t *testing.T) {
	const odd = `$HOME ${HOME} {{.Seq}} "it's" \n` // takt expands {{.Seq}}
	var arrived, as atomic.Uint64
	served := regexp.MustCompile(`^\$HOME \$\{HOME\} \d+ "it's" \\n$`)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		if served.MatchString(r.Header.Get("X-Odd")) {
			as.Add(1)
		}
	}))
	defer server.Close()
	cmd := s.asSaid(s.stack(t, s.onHost(t), server.URL, "--rate", "400/s", "-z", "60s", "-H", "X-Odd: "+odd, "--abort-on", "ok>0"))
	defer s.remove(t)
	out, _ := cmd.CombinedOutput() // its exit code is what is asked for
	reported := regexp.MustCompile(`(?m)^operations +(\d+) scheduled = `).FindSubmatch(out)
	if code, n := cmd.ProcessState.ExitCode(), arrived.Load(); code != aborted(out) || n < 400 || as.Load() != n || reported == nil || string(reported[1]) != fmt.Sprint(n) {
		t.Errorf("exit code %d, %d requests, %d with their header, and %q; want %d, and the same number everywhere\n%s", code, n, as.Load(), reported, aborted(out), out)
	}
}

// lost kills the container of a shard: the run ends, and no container is started in its place.
func (s *swarm) lost(t *testing.T) {
	var arrived atomic.Uint64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
	defer server.Close()
	cmd := s.asSaid(s.stack(t, s.onHost(t), server.URL, "--rate", "400/s", "-z", "60s"))
	defer s.remove(t)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no load is sent", func() string { return "" }, func() bool { return arrived.Load() > 200 })
	s.docker(t, "kill", strings.Fields(s.docker(t, "ps", "-q", "--filter", "name=takt_shard"))[0])
	_ = cmd.Wait() // its exit code is what is asked for
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(out.String(), "was lost: its process ended, or closed the connection") {
		t.Errorf("exit code %d; want 1, and the lost shard in\n%s", code, &out)
	}
	if tasks := strings.Fields(s.docker(t, "service", "ps", "-q", "takt_shard")); len(tasks) != 2 {
		t.Errorf("the service has had %d tasks; want 2", len(tasks))
	}
}

// overlay is a run in the network of the stack: the shards find the gatherer by the name of its
// service, and reach the target on this host by the bridge of the Swarm.
func (s *swarm) overlay(t *testing.T) {
	at := s.docker(t, "network", "inspect", "docker_gwbridge", "--format", "{{(index .IPAM.Config 0).Gateway}}")
	l, err := net.Listen("tcp", net.JoinHostPort(at, "0"))
	if err != nil {
		t.Fatal(err)
	}
	var arrived atomic.Uint64
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) })}}
	server.Start()
	defer server.Close()
	cmd := s.asSaid(s.stack(t, nil, server.URL, "--rate", "400/s", "-z", "1s"))
	defer s.remove(t)
	out, _ := cmd.CombinedOutput() // its exit code is what is asked for
	if code := cmd.ProcessState.ExitCode(); code != 0 || arrived.Load() != 400 {
		t.Errorf("exit code %d, %d requests; want 0 and 400\n%s", code, arrived.Load(), out)
	}
}
