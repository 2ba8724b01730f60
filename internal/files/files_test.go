package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const secret = "tigerlily"

// folders are a folder to which the process confines itself, and a file outside of it.
func folders(t *testing.T) (dir, outside string) {
	t.Helper()
	home := t.TempDir()
	dir, outside = filepath.Join(home, "inside"), filepath.Join(home, "outside")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, outside, secret)
	put(t, filepath.Join(dir, "mine"), "mine")
	return dir, outside
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Skip(err)
	}
}

func confine(t *testing.T, dir string) {
	t.Helper()
	free, err := Confine(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
}

// ways are the functions of this package, each as one that a name of somebody else reaches.
func ways() map[string]func(name string) error {
	one := func(_ any, err error) error { return err }
	return map[string]func(name string) error{
		"Open": func(n string) error { f, err := Open(n); _ = f.Close(); return err },
		"Create": func(n string) error {
			f, err := OpenFile(n, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
			_ = f.Close()
			return err
		},
		"Append":   func(n string) error { f, err := OpenFile(n, os.O_WRONLY|os.O_APPEND, 0); _ = f.Close(); return err },
		"ReadFile": func(n string) error { return one(ReadFile(n)) }, "ReadDir": func(n string) error { return one(ReadDir(n)) },
		"WriteFile": func(n string) error { return WriteFile(n, []byte("x"), 0o600) },
		"Stat":      func(n string) error { return one(Stat(n)) },
		"Rename":    func(n string) error { return Rename("mine", n) },
		"Remove":    Remove, "Check": Check,
	}
}

// A confined process opens nothing outside of its folder, by no function and whatever the name is.
func TestConfined(t *testing.T) {
	dir, outside := folders(t)
	links := map[string]string{
		"link": outside, "short": "../outside", "folder": filepath.Dir(dir), "dangling": filepath.Join(filepath.Dir(dir), "new"), "second": "link", "self": "/proc/self",
	}
	confine(t, dir)
	for _, test := range []struct {
		name string
		want error
	}{
		{outside, ErrOutside}, {"../outside", ErrOutside}, {"sub/../../outside", ErrOutside}, {"/proc/self/environ", ErrOutside}, {"/dev/stdin", ErrOutside}, {"..", ErrOutside},
		{dir + "/mine", ErrOutside}, // as the session did not type it
		{"link", ErrLink}, {"short", ErrLink}, {"second", ErrLink}, {"folder/outside", ErrLink}, {"folder", ErrLink}, {"dangling", ErrLink}, {"self/environ", ErrLink}, {"folder/new", ErrLink},
	} {
		for way, do := range ways() {
			for name, to := range links { // an attempt before may have removed it
				_ = os.Remove(filepath.Join(dir, name))
				link(t, to, filepath.Join(dir, name))
			}
			put(t, filepath.Join(dir, "mine"), "mine")
			err := do(test.name)
			if (way == "Rename" || way == "Remove") && test.want == ErrLink && filepath.Dir(test.name) == "." {
				continue // of the link itself
			}
			if !errors.Is(err, test.want) || Refusal(err) != test.want {
				t.Errorf("%s %s: %v, want %v", way, test.name, err, test.want)
			}
		}
	}
	if text, err := os.ReadFile(outside); string(text) != secret || err != nil {
		t.Errorf("outside is %q, %v", text, err)
	}
	if list, _ := os.ReadDir(filepath.Dir(dir)); len(list) != 2 {
		t.Errorf("outside are %v", list)
	}
}

// Within the folder everything works, also over links that stay there.
func TestInside(t *testing.T) {
	dir, _ := folders(t)
	link(t, "sub", filepath.Join(dir, "same"))
	link(t, "mine", filepath.Join(dir, "alias"))
	confine(t, dir)
	for _, name := range []string{"mine", "./mine", "sub/../mine", "alias"} {
		if text, err := ReadFile(name); string(text) != "mine" || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"new", "same/new"} {
		if err := errors.Join(WriteFile(name, []byte("1"), 0o600), Rename(name, "sub/newer"), Check(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "sub/newer")); string(text) != "1" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		if err := Remove("same/newer"); err != nil {
			t.Error(err)
		}
	}
	list, err := ReadDir(".")
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	if err != nil || !slices.IsSorted(names) || len(names) != 4 {
		t.Errorf("%q, %v", names, err)
	}
	for _, name := range []string{"missing", ""} {
		_, err := Open(name)
		_, unseen := Stat(name)
		if !errors.Is(err, fs.ErrNotExist) || !errors.Is(unseen, fs.ErrNotExist) || Refusal(err) != nil || Check(name) != nil {
			t.Errorf("%q: %v, %v", name, err, unseen)
		}
	}
	if to, err := EvalSymlinks("mine"); to != "mine" || err != nil {
		t.Errorf("%q, %v", to, err)
	}
	if _, err := EvalSymlinks("alias"); !errors.Is(err, ErrLink) {
		t.Error(err)
	}
}

// A file that the owner of the process named may be outside, and only this one.
func TestTrust(t *testing.T) {
	dir, outside := folders(t)
	Trust(outside) // of a process that is not confined: nothing
	confine(t, dir)
	if _, err := Open(outside); !errors.Is(err, ErrOutside) {
		t.Error(err)
	}
	Trust(outside)
	if text, err := ReadFile(outside); string(text) != secret || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Open(filepath.Dir(dir) + "/./outside"); !errors.Is(err, ErrOutside) {
		t.Error(err)
	}
}

// A shard opens what is below its folder, also by whole names and over links that stay there, as in a mounted ConfigMap.
func TestShard(t *testing.T) {
	dir, outside := folders(t)
	link(t, "..data/mine", filepath.Join(dir, "alias"))
	link(t, "sub", filepath.Join(dir, "..data"))
	link(t, outside, filepath.Join(dir, "away"))
	put(t, filepath.Join(dir, "sub", "mine"), "mine")
	t.Chdir(dir)
	free, err := ConfineShard()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
	for _, name := range []string{"mine", "alias", filepath.Join(dir, "mine"), filepath.Join(dir, "sub/../alias")} {
		if text, err := ReadFile(name); string(text) != "mine" || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for name, want := range map[string]error{
		outside: ErrNotHere, "../outside": ErrNotHere, dir + "/../outside": ErrNotHere, dir + "2/mine": ErrNotHere, filepath.Dir(dir): ErrNotHere,
		"away": ErrLinkAway, filepath.Join(dir, "away"): ErrLinkAway,
	} {
		if _, err := ReadFile(name); !errors.Is(err, want) || Refusal(err) != want {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

// A process confines itself once: what confined it first stays.
func TestConfinedOnce(t *testing.T) {
	dir, outside := folders(t)
	confine(t, dir)
	if _, err := Confine(filepath.Dir(dir), nil); err == nil {
		t.Error("the process was confined again")
	}
	if _, err := Open(outside); !errors.Is(err, ErrOutside) {
		t.Error(err)
	}
	if _, err := Confine(filepath.Join(dir, "missing"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A confined process reads no variable of its environment: that is its owner's.
func TestConfinedEnvironment(t *testing.T) {
	t.Setenv("TAKT_SECRET", "x")
	if v, err := Getenv("TAKT_SECRET"); v != "x" || err != nil {
		t.Error(v, err)
	}
	if v, err := Getenv("TAKT_NONE"); v != "" || err == nil {
		t.Error(v, err)
	}
	dir, _ := folders(t)
	confine(t, dir)
	if v, err := Getenv("TAKT_SECRET"); v != "" || err == nil {
		t.Error(v, err)
	}
}

// Other processes open what package os does.
func TestNotConfined(t *testing.T) {
	dir, outside := folders(t)
	link(t, outside, filepath.Join(dir, "link"))
	for _, name := range []string{outside, filepath.Join(dir, "link"), filepath.Join(dir, "sub/../../outside")} {
		text, err := ReadFile(name)
		info, unseen := Stat(name)
		if string(text) != secret || errors.Join(err, unseen, Check(name)) != nil || info.Size() != int64(len(secret)) {
			t.Errorf("%s: %q, %v, %v", name, text, err, unseen)
		}
	}
	if to, err := EvalSymlinks(filepath.Join(dir, "link")); err != nil || filepath.Base(to) != "outside" {
		t.Errorf("%q, %v", to, err)
	}
	if Check("/") != nil || Check("../x") != nil {
		t.Error("a process that is not confined refuses names")
	}
}
