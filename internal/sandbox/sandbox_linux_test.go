//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain is the program that enters a sandbox, too.
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

// in runs a script in the sandbox of a folder.
func in(t *testing.T, s *Sandbox, f Folder, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := s.Confine(cmd, f); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(&out, err)
	}
	return out.String()
}

// A program sees the folder, its home and the system, has no rights, and leaves files that belong to
// the owner of the folder.
func TestSandbox(t *testing.T) {
	s := newSandbox(t, Options{})
	dir := t.TempDir()
	text := in(t, s, Folder{Dir: dir}, `pwd; echo $$; echo $HOME; grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):.0*$' /proc/self/status; grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status
		cat /proc/self/oom_score_adj; readlink /proc/self/fd/0; ls -d /root /home/* /etc/shadow /sys 2>/dev/null; echo mine >mine; echo kept >~/kept; touch /usr/x /x /etc/x 2>/dev/null || echo readonly`)
	if want := dir + "\n1\n/home/sandbox\n5\nNoNewPrivs:\t1\nSeccomp:\t2\n1000\n/dev/null\n/home/sandbox\nreadonly\n"; text != want {
		t.Errorf("%q\nwant\n%q", text, want)
	}
	info, err := os.Stat(filepath.Join(dir, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() || int(st.Gid) != os.Getgid() {
		t.Errorf("a new file belongs to %d:%d on the disk", st.Uid, st.Gid)
	}
	if text := in(t, s, Folder{Dir: dir}, "cat mine ~/kept; ls /tmp"); !strings.HasPrefix(text, "mine\nkept\n") {
		t.Error(text)
	}
	if text := in(t, s, Folder{Dir: t.TempDir()}, "cat ~/kept"); !strings.Contains(text, "No such file") {
		t.Errorf("folders share a home: %s", text)
	}
}

// Files to hide are hidden within the folder and the system, too; a fixed file cannot be changed,
// moved or removed.
func TestHideAndFix(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"secret": "tigerlily", "state/secret": "tigerlily", "fixed/a": "a", "seen/a": "seen"} {
		path := filepath.Join(dir, "clone", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	clone := filepath.Join(dir, "clone")
	beside := filepath.Join(dir, "beside")
	if err := os.WriteFile(beside, []byte("seen\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := newSandbox(t, Options{Hide: []string{filepath.Join(clone, "secret"), filepath.Join(clone, "state"), filepath.Join(dir, "none"), dir}, See: []string{beside}})
	text := in(t, s, Folder{Dir: clone, Fixed: []string{"fixed", "none"}}, `cat secret; ls -A state; cat `+beside+`; echo b >fixed/a; mv fixed x; rm -rf fixed; cat fixed/a; rm secret`)
	if strings.Contains(text, "tigerlily") || !strings.Contains(text, "seen\n") || !strings.HasSuffix(strings.Split(text, "rm: cannot remove 'secret'")[0], "a") {
		t.Error(text)
	}
	if got, err := os.ReadFile(filepath.Join(clone, "fixed/a")); string(got) != "a" {
		t.Errorf("%q, %v", got, err)
	}
}

// Nothing outlives a program, not even a process that has left its session.
func TestNothingSurvives(t *testing.T) {
	s := newSandbox(t, Options{})
	dir := t.TempDir()
	if text := in(t, s, Folder{Dir: dir}, `setsid sh -c 'sleep 0.3; echo x >late' </dev/null >/dev/null 2>&1 & sleep 0.1`); text != "" {
		t.Error(text)
	}
	time.Sleep(500 * time.Millisecond) // longer than the process waits
	if _, err := os.Stat(filepath.Join(dir, "late")); err == nil {
		t.Error("a process outlived the program")
	}
}

// Without what it needs there is no sandbox, and the reason is there.
func TestRefusals(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Options{
		"no such file": {Program: "/none", Home: t.TempDir()},
		"not a dire":   {Program: program, Home: program},
		"user":         {Program: program, Home: t.TempDir(), User: "no such user"},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := Enter(strings.NewReader("{}")); err == nil || !strings.Contains(err.Error(), "is for takt itself") {
		t.Error(err)
	}
	if err := Enter(strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "no plan") {
		t.Error(err)
	}
}

// A disk that is nearly full ends a program.
func TestGuard(t *testing.T) {
	s := newSandbox(t, Options{Reserve: 1 << 62})
	done := make(chan struct{})
	defer close(done)
	if err := <-s.Guard(t.TempDir(), done); err == nil || !strings.Contains(err.Error(), "and the sandbox leaves") {
		t.Error(err)
	}
}

// A program is in groups that have the limits.
func TestGroups(t *testing.T) {
	s := newSandbox(t, Options{Memory: 256 << 20, CPU: 0.5, Tasks: 99})
	if s.group.memory == 0 {
		t.Skip("takt may not create control groups here")
	}
	groups := in(t, s, Folder{Dir: t.TempDir()}, "cat /proc/self/cgroup")
	for _, p := range s.group.parts {
		if !strings.Contains(groups, filepath.Base(p.dir)) {
			t.Errorf("not in %s: %s", p.dir, groups)
		}
		for _, set := range p.settings {
			if text, err := os.ReadFile(filepath.Join(p.dir, set.name)); set.needed && (err != nil || strings.TrimSpace(string(text)) != set.value) {
				t.Errorf("%s is %q, want %q, %v", set.name, text, set.value, err)
			}
		}
	}
	t.Logf("%d groups", len(s.group.parts))
}

// Where control groups are not mounted, or not takt's, nothing is limited by them, and the text says so.
func TestNoGroups(t *testing.T) {
	dir := t.TempDir()
	g := groupIn(dir, "4:memory:/a\n0::/a/b\nx\n", 1<<30, 1, 10)
	if len(g.parts) != 0 || !strings.Contains(g.String(), "is not limited") {
		t.Errorf("%+v: %s", g, g)
	}
	if files, err := g.join(); len(files) != 0 || err != nil {
		t.Error(files, err)
	}
	if left, err := os.ReadDir(dir); len(left) != 0 || err != nil {
		t.Error(left, err)
	}
	for want, g := range map[string]*group{
		"at most 1.5 GiB of memory":                    {memory: 3 << 29},
		"at most 200 MiB of memory; at most 0.5 cores": {memory: 200 << 20, cpu: 0.5},
		"at most 200 MB of memory":                     {memory: 200e6},
	} {
		if g.String() != want {
			t.Error(g)
		}
	}
}

// Limits that somebody gave, and that takt may not set, are named.
func TestUnlimited(t *testing.T) {
	none := &group{}
	for _, c := range []struct {
		o    Options
		g    *group
		want string
	}{
		{Options{}, none, ""},
		{Options{Memory: 1}, none, "memory"},
		{Options{Memory: 1, CPU: 1}, none, "memory CPU"},
		{Options{Memory: 1, CPU: 1}, &group{memory: 1}, "CPU"},
		{Options{Memory: 1, CPU: 1}, &group{memory: 1, cpu: 1}, ""},
	} {
		s := &Sandbox{options: c.o, group: c.g}
		if got := strings.Join(s.Unlimited(), " "); got != c.want {
			t.Errorf("%+v, %+v: %q", c.o, c.g, got)
		}
	}
}

// A group of the CPU limits the CPU, in each version.
func TestGroupOfCPU(t *testing.T) {
	for own, files := range map[string]string{
		"3:cpu,cpuacct:/\n": "cpu,cpuacct cpu.cfs_period_us cpu.cfs_quota_us",
		"0::/\n":            " memory.max pids.max cpu.max",
	} {
		dir := t.TempDir()
		at, names, _ := strings.Cut(files, " ")
		at = filepath.Join(dir, at, groupName+strconv.Itoa(os.Getpid()))
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		for name := range strings.FieldsSeq(names) {
			if err := os.WriteFile(filepath.Join(at, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if g := groupIn(dir, own, 1<<20, 2, 10); g.cpu != 2 {
			t.Errorf("%q: %s", own, g)
		}
		if g := groupIn(dir, own, 1<<20, 0, 10); g.cpu != 0 {
			t.Errorf("%q without a limit: %s", own, g)
		}
	}
}

// The filter is short enough for the kernel, and each rule ends within itself.
func TestFilter(t *testing.T) {
	code := program()
	if len(code) > 4096 {
		t.Errorf("%d instructions", len(code))
	}
	for i, c := range code {
		if c.Code&7 == unix.BPF_JMP && (i+1+int(c.Jt) >= len(code) || i+1+int(c.Jf) >= len(code)) {
			t.Errorf("instruction %d leads out of the filter", i)
		}
	}
}

// A quota limits the CPU of programs outside of a sandbox, and nothing else of them.
func TestQuota(t *testing.T) {
	q, err := NewQuota(0.05)
	if err != nil {
		t.Skip(err) // the error says why
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	if err := q.Add([]int{cmd.Process.Pid, 1 << 22}); err != nil {
		t.Error(err)
	}
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", cmd.Process.Pid))
	if err != nil || !strings.Contains(string(groups), groupName) {
		t.Errorf("not in a group: %s, %v", groups, err)
	}
	for _, p := range q.group.parts {
		for _, set := range p.settings {
			if !strings.HasPrefix(set.name, "cpu.") {
				t.Errorf("it also sets %s", set.name)
			}
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := q.Remove(); err != nil {
		t.Error(err)
	}
}
