package trial

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The version is that of the main module. A mark that is not where programs have it is none, and a program that ends early, or that says
// nothing of modules, has no version.
func TestModuleVersion(t *testing.T) {
	counted := func(text string) string { return string(binary.AppendUvarint(nil, uint64(len(text)))) + text }
	marked := func(modules string) string {
		return strings.Repeat(".", moduleMarks) + modules + strings.Repeat(".", moduleMarks)
	}
	program := func(before int, modules string) string {
		return strings.Repeat("x", 8) + buildMark + strings.Repeat("x", before-8-len(buildMark)) +
			buildMark + strings.Repeat("\x00", buildHead-len(buildMark)) + counted("go1.26") + counted(modules)
	}
	const modules = "path\texample.org/load\nmod\texample.org/load\tv1.8.1\th1:x\ndep\texample.org/other\tv2.0.0\th1:y\n"
	whole := program(1<<20, marked(modules))
	for _, c := range []struct{ text, want string }{
		{whole, "1.8.1"},
		{program(64, marked(strings.ReplaceAll(modules, "v1.8.1", "(devel)"))), ""},
		{program(72, marked(modules)), ""},
		{program(64, ""), ""},
		{whole[:len(whole)-9], ""},
		{whole[:1<<20+8], ""},
		{"#!/bin/sh\n", ""},
	} {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := moduleVersion(path); got != c.want {
			t.Errorf("%d bytes: %q, want %q", len(c.text), got, c.want)
		}
	}
}
