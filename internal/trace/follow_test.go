package trace

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"
	"time"
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
	f, err := Follow(name)
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
