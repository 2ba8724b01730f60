package bench_test

import (
	"context"
	"errors"
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

// goMod is that of a program outside of this repository. The checksums of what
// takt needs are takt's, so that nothing is fetched.
const goMod = `module example.com/seed

go 1.26.0

require github.com/taktload/takt v0.0.0

replace github.com/taktload/takt => `

// compile builds the program outside of this repository, without a network.
func compile(t *testing.T, text string) (path string) {
	t.Helper()
	root, errRoot := filepath.Abs("../..")
	sums, errSums := os.ReadFile("../../go.sum")
	dir := t.TempDir()
	write := func(name, text string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644) }
	if err := errors.Join(errRoot, errSums, write("go.mod", goMod+root+"\n"), write("go.sum", string(sums)), write("main.go", text)); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "seed")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, text)
	}
	return path
}

// The program of wrk3's README, with the import line changed and nothing else.
func TestSeedCompiles(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/wrk3.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	const theirs, ours = `	"github.com/AppsFlyer/wrk3"`, `	wrk3 "github.com/taktload/takt/pkg/bench"`
	if strings.Count(string(b), theirs) != 1 {
		t.Fatal("the text of the seed has no such import line")
	}
	help, err := exec.Command(compile(t, strings.Replace(string(b), theirs, ours, 1)), "-h").CombinedOutput()
	for _, want := range []string{"-concurrency", "-throughput", "-duration"} {
		if err != nil || !strings.Contains(string(help), want) {
			t.Fatalf("%v: the help lacks %s\n%s", err, want, help)
		}
	}
}

// The same with a flag of its own for the URL, against a server that counts.
func TestSeedRuns(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/wrk3.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(
		`"github.com/AppsFlyer/wrk3"`, `wrk3 "github.com/taktload/takt/pkg/bench"`+"\n\t\"flag\"",
		`"http://localhost:8080/"`, `*url`,
		"func sendHttpRequest", "var url = flag.String(\"url\", \"\", \"to get\")\n\nfunc sendHttpRequest",
		"\twrk3.BenchmarkCmd(", "\twrk3.DefineBenchmarkFlags()\n\tflag.Parse()\n\twrk3.BenchmarkCmd(",
	).Replace(string(b))
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
	defer server.Close()
	out := runProgram(t, compile(t, text), "--url", server.URL, "--concurrency=5", "--throughput=500", "--duration=200ms")
	for _, want := range []string{
		`^running benchmark for 200ms\.\.\.\n`,
		`\nbenchmark results:\ntotal duration:  [0-9.]+m?s \(target duration: 200ms \)\ntotal requests:  100\nerrors:  0\nomitted requests:  0\n`,
		`\nthroughput:  [0-9.]+ \(target throughput: 500 \)\nlatency distribution:\nQuantile    \| Count     \| Value \n------------\+-----------\+-------------\n0.000       \| [1-9]`,
		`\n100.000     \| 100       \| [0-9.]+(µs|ms|s)\n`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("the report lacks %s\n%s", want, out)
		}
	}
	if served.Load() != 100 {
		t.Errorf("the server had %d requests, 100 were reported", served.Load())
	}
}

func runProgram(t *testing.T, path string, args ...string) (stdout string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
