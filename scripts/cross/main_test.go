package main

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A fault in the files of one system is found for that system, and for no other.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module example.com/x\n\ngo 1.26\n",
		"main.go":         "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(code()) }\n",
		"other.go":        "//go:build !windows\n\npackage main\n\nimport \"syscall\"\n\nfunc code() int { return int(syscall.SIGSTOP) }\n",
		"code_windows.go": "package main\n\nimport \"syscall\"\n\nfunc code() int { return int(syscall.SIGSTOP) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed := &sources{files: token.NewFileSet(), asts: map[string]*ast.File{}}
	for target, want := range map[string]string{"linux/arm64": "", "darwin/arm64": "", "windows/amd64": "code_windows.go:5:"} {
		faults, err := check(parsed, target, dir, []string{"."})
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && len(faults) > 0 || want != "" && (len(faults) != 1 || !strings.Contains(faults[0].Error(), want)) {
			t.Errorf("%s: %v, want %q", target, faults, want)
		}
	}
	if _, err := check(parsed, "windows", dir, nil); err == nil {
		t.Error("a target without an architecture is accepted")
	}
}
