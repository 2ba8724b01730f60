//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	if IsEntry() {
		os.Exit(Run(os.Stdin, os.Stderr))
	}
	os.Exit(m.Run())
}

// newSandbox is a sandbox, or a skipped test where the machine has none.
func newSandbox(t *testing.T, o Options) *Sandbox {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Program, o.Home = program, filepath.Join(t.TempDir(), "homes")
	s, err := New(o)
	if err != nil {
		t.Skip("this machine has no sandbox: ", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// in runs a script in the sandbox of dir.
func in(t *testing.T, s *Sandbox, f Folder, script string, args ...string) string {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := s.Confine(cmd, f); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Run(); err != nil {
		out.WriteString(err.Error() + "\n")
	}
	return out.String()
}

func TestSandbox(t *testing.T) {
	s := newSandbox(t, Options{})
	dir := t.TempDir()
	t.Setenv("TAKT_BEARER", "tigerlily") // this process's alone: a command has the environment that its caller sets
	text := in(t, s, Folder{Dir: dir}, `
		id -u; pwd; echo $$; ls /; ls /proc | grep -c '^[0-9]*$'; grep -E 'Cap|NoNew|Seccomp:' /proc/self/status
		cat /proc/self/oom_score_adj; echo mine >mine; echo $HOME; echo h >~/kept; mount | wc -l; ls /proc/self/fd; readlink /proc/self/fd/0`)
	t.Log(s, "\n"+text)
	info, err := os.Stat(filepath.Join(dir, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != os.Getuid() || int(st.Gid) != os.Getgid() {
		t.Errorf("a new file belongs to %d:%d on the disk", st.Uid, st.Gid)
	}
	if text := in(t, s, Folder{Dir: dir}, "cat ~/kept mine"); text != "h\nmine\n" {
		t.Error(text)
	}
	if strings.Contains(text, "root\n") && !strings.Contains(text, "home\n") {
		t.Error(text)
	}
}
