package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/program"
)

// child names the handler with which this test binary is a benchmark instead.
const child = "TAKT_BENCH_CHILD"

func TestMain(m *testing.M) {
	handlers := map[string]RequestHandler{
		"good":  takes(0),
		"hangs": RequestFunc(func(int) error { select {} }),
		"slow":  takes(10 * ms),
		"panics": RequestFunc(func(i int) error {
			panic("out of order")
		}),
		"fails": RequestFunc(func(int) error { return errors.New("no luck") }),
	}
	if h := handlers[os.Getenv(child)]; h != nil {
		flag.CommandLine = flag.NewFlagSet("prog", flag.ExitOnError) // without those of the tests
		BenchmarkCmd(h)
		fmt.Println("BenchmarkCmd returned")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process is a benchmark in a process of its own.
type process struct {
	*exec.Cmd
	t              *testing.T
	stdout, stderr *bufio.Reader
}

func start(t *testing.T, handler string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	p := &process{Cmd: exec.CommandContext(ctx, os.Args[0], args...), t: t}
	p.Env = append(os.Environ(), child+"="+handler)
	stdout, errOut := p.StdoutPipe()
	stderr, errErr := p.StderrPipe()
	if err := errors.Join(errOut, errErr, p.Start()); err != nil {
		t.Fatal(err)
	}
	p.stdout, p.stderr = bufio.NewReader(stdout), bufio.NewReader(stderr)
	return p
}

// line reads the next line and holds it against how it should begin.
func (p *process) line(r *bufio.Reader, want string) {
	p.t.Helper()
	if s, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(s, want) {
		p.t.Fatalf("%q (%v), want %q", s, err, want)
	}
}

// end waits and returns what was not read and the exit code.
func (p *process) end() (stdout, stderr string, code int) {
	p.t.Helper()
	out, errOut := io.ReadAll(p.stdout)
	errs, errErr := io.ReadAll(p.stderr)
	if err := errors.Join(errOut, errErr); err != nil {
		p.t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := p.Wait(); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return string(out), string(errs), p.ProcessState.ExitCode()
}

func TestSignalBringsTheReport(t *testing.T) {
	for s, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129, syscall.SIGQUIT: 131} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			p := start(t, "slow", "--concurrency=5", "--throughput=100", "--duration=1m")
			p.line(p.stdout, "running benchmark for 1m0s...\n")
			if err := p.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			stdout, stderr, code := p.end()
			if code != want || !strings.Contains(stdout, "(target duration: 1m0s )\n") || !strings.Contains(stdout, "omitted requests:  0\n") {
				t.Errorf("exit code %d, want %d\n%s\n%s", code, want, stdout, stderr)
			}
			if want := "stopping: what is open may take 20s more; a second signal ends the run at once\n"; stderr != want {
				t.Errorf("stderr %q, want %q", stderr, want)
			}
		})
	}
}

// A handler that never returns holds up neither the drain for ever nor the second signal.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, "hangs", "--concurrency=2", "--throughput=1000", "--duration=1h", "--drain=1h")
	p.line(p.stdout, "running benchmark for 1h0m0s...\n")
	for _, read := range []func(){func() { p.line(p.stderr, "stopping: ") }, func() {}} {
		if err := p.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		read()
	}
	stdout, stderr, code := p.end()
	if code != 130 || !strings.Contains(stdout, "total requests:  0\n") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

// Who reads standard output goes away; the file is complete, and the exit code tells.
func TestClosedPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r.json")
	read, write, err := os.Pipe()
	if err := errors.Join(err, read.Close()); err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "--duration=50ms", "--throughput=200", "--output=json="+path)
	cmd.Env, cmd.Stdout = append(os.Environ(), child+"=good"), write
	err = cmd.Run()
	b, errFile := os.ReadFile(path)
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || errFile != nil || !json.Valid(b) {
		t.Errorf("exit code %d (%v), %v: %d bytes", code, err, errFile, len(b))
	}
}

// takt starts a program with one word. A program that it cannot run says so.
func TestBenchmarkCmdIsNotMain(t *testing.T) {
	t.Parallel()
	if stdout, stderr, code := start(t, "good", program.Greeting).end(); code != 2 || stdout != "" || stderr != "the program calls bench.BenchmarkCmd, which takt cannot run\n" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestBenchmarkCmd(t *testing.T) {
	for _, c := range []struct {
		name, handler, args string
		code                int
		stdout, stderr      string // parts
	}{
		{"good: it returns", "good", "", 0, "\nBenchmarkCmd returned\n", ""},
		{"not one succeeded", "fails", "", 1, "NOT ONE REQUEST SUCCEEDED.\n", "not one request succeeded: no luck\n"},
		{"a flag that is wrong", "good", "--concurrency=x", 2, "", "invalid value \"x\" for flag -concurrency"},
		{"a setting that is wrong", "good", "--concurrency=0", 2, "", "concurrency is 0; give at least 1\n"},
		{"an argument that is none", "good", "fast --concurrency=20", 2, "", "unexpected argument \"fast\"; "},
		{"help", "good", "-h", 0, "", "-throughput N\n"},
		{"a panic is the program's", "panics", "", 2, "", "panic: out of order"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--duration=50ms", "--throughput=200"}, strings.Fields(c.args)...)
			stdout, stderr, code := start(t, c.handler, args...).end()
			if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, want %d\n%s\n%s", code, c.code, stdout, stderr)
			}
		})
	}
}
