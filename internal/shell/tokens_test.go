package shell_test

import (
	"crypto/tls"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/shell"
)

// With tokens the first line says who somebody is. Three wrong ones are all for a
// minute; a token is neither shown nor kept.
func TestAuth(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "tokens")
	if err := os.WriteFile(path, []byte("ann hunter2hunter2\nbob swordfish-swordfish\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := serve(t, home, inProcess, "--token-file", path)
	say := func(first string) (*client, string) {
		c := dial(t, server.addr)
		c.until(regexp.MustCompile(`auth TOKEN\n$`))
		c.send(first)
		return c, c.until(regexp.MustCompile(`\n>>> $|error: .*\n$|^$`))
	}
	for _, token := range []string{"hunter2hunter2", "swordfish-swordfish"} {
		c, text := say("auth " + token)
		if !strings.HasPrefix(text, "takt test: type 'help'") {
			t.Fatalf("%q", text)
		}
		own, other := "you are ann\n", ""
		if token[0] == 's' { // hunter2hunter2 is another one's
			other = "error: auth: this session is that of bob; to be another user, begin another session\n"
			own = other
		}
		c.send("auth hunter2hunter2; define x" + token[:3] + " status; status")
		if text := c.until(prompted); !strings.HasPrefix(text, other+"error: define: write it at the beginning of a line") {
			t.Errorf("%q", text)
		}
		c.send("define mine status")
		c.until(prompted)
		c.send("auth hunter2hunter2")
		if text := c.until(prompted); text != own {
			t.Errorf("%q", text)
		}
	}
	for i, first := range []string{"auth hunter2", "status", "auth", "auth hunter2hunter2"} {
		want := "error: unknown token"
		if i == 3 {
			want = "error: too many wrong tokens; wait for a minute"
		}
		if _, text := say(first); !strings.HasPrefix(text, want) {
			t.Errorf("%s: %q", first, text)
		}
	}
	server.stop()
	err := filepath.WalkDir(home, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == path {
			return err
		}
		b, err := os.ReadFile(name)
		if strings.Contains(string(b), "hunter2") {
			t.Errorf("%s has the token", name)
		}
		return err
	})
	if _, missing := os.Stat(filepath.Join(home, "state", "user-bob.json")); err != nil || missing != nil {
		t.Error(err, missing)
	}
}

// Beyond loopback without TLS the greeting warns; with a certificate it is TLS.
func TestWarning(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "tokens")
	if err := os.WriteFile(path, []byte("ann hunter2hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := serve(t, home, inProcess, "--addr", "0.0.0.0:0", "--token-file", path, "--insecure")
	_, port, _ := net.SplitHostPort(server.addr)
	c := dial(t, "127.0.0.1:"+port)
	if text := c.until(regexp.MustCompile(`auth TOKEN\n$`)); !strings.HasPrefix(text, "warning: this connection is not encrypted") {
		t.Errorf("%q", text)
	}
	c.send("auth hunter2hunter2")
	c.until(prompted)
	c.send("http -n 1 http://127.0.0.1:1/")
	if text := c.until(prompted); text != "error: http: 127.0.0.1:1 may not be loaded; the server allows what --allow-target lists\n" {
		t.Errorf("%q", text)
	}
}

// The unix socket is its owner's from the first moment, goes with the server, and takes
// the place of one that a killed server has left, but not of a live one or of a file.
func TestUnix(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "takt.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	server := serve(t, dir, inProcess, "--addr", "", "--unix", path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{conn: conn, fatal: t.Fatal}
	c.until(prompted)
	host := cli.ShellHost(environment(t.Context(), dir))
	if _, err := shell.Listen(shell.Options{Unix: path, DumpDir: dir}, host); err == nil || !strings.Contains(err.Error(), "another server listens on") {
		t.Error(err)
	}
	server.stop()
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket is left")
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := shell.Listen(shell.Options{Unix: path, DumpDir: dir}, host); err == nil || !strings.Contains(err.Error(), "exists and is not a socket of takt") {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".takt-*")); len(left) > 0 {
		t.Error(left)
	}
}

// TLS is served with a certificate.
func TestTLS(t *testing.T) {
	home := t.TempDir()
	cert, key := certificate(t, home)
	server := serve(t, home, inProcess, "--tls-cert", cert, "--tls-key", key)
	conn, err := tls.Dial("tcp", server.addr, &tls.Config{InsecureSkipVerify: true}) // its own
	if err != nil {
		t.Fatal(err)
	}
	c := &client{conn: conn, fatal: t.Fatal}
	if text := c.until(prompted); !strings.HasPrefix(text, "takt test") {
		t.Errorf("%q", text)
	}
	c.send("quit")
	c.until(closed)
}
