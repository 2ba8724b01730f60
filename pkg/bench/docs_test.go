package bench_test

import (
	"os"
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
			compile(t, block)
		case !strings.Contains(string(example), block):
			t.Errorf("neither a program nor part of examples/http:\n%s", block)
		}
	}
	if len(blocks) < 3 {
		t.Errorf("only %d blocks were found", len(blocks))
	}
}
