//go:build real

package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A whole session of the shell with a real Elasticsearch: build a server from a branch, test it, store
// its report in Elasticsearch, collate and verify. On the branch lossy only 80 % of the documents
// arrive.
func TestRealShell(t *testing.T) {
	cluster := os.Getenv("TAKT_ELASTICSEARCH")
	if cluster == "" {
		t.Fatal("TAKT_ELASTICSEARCH is not set; run scripts/test-real")
	}
	clone := intakeClone(t)
	x := atShell(t, serveShell(t, built(t)))
	x.says("elasticsearch use "+cluster, "using "+cluster)
	x.says("elasticsearch reset", "delete .* documents of apm-server")
	x.says("yes", "documents are deleted")
	x.says("apm use "+clone, "using "+clone)
	x.says("define co apm switch -fcmv $", "ok")
	x.says("define load test 31s 10 4 3 2 -E queue.mem.events=8192", "ok")
	x.says("co origin/lossy ; load",
		`on branch lossy , cmd = \[31s 10 4 3 2 -E`, `docs indexed .* \((79|80)\.\d\d% of expected\)`,
		`events: \d+ sent, \d+ accepted, .*\b\d+ acked, \d{4,} dropped`, `Mb \(max RSS\)`, "memory efficiency", `apm-server dropped \d+ events, of \d+ accepted`, "the run is not kept as comparable: apm-server dropped events")
	x.says("co origin/main ; load", "on branch main", `\(100\.00% of expected\)`, "report indexed in elasticsearch")
	x.says("status", `ElasticSearch \[`+cluster+`\]: (green|yellow) ,  \d+ docs`, "not running", "Using "+regexp.QuoteMeta(clone)+": main, ", "0 commands queued")
	x.says("collate branch branch=main", `report id .*index .*branch`, ` 100\.0% `)
	x.says("verify branch=main duration=31s", "all selected runs are of one revision")
	x.says("apm tail -n 5", `\d`)
	x.says("elasticsearch reset", "delete .* documents")
	x.says("yes", "documents are deleted")
}

// The same in a container FROM scratch. The test builds the server beforehand, because a container
// without a registry has no compiler.
func TestRealShellContainer(t *testing.T) {
	clone := intakeClone(t)
	folder := t.TempDir()
	out, err := exec.Command("sh", "-c", `set -e
cd "$1"
make -s
mv apm-server "$2/$(git rev-parse HEAD)"
printf 'FROM scratch\nARG ref\nCOPY ${ref} /apm-server\nENTRYPOINT ["/apm-server"]\n' >"$2/Dockerfile"`, "-", clone, folder).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	x := atShell(t, serveShell(t, built(t)))
	x.says("elasticsearch use "+os.Getenv("TAKT_ELASTICSEARCH"), "using ")
	x.says("apm use docker --dockerfile "+folder+"/Dockerfile --repository "+clone+".git", "using ")
	x.says("apm switch -v origin/main", "building takt-apm-server:main-")
	x.says("test 31s 10 4 3 2 --mem 1g --cpu 1.5 -E queue.mem.events=8192",
		"on branch main", `\(100\.00% of expected\)`, `Mb \(max RSS\)`, "report indexed in elasticsearch")
	x.says("apm list", "main")
	x.says("collate branch branch=main duration=31s", ` 100\.0% `)
	x.says("verify branch=main duration=31s", "all selected runs are of one revision")
	x.says("elasticsearch reset", "delete .* documents")
	x.says("yes", "documents are deleted")
}

// intakeClone clones a repository with the intake server, which loses documents on the branch lossy.
func intakeClone(t *testing.T) string {
	t.Helper()
	clone := filepath.Join(t.TempDir(), "clone")
	if out, err := exec.Command("../../scripts/intake/clone", clone).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return clone
}

// shellClient is a session of the shell.
type shellClient struct {
	t    *testing.T
	conn net.Conn
}

func atShell(t *testing.T, port string) *shellClient {
	t.Helper()
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	x := &shellClient{t, conn}
	x.answer()
	return x
}

// says types a line and demands that the answer has each pattern, in this order.
func (x *shellClient) says(line string, want ...string) {
	x.t.Helper()
	if _, err := fmt.Fprintf(x.conn, "%s\r\n", line); err != nil {
		x.t.Fatal(err)
	}
	text := x.answer()
	x.t.Logf(">>> %s\n%s", line, text)
	rest := text
	for _, w := range want {
		at := regexp.MustCompile(w).FindStringIndex(rest)
		if at == nil {
			x.t.Fatalf(">>> %s\n%s\nhas no %q", line, text, w)
		}
		rest = rest[at[1]:]
	}
}

// answer reads up to the next prompt.
func (x *shellClient) answer() string {
	x.t.Helper()
	var text strings.Builder
	b := make([]byte, 4096)
	for !strings.HasSuffix(text.String(), ">>> ") {
		_ = x.conn.SetReadDeadline(time.Now().Add(5 * time.Minute))
		n, err := x.conn.Read(b)
		text.Write(b[:n])
		if err != nil && (err != io.EOF || n == 0) {
			x.t.Fatalf("%v after %q", err, text.String())
		}
	}
	return strings.ReplaceAll(strings.TrimSuffix(text.String(), ">>> "), "\r", "")
}
