package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A folder whose code is to be confined contains nothing of the server, at no depth, and nothing of
// the server is found through a link in it.
func TestConfinable(t *testing.T) {
	home := t.TempDir()
	clone := filepath.Join(home, "clone")
	for _, dir := range []string{"clone/state/takt", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"clone/link": "elsewhere", "other": "clone"} {
		if err := os.Symlink(filepath.Join(home, to), filepath.Join(home, link)); err != nil {
			t.Fatal(err)
		}
	}
	inside := []string{"clone", "clone/state/takt/shell", "clone/data/takt", "clone/link/takt", "other/x", "other/link"}
	for _, path := range append(inside, "state", "clone2", "elsewhere") {
		path = filepath.Join(home, path)
		for name, s := range map[string]*Server{
			"state": {options: Options{StateDir: path}}, "store": {options: Options{Store: path}}, "homes": {options: Options{Homes: []string{path}}},
			"socket": {options: Options{Unix: path}}, "caches": {options: Options{Sandbox: Confinement{Home: path}}}, "program": {host: Host{Program: path}},
		} {
			s.options.Sandbox.Mode = sandboxRequire
			err := s.confinables(folders{"main": clone})
			if want := slices.Contains(inside, strings.TrimPrefix(path, home+"/")); (err != nil) != want {
				t.Errorf("%s %s: %v", name, path, err)
			}
			s.options.Sandbox.Mode = sandboxOff
			if err := s.confinables(folders{"main": clone}); err != nil {
				t.Errorf("%s %s without a sandbox: %v", name, path, err)
			}
		}
	}
	o := Options{Store: "elasticsearch://127.0.0.1:1", Homes: []string{"/h"}}
	if hidden := o.sandbox("takt").Hide; len(hidden) != 1 || hidden[0] != "/h" {
		t.Error(hidden)
	}
}

// A server whose state is in a folder for confined code does not start.
func TestStateInFolder(t *testing.T) {
	clone := t.TempDir()
	o := Options{Unix: filepath.Join(t.TempDir(), "socket"), DumpDir: filepath.Join(t.TempDir(), "dumps"), StateDir: filepath.Join(clone, "st/takt/shell")}
	o.Folders, o.Sandbox.Mode = folders{"main": clone}, sandboxRequire
	if _, err := Listen(o, Host{}); err == nil || !strings.Contains(err.Error(), "--apm-folder main: takt's own "+o.StateDir) {
		t.Error(err)
	}
}

// Limits that cannot be set stop a server that requires the sandbox; another one says so.
func TestLimited(t *testing.T) {
	const want = "the memory and the CPU of the sandbox cannot be limited"
	s := &Server{options: Options{Sandbox: Confinement{Mode: sandboxRequire}}}
	if err := s.limited([]string{"memory", "CPU"}); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
	s.options.Sandbox.Mode = sandboxAuto
	if err := s.limited([]string{"memory", "CPU"}); err != nil || len(s.boxNotes) != 1 || !strings.HasPrefix(s.boxNotes[0], want) {
		t.Error(err, s.boxNotes)
	}
	if err := s.limited(nil); err != nil || len(s.boxNotes) != 1 {
		t.Error(err, s.boxNotes)
	}
}

// The owner learns at the start which folders cannot be used.
func TestFolderNotes(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"clone/.git", "plain"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &Server{state: &state{}}
	s.options.Addr, s.options.Folders = "127.0.0.1:0", folders{"a": filepath.Join(home, "none"), "b": filepath.Join(home, "plain"), "c": filepath.Join(home, "clone")}
	notes := s.Notes()
	if len(notes) != 2 || !strings.HasPrefix(notes[0], "the folder a cannot be used: ") || !strings.HasPrefix(notes[1], "the folder b is not a git clone: ") {
		t.Errorf("%q", notes)
	}
}
