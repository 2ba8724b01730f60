package openmetrics

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/taktload/takt/internal/test/metricstest"
	"github.com/taktload/takt/internal/value"
)

// A file has the newest second, in the format that its readers know, and nothing else is left beside it.
func TestFile(t *testing.T) {
	for name, kind := range map[string]string{"takt.prom": "# TYPE takt_operations_total counter\n", "takt.txt": "# TYPE takt_operations counter\n"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		d, err := Parse(path)
		if err != nil || d.Names[0] != (value.Name{Kind: value.Writes, Text: path}) {
			t.Fatalf("%v, %v", d.Names, err)
		}
		e, err := d.Open(*metricstest.Batches(t, "")[0].Run)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range metricstest.Batches(t, "") {
			if err := e.Export(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(got), kind) || !strings.HasSuffix(string(got), "\n# EOF\n") {
				t.Fatalf("%v: %s", err, got)
			}
		}
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if list, _ := os.ReadDir(dir); len(list) != 1 {
			t.Errorf("the folder has %v", list)
		}
	}
}

// A path that cannot be written is a fault before the run; a full disk is one during the run.
func TestFileFaults(t *testing.T) {
	d, err := Parse(filepath.Join(t.TempDir(), "missing", "takt.prom"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(*metricstest.Batches(t, "")[0].Run); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	if _, err := Parse("-"); err == nil {
		t.Error("standard output was accepted")
	}
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip(err)
	}
	d, _ = Parse(full)
	e, err := d.Open(*metricstest.Batches(t, "")[0].Run)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Export(t.Context(), metricstest.Batches(t, "")[0]); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
}
