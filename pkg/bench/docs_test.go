package bench_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Every Go block of docs/library.md and README.md is a program that compiles, or stands word for
// word in the example that has a test of its own.
func TestDocs(t *testing.T) {
	doc, err := os.ReadFile("../../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("examples/http/main.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := append(strings.Split(string(doc), "\n```go\n")[1:], strings.Split(string(readme), "\n```go\n")[1:]...)
	for _, rest := range blocks {
		block, _, _ := strings.Cut(rest, "\n```")
		switch {
		case strings.HasPrefix(block, "package main\n"):
			path := compile(t, block)
			if strings.Contains(block, "os.MkdirTemp") {
				setsUp(t, path)
			}
		case !strings.Contains(string(example), block):
			t.Errorf("neither a program nor part of examples/http:\n%s", block)
		}
	}
	if len(blocks) < 3 {
		t.Errorf("only %d blocks were found", len(blocks))
	}
}

// setsUp runs the program whose set-up creates a folder, and removes it.
func setsUp(t *testing.T, path string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if out := runProgram(t, path, "--files=20", "-n=50", "--rate=1k/s", "--progress=none", "--output=json=-"); !strings.Contains(out, `"ok": 50`) || !strings.Contains(out, `"received": 204800`) || !strings.Contains(out, `"files": 20`) {
		t.Errorf("%s", out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the set-up left %v (%v)", left, err)
	}
	err := exec.Command(path, "--files=0").Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("without files: %v, want exit code 2", err)
	}
}
