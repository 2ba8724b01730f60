//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// standIn is ssh without a network: it runs the command of the host here, and writes down what ps
// would show. The host away does not answer, and bare has no takt.
const standIn = `#!/bin/sh
echo "$*" >>"$SEEN"
while :; do
	case $1 in
	-T) shift ;;
	-o | -R) shift 2 ;;
	*) break ;;
	esac
done
case $1 in
away) echo "no route to away" >&2; exit 255 ;;
bare) exit 127 ;;
esac
exec sh -c "$2"
`

// sshFleet runs the script of a fleet, and returns its output, its exit code, and what ps showed.
func sshFleet(t *testing.T, hosts string, command ...string) (out string, code int, seen string) {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	takt := filepath.Join(dir, "takt") // TestMain looks at the name
	if err := errors.Join(os.Symlink(self, takt), os.WriteFile(filepath.Join(dir, "ssh"), []byte(standIn), 0o755)); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	script, err := exec.CommandContext(ctx, takt, append([]string{"fleet", "manifest", "ssh", "--hosts", hosts, "--address", "127.0.0.1", "--port", port, "--"}, command...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "sh")
	cmd.Stdin = strings.NewReader(string(script))
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SEEN="+dir+"/seen", "XDG_DATA_HOME="+dir, "TAKT_NO_STORE=true")
	cmd.WaitDelay = 10 * time.Second
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, text)
	}
	shown, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil {
		t.Error(err)
	}
	return string(text), cmd.ProcessState.ExitCode(), string(shown)
}

// The script of takt fleet manifest ssh runs a fleet, gives the words as they were given, and ends
// with the exit code of the run. No process shows the token.
func TestFleetBySSH(t *testing.T) {
	const hostile = "it's $HOME `id` \"q\" \\ 🙂\n\t%s"
	var count atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if b, err := io.ReadAll(r.Body); err != nil || string(b) != hostile {
			t.Errorf("the body is %q, %v", b, err)
		}
		count.Add(1)
	}))
	defer target.Close()
	load := []string{"http", "--rate", "100/s", "-z", "1s", "--body", hostile, target.URL}
	out, code, seen := sshFleet(t, "load1,load2", load...)
	if code != 0 || !strings.Contains(out, "100 scheduled = 100 ok") || count.Load() != 100 {
		t.Errorf("exit code %d, %d requests:\n%s", code, count.Load(), out)
	}
	if strings.Count(seen, "takt shard") != 2 || regexp.MustCompile("[0-9a-f]{32}").MatchString(seen) {
		t.Errorf("ps showed:\n%s", seen)
	}
	if out, code, _ := sshFleet(t, "load1,load2", append(load, "--abort-on", "ok>0", "-z", "20s")...); code != 3 && code != 6 { // 6: invalid, on a busy machine
		t.Errorf("--abort-on: exit code %d:\n%s", code, out)
	}
}

// A host that cannot be reached, or has no takt, ends the fleet at once, and is named.
func TestFleetBySSHWithoutAHost(t *testing.T) {
	for host, want := range map[string]string{"away": "the shard on away ended with exit code 255", "bare": "the shard on bare ended with exit code 127"} {
		out, code, _ := sshFleet(t, "load1,"+host, "http", "--rate", "100/s", "-z", "1s", "http://127.0.0.1:1/")
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d:\n%s", host, code, out)
		}
	}
}
