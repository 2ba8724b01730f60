package reader

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
)

// A server that rotates its log writes to the old file until it opens the new one, which
// may be there long before.
func TestFollowRotation(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	add := func(f *os.File, text string) {
		t.Helper()
		if _, err := f.WriteString(text + "\n"); err != nil {
			t.Error(err)
		}
	}
	create := func() *os.File {
		t.Helper()
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	old := create()
	add(old, "before")
	f, err := follow(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	lines := bufio.NewScanner(f)
	want := func(text string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != text {
			t.Fatalf("read %q, %v; want %q", lines.Text(), lines.Err(), text)
		}
	}
	add(old, "first")
	want("first")
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	fresh := create()
	go func() {
		time.Sleep(3 * followEvery) // so that the follower has seen the new file
		add(old, "late")
		add(fresh, "new")
	}()
	want("late")
	want("new")
}

// An empty file is of no format: the lines that come say which. Columns that W3C names at
// the file's head hold for what comes.
func TestFollowFormat(t *testing.T) {
	for name, c := range map[string]struct{ before, then, uri, format string }{
		"empty": {"", tracetest.AccessLog(1), "/0", "combined"},
		"list":  {"", "/a\n", "/a", "paths"},
		"w3c":   {"#Fields: date time cs-uri-stem\n2026-11-24 10:00:00 /a\n", "2026-11-24 10:00:01 /b\n", "/b", "w3c"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(file, []byte(c.before), 0o644); err != nil {
				t.Fatal(err)
			}
			l, f, err := (&Settings{}).Follow(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Stop()
			out, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			if _, err := out.WriteString(c.then); err != nil {
				t.Fatal(err)
			}
			var rec trace.Record
			if err := l.Next(&rec); err != nil || string(rec.URI) != c.uri || l.Formats() != c.format {
				t.Errorf("%v, %s, %s", err, rec.URI, l.Formats())
			}
		})
	}
}
