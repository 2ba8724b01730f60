//go:build real

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/pkg/takt"
)

// The tests of this file apply what takt fleet manifest kubernetes prints to the API server,
// scheduler and Job controller of scripts/kubernetes, which scripts/test-real starts. Its pods are
// processes of this machine: the image takt is this program.

// kubernetesCluster is the cluster, with a target for its pods.
type kubernetesCluster struct {
	t      *testing.T
	folder string
	env    []string // of kubectl
	target *httptest.Server
	count  atomic.Int64
	body   atomic.Value // of the last request
}

func kubernetesOf(t *testing.T) *kubernetesCluster {
	t.Helper()
	k := &kubernetesCluster{t: t, folder: os.Getenv("TAKT_KUBERNETES")}
	if k.folder == "" {
		t.Fatal("TAKT_KUBERNETES is not set; run scripts/test-real --wide")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(k.image()) // of the test before
	bin := t.TempDir()
	kubectl := fmt.Sprintf("#!/bin/sh\nexec '%s/kubernetes' kubectl \"$@\"\n", k.folder)
	if err := errors.Join(os.Symlink(self, k.image()), os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o755)); err != nil {
		t.Fatal(err)
	}
	k.env = append(os.Environ(), "KUBECONFIG="+k.folder+"/kubeconfig", "PATH="+bin+":"+os.Getenv("PATH"))
	k.target = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body) // the tests compare it
		k.body.Store(string(b))
		k.count.Add(1)
	}))
	t.Cleanup(k.target.Close)
	return k
}

// image is the program of the image takt. Its name must be takt: see TestMain.
func (k *kubernetesCluster) image() string { return filepath.Join(k.folder, "images", "takt") }

// shell runs a script with kubectl, and returns its output and exit code.
func (k *kubernetesCluster) shell(script string) (string, int) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Env = k.env
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		k.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// run runs a fleet as the comment of its manifest says, and returns what that prints, with the exit
// code. whenApplied is called in the meantime.
func (k *kubernetesCluster) run(name string, flags, command []string, whenApplied func()) (string, int) {
	k.t.Helper()
	args := append([]string{"fleet", "manifest", "kubernetes", "--name", name, "--port", freePort(k.t)}, flags...)
	var text, errs bytes.Buffer
	env := core.Env{Stdin: strings.NewReader(""), Stdout: &text, Stderr: &errs, Getenv: func(string) string { return "" }, Interrupt: k.t.Context()}
	if code := cli.Main(env, append(append(args, "--"), command...)); code != 0 {
		k.t.Fatalf("exit code %d: %s", code, errs.String())
	}
	dir := k.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "fleet.yaml"), text.Bytes(), 0o600); err != nil {
		k.t.Fatal(err)
	}
	var script strings.Builder
	fmt.Fprintf(&script, "cd '%s'\n", dir)
	lines := 0
	for line := range strings.Lines(text.String()) { // the first block of commands
		command, found := strings.CutPrefix(line, "#   ")
		if !found && lines > 0 {
			break
		}
		if found {
			lines++
			script.WriteString(strings.Replace(command, " apply ", " apply --validate=strict ", 1))
		}
	}
	if whenApplied != nil {
		done := make(chan struct{})
		go func() { defer close(done); whenApplied() }()
		defer func() { <-done }()
	}
	return k.shell(script.String())
}

// until waits for a condition, at most a minute.
func (k *kubernetesCluster) until(what string, met func() bool) {
	for end := time.Now().Add(time.Minute); !met(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			k.t.Errorf("waited a minute until %s", what)
			return
		}
	}
}

// pids are the processes of a Job, by the names of their pods.
func (k *kubernetesCluster) pids(job string) map[string]int {
	out, _ := k.shell("kubectl get pods -l job-name=" + job + " -o name")
	all := map[string]int{}
	for _, pod := range strings.Fields(out) {
		pod = strings.TrimPrefix(pod, "pod/")
		text, err := os.ReadFile(filepath.Join(k.folder, "pods", "default_"+pod+".pid"))
		if err != nil {
			continue // it waits for a node
		}
		if all[pod], err = strconv.Atoi(string(text)); err != nil {
			k.t.Error(err)
		}
	}
	return all
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// get is a part of an object of the cluster.
func (k *kubernetesCluster) get(what, path string) string {
	out, _ := k.shell("kubectl get " + what + " -o jsonpath='" + path + "'")
	return out
}

// A fleet of pods makes one run: all requests, with the words as given, one report, its exit code.
func TestRealKubernetesRun(t *testing.T) {
	k := kubernetesOf(t)
	const hostile = "$(TAKT_FLEET_TOKEN) $$(HOME) $HOME `id` \"q\" 's' \\ 🙂 é : # - & * ! % @ ~\n\t\u2028\u0085\x7f"
	command := []string{"http", "--rate", "400/s", "-z", "2s", "--method", "POST", "--body", hostile, "-o", "json=-", k.target.URL + "/"}
	out, code := k.run("whole", []string{"--shards", "4", "--nodes", "takt.test/pool=load"}, command, nil)
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	var r takt.Report
	at := strings.Index(out, "\n{\n")
	if at < 0 {
		t.Fatalf("no report:\n%s", out)
	}
	if err := json.Unmarshal([]byte(out[at:]), &r); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if r.Counts.OK != 800 || r.Counts.Scheduled != 800 || k.count.Load() != 800 {
		t.Errorf("%+v, and the target counted %d", r.Counts, k.count.Load())
	}
	if got := k.body.Load(); got != hostile {
		t.Errorf("the target got the body %q, want %q", got, hostile)
	}
	if got := k.get("job whole-shards", "{.status.succeeded} {.status.conditions[-1].type}"); got != "4 Complete" {
		t.Errorf("the Job of the shards: %s", got)
	}
	if got := k.get("pods -l job-name=whole-shards", "{.items[*].spec.nodeName}"); len(strings.Fields(got)) != 4 || !differ(strings.Fields(got)) {
		t.Errorf("the shards ran on %s, want one on each node, also the one with a taint", got)
	}
	if got := k.get("pods -l app.kubernetes.io/instance=whole", "{.items[*].status.qosClass}"); strings.ReplaceAll(got, "Guaranteed", "") != "    " {
		t.Errorf("the pods are of the classes %s, want Guaranteed", got)
	}
	// The same command again must not show the report of the first run.
	if out, code := k.run("whole", []string{"--shards", "4", "--nodes", "takt.test/pool=load"}, command, nil); code != 1 || !strings.Contains(out, "field is immutable") || strings.Contains(out, "condition met") {
		t.Errorf("once more: exit code %d:\n%s", code, out)
	}
}

func differ(words []string) bool {
	seen := map[string]bool{}
	for _, word := range words {
		seen[word] = true
	}
	return len(seen) == len(words)
}

// Files come from a ConfigMap, and settings from a Secret. The exit code 3 of --abort-on is
// that of the commands.
func TestRealKubernetesFilesAndExitCode(t *testing.T) {
	k := kubernetesOf(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("order.json", []byte(`{"n":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	token := strings.Repeat("0f", 32)
	if out, code := k.shell("kubectl create configmap files --from-file=order.json && kubectl create secret generic settings --from-literal=TAKT_METHOD=PUT --from-literal=TAKT_FLEET_TOKEN=" + token); code != 0 {
		t.Fatal(out)
	}
	out, code := k.run("files", []string{"--shards", "2", "--config-map", "files", "--secret", "settings"},
		[]string{"http", "--rate", "100/s", "-z", "20s", "--body-file", "order.json", "--abort-on", "ok>0", k.target.URL + "/"}, nil)
	if code != core.ExitAssertion && code != core.ExitInvalid || strings.Contains(out, token) { // invalid: on a busy machine
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if got := k.body.Load(); got != `{"n":1}` {
		t.Errorf("the target got the body %q", got)
	}
}

// A shard that is killed ends the run: exit code 1, the report of what was, and the other shards end.
func TestRealKubernetesKilledShard(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(k *kubernetesCluster, pod string, pid int)
	}{
		{"killed", func(k *kubernetesCluster, _ string, pid int) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				k.t.Error(err)
			}
		}},
		{"evicted", func(k *kubernetesCluster, pod string, _ int) {
			if out, code := k.shell("kubectl delete pod " + pod + " --wait=false"); code != 0 {
				k.t.Error(out)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := kubernetesOf(t)
			var pids map[string]int
			began := time.Now()
			out, code := k.run(c.name, []string{"--shards", "3"}, []string{"http", "--rate", "300/s", "-z", "60s", k.target.URL + "/"}, func() {
				k.until("the load begins", func() bool { return k.count.Load() > 100 })
				pids = k.pids(c.name + "-shards")
				for pod, pid := range pids {
					began = time.Now()
					c.end(k, pod, pid)
					return
				}
			})
			t.Logf("the run had ended %v after the shard", time.Since(began).Round(100*time.Millisecond))
			if code != core.ExitFailed || !strings.Contains(out, "shards_missing") && !strings.Contains(out, "was lost") {
				t.Errorf("exit code %d:\n%s", code, out)
			}
			if len(pids) != 3 {
				t.Errorf("the processes are %v", pids)
			}
			for _, pid := range pids {
				k.until("all shards have ended", func() bool { return !alive(pid) })
			}
			k.until("the Job has failed", func() bool {
				return k.get("job "+c.name+"-shards", "{.status.conditions[-1].type} {.status.conditions[-1].reason}") == "Failed PodFailurePolicy"
			})
		})
	}
}

// Without the gatherer, shards end their load, and their Job fails.
func TestRealKubernetesKilledGatherer(t *testing.T) {
	k := kubernetesOf(t)
	var pids map[string]int
	out, code := k.run("alone", []string{"--shards", "2"}, []string{"http", "--rate", "200/s", "-z", "60s", k.target.URL + "/"}, func() {
		k.until("the load begins", func() bool { return k.count.Load() > 100 })
		pids = k.pids("alone-shards")
		for _, pid := range k.pids("alone-gatherer") {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	})
	if code != 137 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if len(pids) != 2 {
		t.Errorf("the processes are %v", pids)
	}
	for _, pid := range pids {
		k.until("all shards have ended", func() bool { return !alive(pid) })
	}
	k.until("the Job has failed", func() bool { return k.get("job alone-shards", "{.status.conditions[-1].type}") == "Failed" })
}

// A pod that no node has room for: the gatherer says who is missing, and no load was sent.
func TestRealKubernetesMissingShard(t *testing.T) {
	k := kubernetesOf(t)
	out, code := k.run("missing", []string{"--shards", "5", "--cpus", "7", "--join-timeout", "5s"},
		[]string{"http", "--rate", "100/s", "-z", "1s", k.target.URL + "/"}, nil)
	if code != core.ExitFailed || !strings.Contains(out, "3 of 5 shards have joined") || k.count.Load() != 0 {
		t.Errorf("exit code %d, %d requests:\n%s", code, k.count.Load(), out)
	}
	k.until("the Job has failed", func() bool {
		return k.get("job missing-shards", "{.status.conditions[-1].type}") == "Failed"
	})
}

// With --allow-lost the run goes on without a killed shard.
func TestRealKubernetesAllowLost(t *testing.T) {
	k := kubernetesOf(t)
	out, code := k.run("spare", []string{"--shards", "4", "--allow-lost", "25%"}, []string{"http", "--rate", "200/s", "-z", "6s", k.target.URL + "/"}, func() {
		k.until("the load begins", func() bool { return k.count.Load() > 100 })
		for _, pid := range k.pids("spare-shards") {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			return
		}
	})
	if code != core.ExitOK || !strings.Contains(out, "[shards_missing]") || k.count.Load() < 850 {
		t.Errorf("exit code %d, %d requests:\n%s", code, k.count.Load(), out)
	}
	k.until("three shards have ended well", func() bool { return k.get("job spare-shards", "{.status.succeeded} {.status.failed}") == "3 1" })
}
