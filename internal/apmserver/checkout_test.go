package apmserver

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseSwitch(t *testing.T) {
	for _, test := range []struct {
		words string
		want  Switch
	}{
		{"master", Switch{Branch: "master"}},
		{"-fcmv axw/trace-apm-server", Switch{Branch: "axw/trace-apm-server", Fetch: true, Checkout: true, Make: true, Verbose: true}},
		{"-v axw/trace-apm-server c961d664fbe5893d523bd9077be64617f57a96e7", Switch{Branch: "axw/trace-apm-server", Revision: "c961d664fbe5893d523bd9077be64617f57a96e7", Verbose: true}},
		{"master --fetch abc -c --make-update", Switch{Branch: "master", Revision: "abc", Fetch: true, Checkout: true, MakeUpdate: true}},
		{"-u --make m --checkout --verbose", Switch{Branch: "m", MakeUpdate: true, Make: true, Checkout: true, Verbose: true}},
	} {
		got, err := ParseSwitch(strings.Fields(test.words))
		if err != nil || got != test.want {
			t.Errorf("%s: %+v, %v", test.words, got, err)
		}
	}
	for words, wants := range map[string][]string{
		"":              {"not 0 words"},
		"a b c":         {"not 3 words"},
		"-fx a b c":     {`no option "x" in -fx`, "not 3 words"},
		"--fetchh a":    {`no option "fetchh"`},
		"--fetch=no a":  {`no option "fetch=no"`},
		"a..b c^ -q -z": {`"a..b"`, `"c^"`, `"q"`, `"z"`},
		"- a":           {`no option ""`},
	} {
		_, err := ParseSwitch(strings.Fields(words))
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no %s in %v", words, want, err)
			}
		}
	}
}

// What is accepted goes to git as it is, and must be no option of git's.
func FuzzParseSwitch(f *testing.F) {
	for _, seed := range []string{"-fcmv a/b", "a b -f", "--make x", "-", "--", "-- a", "a -b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		s, err := ParseSwitch(strings.Fields(line))
		if err == nil && (s.Branch == "" || strings.HasPrefix(s.Branch+s.Revision, "-") || strings.HasPrefix(s.Revision, "-")) {
			t.Errorf("%q is %+v", line, s)
		}
	})
}

func TestSplit(t *testing.T) {
	for _, test := range []struct{ given, remotes, remote, branch string }{
		{"master", "origin", "origin", "master"},
		{"axw/trace", "origin axw", "axw", "trace"},
		{"feature/x", "origin axw", "origin", "feature/x"},
		{"axw/feature/x", "origin axw", "axw", "feature/x"},
		{"axw/", "axw", "origin", "axw/"},
	} {
		remote, branch := (&Switch{Branch: test.given}).split(strings.Fields(test.remotes))
		if remote != test.remote || branch != test.branch {
			t.Errorf("%+v: %s %s", test, remote, branch)
		}
	}
	if remote, branch := (&Switch{Branch: "axw/a/b"}).split(nil); remote != "axw" || branch != "a/b" {
		t.Error(remote, branch)
	}
}

func TestSteps(t *testing.T) {
	for words, want := range map[string]string{
		"b":               "",
		"-mucf axw/b":     "git fetch axw|git -c advice.detachedHead=false checkout axw/b --|make update|make",
		"-fc axw/b c961d": "git fetch axw|git -c advice.detachedHead=false checkout c961d --",
	} {
		s, err := ParseSwitch(strings.Fields(words))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, step := range steps(&s, "axw") {
			got = append(got, strings.Join(step, " "))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %s", words, got)
		}
	}
}

// A local branch that is not what was fetched is said, and so is how to get that.
func TestSwitchStale(t *testing.T) {
	clone := newClone(t)
	shell(t, `git -C "$1" checkout -q -B main origin/other`, clone)
	c, err := NewCheckout(clone, nil)
	if err != nil {
		t.Fatal(err)
	}
	for words, said := range map[string]bool{"-fc main": true, "-c main": false, "-fc origin/main": false, "-fc main origin/other": false} {
		s, err := ParseSwitch(strings.Fields(words))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := c.Switch(t.Context(), s, &out); err != nil || said != strings.HasSuffix(out.String(), "; for that one: apm switch -c origin/main\n") {
			t.Errorf("%s: %v, %q", words, err, out.String())
		}
	}
}

func TestSwitch(t *testing.T) {
	clone := newClone(t)
	c, err := NewCheckout(clone, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Location().Kind != KindCheckout || c.Location().String() != clone {
		t.Error(c.Location())
	}
	hash := map[string]string{}
	for _, branch := range []string{"main", "other"} {
		hash[branch] = shell(t, `git -C "$1" rev-parse origin/$2`, clone, branch)
	}
	for _, test := range []struct{ words, branch string }{
		{"main", "main"},
		{"-fcumv origin/other", "other"},
		{"-c main", "main"},
		{"-c other " + hash["other"][:8], "other"},
		{"other " + hash["other"], "other"},
	} {
		s, err := ParseSwitch(strings.Fields(test.words))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		got, err := c.Switch(t.Context(), s, &out)
		want := Revision{Branch: test.branch, Hash: hash[test.branch], Date: time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC), Subject: hash[test.branch][:7] + " the server of " + test.branch}
		if err != nil || got != want || c.Revision() != want {
			t.Errorf("%s: %+v, %v, want %+v", test.words, got, err, want)
		}
		shown := []string{"$ git fetch origin\n", "$ make update\nupdating\n", "$ make\nmaking other\n"}
		if missing := slices.ContainsFunc(shown, func(s string) bool { return !strings.Contains(out.String(), s) }); missing == s.Verbose {
			t.Errorf("%s says\n%s", test.words, &out)
		}
	}
}

// A switch that fails says what the command said, and leaves no revision.
func TestSwitchFails(t *testing.T) {
	clone := newClone(t)
	c, err := NewCheckout(clone, nil)
	if err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string][]string{
		"other":            {"is at ", "which is not other; add -c"},
		"main 1234567":     {"which is not 1234567; add -c"},
		"-c nothing":       {"git failed: exit status 1", "nothing"},
		"-f nobody/main":   {"which is not nobody/main"},
		"-c main deadbeef": {"git failed", "deadbeef"},
	} {
		if _, err := c.Switch(t.Context(), Switch{Branch: "main"}, t.Output()); err != nil {
			t.Fatal(err)
		}
		s, err := ParseSwitch(strings.Fields(words))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err = c.Switch(t.Context(), s, &out); err == nil {
			t.Errorf("%s: no error", words)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error()+"\n"+out.String(), part) {
				t.Errorf("%s: no %q in %v\n%s", words, part, err, &out)
			}
		}
		if c.Revision() != (Revision{}) {
			t.Errorf("%s: %+v", words, c.Revision())
		}
	}
}

func TestSwitchSeesChanges(t *testing.T) {
	clone := newClone(t)
	c, err := NewCheckout(clone, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(clone, "new.txt"), nil, 0o600); err != nil { // as make leaves
		t.Fatal(err)
	}
	if r, err := c.Switch(t.Context(), Switch{Branch: "main"}, t.Output()); err != nil || r.Unstaged {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.WriteFile(filepath.Join(clone, "Makefile"), []byte("#"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Switch(t.Context(), Switch{Branch: "main"}, t.Output()); err != nil || !r.Unstaged {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestNoClone(t *testing.T) {
	if _, err := NewCheckout(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "is not a git clone; give") {
		t.Error(err)
	}
	c, err := NewCheckout(newClone(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Start(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "apm switch -m") {
		t.Error(err)
	}
	for _, o := range []Options{{MemoryLimit: 4e9}, {CPULimit: 2}} { // nothing would hold it to them
		if _, err := c.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--mem and --cpu limit a container, which the server of /") {
			t.Error(err)
		}
	}
}

func TestRemote(t *testing.T) {
	r, err := NewRemote("http://a:8200/", "https://b.example.com")
	if err != nil || r.Location().String() != "http://a:8200,https://b.example.com" {
		t.Errorf("%v, %v", r.Location(), err)
	}
	got, err := r.Switch(t.Context(), Switch{Branch: "axw/main", Revision: "abc"}, nil)
	if err != nil || got != (Revision{Branch: "main", Hash: "abc"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := r.Switch(t.Context(), Switch{Branch: "main", Make: true}, nil); err == nil || r.Revision() != (Revision{}) {
		t.Errorf("%v, %+v", err, r.Revision())
	}
	_, err = NewRemote("http://", "ftp://h", "http://u:secret@h", "http://u:secret@h:port", "a b")
	if lines := strings.Split(errors.Join(err).Error(), "\n"); len(lines) != 5 || strings.Contains(err.Error(), "secret\"") || strings.Contains(err.Error(), "secret@") {
		t.Error(err)
	}
	if _, err := r.Start(t.Context(), Options{MemoryLimit: 4e9}); err == nil || !strings.Contains(err.Error(), "the server of http://a:8200,https://b.example.com is not") {
		t.Error(err)
	}
	if _, err := NewRemote(); err == nil {
		t.Error("no error without URLs")
	}
}
