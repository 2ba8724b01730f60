package door

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Secrets that others can read or change are refused with what to do, unless no one
// else comes to the file.
func TestPrivate(t *testing.T) {
	open, closed := t.TempDir(), t.TempDir()
	for dir := open; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir   string
		mode  fs.FileMode
		fault string
	}{
		{open, 0o600, ""},
		{open, 0o400, ""},
		{open, 0o640, ""},
		{open, 0o644, "can be read by every user of this machine, its mode is 0644; run chmod 600 "},
		{open, 0o444, "can be read by every user"},
		{open, 0o660, "can be changed by others, its mode is 0660; run chmod 600 "},
		{open, 0o602, "can be changed by others"},
		{closed, 0o644, ""},
		{closed, 0o666, "can be changed by others"},
	} {
		path := filepath.Join(c.dir, "tokens")
		if err := os.WriteFile(path, []byte("ann 12345678\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		all, err := ReadTokens(path)
		switch {
		case c.fault == "" && (err != nil || len(all) != 1):
			t.Errorf("%s of mode %o: %v", path, c.mode, err)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault) || !strings.Contains(err.Error(), "check --token-file")):
			t.Errorf("%s of mode %o: %v, want %s", path, c.mode, err, c.fault)
		}
		os.Remove(path)
	}
}

// A file of another user is that user's to change, whatever its mode is; one of root is fine.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("ann 12345678\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[int]string{0: "", 54321: "can be changed by the user 54321, to whom it belongs; run chown 0 "} {
		if err := os.Chown(path, uid, 0); err != nil {
			t.Skip(err)
		}
		switch _, err := ReadTokens(path); {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("of user %d: %v", uid, err)
		}
	}
}

// What is in a named pipe of another user is that user's.
func TestPipeOfAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	if err := errors.Join(syscall.Mkfifo(path, 0o600), os.Chown(path, 54321, -1)); err != nil {
		t.Skip("only root can give a pipe to another user: ", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	theirs, strangers := Theirs(path, info)
	for _, err := range []error{theirs, strangers} {
		if err == nil || !strings.Contains(err.Error(), "can be changed by the user 54321") {
			t.Error(err)
		}
	}
}

// A link leads to where the file is: its own folder says nothing. What an engine shows a
// container as a secret is fine with the mode that the engine chooses.
func TestSheltered(t *testing.T) {
	hidden, shown := t.TempDir(), t.TempDir()
	for dir := shown; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(shown, "tokens")
	if err := os.WriteFile(secret, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(hidden, "tokens")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(hidden, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{link: false, secret: false, "/run/secrets/tokens": true, "/run/secrets/../passwd": false, "/run/secretstokens": false, "/nowhere/tokens": false} {
		if isSheltered(path) != want {
			t.Errorf("%s: %t", path, !want)
		}
	}
	if err := checkPrivate("/run/secrets/tokens", 0o444); err != nil {
		t.Error(err)
	}
	if err := checkMode("/run/secrets/tokens", 0o666, 0o022); err == nil {
		t.Error("a secret that others can change is taken")
	}
}

// A pipe, such as <(pass show tokens), is its maker's.
func TestPrivatePipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Skip(err)
	}
	go func() { _ = os.WriteFile(path, []byte("ann 12345678\n"), 0) }()
	if all, err := ReadTokens(path); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
}

// A file that has no end, or is not a file of secrets, is no secret that both sides have in common.
func TestPrivateIsShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	for size, refused := range map[int]bool{maxPrivate: false, maxPrivate + 1: true, 3 * maxPrivate: true} {
		if err := os.WriteFile(path, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := ReadPrivate(path); refused != (err != nil) || !refused && len(text) != size {
			t.Errorf("%d bytes: %d, %v", size, len(text), err)
		}
	}
	if text, err := ReadPrivate("/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero: it has more than 1 MiB; give the name of a smaller file") {
		t.Error(len(text), err)
	}
	if _, err := Certificate("/dev/zero", path); err == nil || !strings.Contains(err.Error(), "/dev/zero: it has more than 16 MiB; give the name of a smaller file") {
		t.Error(err)
	}
}

// A file that another user can replace says what that user wants: where everybody may write without the
// sticky bit, and below a folder of another user. So does a link that a stranger made.
func TestReplaceable(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder to another user")
	}
	const stranger = 65534
	for name, c := range map[string]struct {
		mode    fs.FileMode
		owner   int
		refused bool
	}{
		"a folder of mine":             {0o755, 0, false},
		"everybody may write":          {0o777, 0, true},
		"everybody, with sticky bit":   {0o777 | fs.ModeSticky, 0, false},
		"a folder of another user":     {0o755, stranger, true},
		"the group may write, as well": {0o775, 0, false},
	} {
		dir := t.TempDir()
		above := filepath.Join(dir, "above")
		path := filepath.Join(above, "sub", "tokens")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("ann 12345678\n"), 0o600), os.Chown(above, c.owner, -1), os.Chmod(above, c.mode)); err != nil {
			t.Fatal(err)
		}
		_, err := ReadTokens(path)
		if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "can be replaced by another user, who may write in the folder "+above) {
			t.Errorf("%s: %v", name, err)
		}
	}
	shared, mine := filepath.Join(t.TempDir(), "shared"), filepath.Join(t.TempDir(), "mine")
	link := filepath.Join(shared, "tokens")
	if err := errors.Join(os.Mkdir(shared, 0o700), os.WriteFile(mine, []byte("ann 12345678\n"), 0o600), os.Symlink(mine, link), os.Lchown(link, stranger, -1), os.Chmod(shared, 0o777|fs.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTokens(link); err == nil || !strings.Contains(err.Error(), "is a link that user 65534 made") {
		t.Error(err)
	}
}
