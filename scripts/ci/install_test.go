package ci_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// release makes a folder as a release has it, with a takt that says its version, and returns its address.
func release(t *testing.T) (dir, archive string) {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{
		"takt": "#!/bin/sh\necho takt 1.2.3\n", "man/takt.1": "a page", "man/takt-http.1": "a page",
		"completions/takt.bash": "bash", "completions/_takt": "zsh", "completions/takt.fish": "fish",
	} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if w.Close() != nil || z.Close() != nil {
		t.Fatal("cannot pack")
	}
	dir, archive = t.TempDir(), fmt.Sprintf("takt_1.2.3_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	writeFile(t, filepath.Join(dir, archive), packed.String())
	writeFile(t, filepath.Join(dir, "takt_1.2.3_checksums.txt"), fmt.Sprintf("%x  %s\n%x  other.tar.gz\n", sha256.Sum256(packed.Bytes()), archive, 7))
	return dir, archive
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// install runs a script of the shell with a release in dir, and returns what it says.
func install(t *testing.T, dir, script string, env ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl, which reads addresses of files, is not here")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = append(os.Environ(), append([]string{"TAKT_FROM=file://" + dir, "TAKT_VERSION=1.2.3"}, env...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// install.sh puts each file into its place, also over an older takt, and nothing if the archive is not the
// one whose checksum the release has.
func TestInstall(t *testing.T) {
	to := t.TempDir()
	dir, archive := release(t)
	for range 2 {
		out, err := install(t, dir, "sh ../install.sh", "PREFIX="+to)
		if err != nil || !strings.Contains(out, "installed takt 1.2.3 in "+to) || !strings.Contains(out, "is not in PATH") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for path, mode := range map[string]os.FileMode{
		"bin/takt": 0o755, "share/man/man1/takt-http.1": 0o644, "share/bash-completion/completions/takt": 0o644,
		"share/zsh/site-functions/_takt": 0o644, "share/fish/vendor_completions.d/takt.fish": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(to, path)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v", path, err)
		}
	}
	whole, err := os.ReadFile(filepath.Join(dir, archive))
	if err != nil {
		t.Fatal(err)
	}
	sums := filepath.Join(dir, "takt_1.2.3_checksums.txt")
	for _, c := range []struct {
		name   string
		damage func()
		says   string
	}{
		{"cut", func() { writeFile(t, filepath.Join(dir, archive), string(whole[:len(whole)/2])) }, "the checksum of " + archive + " is wrong"},
		{"not listed", func() { writeFile(t, sums, "0000  "+archive+"\n") }, "does not have " + archive},
		{"no list", func() { os.Remove(sums) }, "no list of checksums"},
		{"no archive", func() { os.Remove(filepath.Join(dir, archive)) }, "cannot be read; check the version"},
	} {
		c.damage()
		to := t.TempDir()
		if out, err := install(t, dir, "sh ../install.sh", "PREFIX="+to); err == nil || !strings.Contains(out, c.says) {
			t.Errorf("%s: %v\n%s", c.name, err, out)
		}
		if left, _ := os.ReadDir(to); len(left) > 0 {
			t.Errorf("%s: %v are installed", c.name, left)
		}
	}
	if out, err := install(t, dir, "sh ../install.sh", "TAKT_VERSION="); err == nil || !strings.Contains(out, "TAKT_FROM is set without TAKT_VERSION") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The action installs takt, and later steps find it.
func TestSetupAction(t *testing.T) {
	b, err := os.ReadFile("setup/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(string(b), "run: |\n")
	path, temp := filepath.Join(t.TempDir(), "path"), t.TempDir()
	dir, _ := release(t)
	if out, err := install(t, dir, script, "GITHUB_PATH="+path, "RUNNER_TEMP="+temp, "GITHUB_ACTION_PATH=setup"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != temp+"/takt/bin\n" {
		t.Errorf("%v, %q", err, b)
	}
	if _, err := os.Stat(filepath.Join(temp, "takt/bin/takt")); err != nil {
		t.Error(err)
	}
}
