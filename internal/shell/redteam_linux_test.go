package shell_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taktload/takt/internal/sandbox"
	"github.com/taktload/takt/internal/shell"
	"github.com/taktload/takt/internal/test/racetest"
)

// The red team: what users of each role, and the code of a checkout, try in order to leave what
// they may do. No attempt may have an effect, and the audit log has all of them.

// redTeam is a server with a folder, and what is outside of it.
type redTeam struct {
	t                 *testing.T
	home, dir, clone  string
	audit             string
	server            *running
	web               *web
	unix              string
	confined, limited bool
}

// newRedTeam starts a server whose sandbox has the mode.
func newRedTeam(t *testing.T, mode string, change func(*shell.Options)) *redTeam {
	t.Helper()
	home := t.TempDir()
	confine(t, home)
	r := &redTeam{t: t, home: home, dir: outside(t, home), clone: filepath.Join(home, "clone"), audit: filepath.Join(home, "audit"), unix: filepath.Join(home, "socket")}
	tokens := filepath.Join(home, "tokens")
	if err := os.WriteFile(tokens, []byte("ann correct-horse\nbob hunter2hunter2\nlou battery-staple look\neve capital-letter admin\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"Makefile": ".PHONY: apm-server\napm-server:\n\t@sh ./attempts.sh\n", "apm-server": "#!/bin/sh\nexec sh ./attempts.sh\n",
		".gitattributes": "* filter=evil\n", ".gitmodules": "[submodule \"sub\"]\n\tpath = sub\n\turl = ext::sh -c 'touch " + r.dir + "/ext'\n",
	} {
		r.write(name, text)
	}
	r.run(`git init -q -b main . && git add . && git -c user.name=a -c user.email=a@example.com commit -q -m all && cp "$1" probe && ln -s "$2/secret" link && ln -s "$3/dumps" dumps`, program, r.dir, home)
	o := shell.Options{
		Addr: "127.0.0.1:0", HTTP: "127.0.0.1:0", Unix: r.unix, TokenFile: tokens, DumpDir: filepath.Join(home, "dumps"), StateDir: filepath.Join(home, "state"), AuditLog: r.audit,
		Sandbox: shell.Confinement{Mode: mode, Home: filepath.Join(home, "cache"), Tasks: 60, Memory: 300 << 20, Reserve: 1},
	}
	if mode == "require" && !hasSandbox(t) {
		o.Sandbox.Memory = 0 // takt would refuse to start
	}
	o.Allow, o.Targets = []string{"127.0.0.1"}, map[string]string{"shop": "http://127.0.0.1:1"}
	o.Folders = map[string]string{"main": r.clone}
	if change != nil {
		change(&o)
	}
	r.server = serveWith(t, o, home, func(ctx context.Context, abort <-chan struct{}, call shell.Call) int {
		if slices.Contains(call.Args, "1/h") { // goes on until it is cancelled
			<-ctx.Done()
			return 0
		}
		return inProcess(ctx, abort, call)
	})
	r.web = &web{t: t, url: r.server.http}
	for name, text := range map[string]string{ // as a target may have answered
		"body": secret, "answer": "{{file `OUT/secret`}}", "dots": "{{file \"../outside/secret\"}}", "over-link": "{{file `link/secret`}}", "environ": "{{file `/proc/self/environ`}}", "piped": "{{file `pipe`}}",
		"config": "body-file = OUT/secret\n", "config-link": "bearer-file = link/secret\n",
	} {
		if err := os.WriteFile(filepath.Join(home, "dumps", name), []byte(r.fill(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link": r.dir, "self": "/proc/self", "dangling": filepath.Join(r.dir, "new"), "secret": filepath.Join(r.dir, "secret")} {
		if err := os.Symlink(to, filepath.Join(home, "dumps", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(home, "dumps/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

// write writes a file of the clone.
func (r *redTeam) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.clone, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

// run runs a script in the clone, outside of the sandbox.
func (r *redTeam) run(script string, args ...string) {
	r.t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Dir = r.clone
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatal(err, string(out))
	}
}

// fill puts what an attempt has to know into its text.
func (r *redTeam) fill(text string) string {
	return strings.NewReplacer("OUT", r.dir, "HOME_", r.home, "PID", fmt.Sprint(os.Getpid()), "SHELL_", r.server.addr, "API", r.server.http, "UNIX", r.unix).Replace(text)
}

// attempt is something that must not succeed. Its script ends with 0 if it does.
type attempt struct {
	name, script string
	// open: succeeds without a sandbox, whoever takt's user is, and harms nothing there. So the test
	// can show that the attempt is a real one.
	open bool
}

// checkoutAttempts are what a Makefile and the program that it builds try.
func checkoutAttempts() []attempt {
	return []attempt{
		{"write outside", "echo x >OUT/new", true},
		{"write beside the clone", "echo x >../new", true},
		{"read a file outside", "grep -q . OUT/secret", true},
		{"read the token file", "grep -q . HOME_/tokens", true},
		{"add a token", "echo mal open-sesame admin >>HOME_/tokens", true},
		{"read the state", "ls HOME_/state/* | grep -q .", true},
		{"read dumps", "grep -q . HOME_/dumps/body", true},
		{"write dumps", "echo x >HOME_/dumps/new", true},
		{"read the audit log", "grep -q . HOME_/audit", true},
		{"forge the audit log", "echo x >>HOME_/audit", true},
		{"read through a link of the clone", "grep -q . link", true},
		{"list through a link to dumps", "ls dumps/ | grep -q .", true},
		{"hard link", "ln OUT/secret hard", true},
		{"read the environment of takt", ": </proc/PID/environ", true},
		{"read the command line of takt", ": </proc/PID/cmdline", true},
		{"see the process of takt", "ls /proc | grep -qx PID", true},
		{"read files of takt by /proc", "ls /proc/PID/root/", true},
		{"open the memory of takt", ": </proc/PID/mem", false},
		{"signal takt", "kill -0 PID", true},
		{"read keys of ssh", "ls ~root/.ssh /home/*/.ssh /root", false},
		{"read shadow", ": </etc/shadow", false},
		{"read devices", ": </dev/vda || : </dev/sda || : </dev/mem || : </dev/kmsg", false},
		{"the terminal", ": </dev/tty", false},
		{"control groups", "ls /sys/fs/cgroup | grep -q .", false},
		{"the socket of the engine", "ls /run/docker.sock /var/run/docker.sock", false},
		{"the ssh agent", `test -n "$SSH_AUTH_SOCK"`, false},
		{"secrets in the environment", "env | grep -q TAKT_BEARER", false},
		{"set-user-ID", "cp /bin/sh mine && chmod u+s mine", true},
		{"set-group-ID", "cp /bin/sh mine && chmod g+s mine", true},
		{"su", "su root -c id </dev/null", false},
		{"a namespace with all rights", "unshare -Ur true", false},
		{"settings of git", "echo '[core]' >>.git/config", true},
		{"git config", "git config core.sshCommand 'touch OUT/ssh'", true},
		{"a hook", "echo 'touch OUT/hook' >.git/hooks/post-checkout", true},
		{"attributes of git", "mkdir -p .git/info && echo '* filter=x' >.git/info/attributes", true},
		{"another .git", "mv .git old && mkdir .git", false},
		{"the name of the machine", "./probe PROBE hostname", false},
		{"ptrace", "./probe PROBE seize PID", false},
		{"read the memory of takt", "./probe PROBE read PID", false},
		{"a handle of takt", "./probe PROBE pidfd PID", true},
		{"the shell without a token", "./probe PROBE shell SHELL_", false},
		{"the unix socket", "./probe PROBE socket UNIX", true},
		{"the API without a token", "./probe PROBE api API", false},
		{"the API with a wrong token", "./probe PROBE api-token API", false},
		{"open files of takt", "./probe PROBE leak", false},
		{"become root", "./probe PROBE root", false},
		{"become the group of root", "./probe PROBE group", false},
		{"join the groups of root", "./probe PROBE groups", false},
		{"mount", "./probe PROBE mount", false},
		{"make .git writable", "./probe PROBE remount .git", false},
		{"uncover the place of the clone", "./probe PROBE uncover .", false},
		{"chroot", "./probe PROBE chroot", false},
		{"unshare a user namespace", "./probe PROBE userns", false},
		{"clone a user namespace", "./probe PROBE clone", false},
		{"a device", "./probe PROBE device", false},
		{"keys of the kernel", "./probe PROBE keyring", false},
		{"bpf", "./probe PROBE bpf", false},
		{"io_uring", "./probe PROBE uring", false},
		{"capabilities", "./probe PROBE rights", false},
		{"raise a limit", "./probe PROBE limits", false},
		{"set-user-ID by fchmodat", "./probe PROBE suid-fchmodat", true},
		{"set-user-ID by fchmodat2", "./probe PROBE suid-fchmodat2", false},
		{"set-user-ID by open", "./probe PROBE suid-open", true},
		{"set-user-ID by mknod", "./probe PROBE suid-mknod", true},
		{"protect from the killer", "./probe PROBE oom", false},
	}
}

// boxedAttempts are those that would harm the machine without a sandbox.
func (r *redTeam) boxedAttempts() []attempt {
	all := []attempt{
		{"fork bomb", "./probe PROBE fork 80", false},
		{"remove .git", "rm -rf .git && test ! -e .git", false},
		{"replace the clone", "mv ../clone ../old && mkdir ../clone", false},
		{"signal everybody", "kill -0 PID || kill -0 $(($(cat /proc/sys/kernel/ns_last_pid)+50))", false},
	}
	if version, _, _ := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION); int(version) >= 6 {
		all = append(all, attempt{"an abstract socket", "./probe PROBE abstract takt-PID", false})
	} else {
		r.t.Log("this kernel does not confine abstract sockets: 1 attempt left out")
	}
	if r.limited {
		all = append(all, attempt{"fill the memory", "./probe PROBE memory 400", false})
	}
	return all
}

// script writes the attempts into the clone: each prints its name and outcome.
func (r *redTeam) script(all []attempt) {
	var b strings.Builder
	b.WriteString("export GORACE=atexit_sleep_ms=0\nsetsid sh -c 'sleep 77." + r.mark() + "' </dev/null >/dev/null 2>&1 &\n")
	var batch strings.Builder // one start of the test binary for many attempts
	for _, a := range all {
		script := r.fill(strings.ReplaceAll(a.script, "PROBE", probeWord))
		if words, is := strings.CutPrefix(script, "./probe "+probeWord+" "); is && !strings.HasPrefix(words, "memory") && !strings.HasPrefix(words, "fork") {
			fmt.Fprintf(&batch, "%s\t%s\n", a.name, words)
			continue
		}
		fmt.Fprintf(&b, "if (%s) >why 2>&1; then echo 'ATTEMPT %s: SUCCEEDED'; else echo 'ATTEMPT %s: refused' \"$(head -n 1 why)\"; fi\n", script, a.name, a.name)
	}
	b.WriteString("./probe " + probeWord + " batch batch\nrm -f suid* mine hard\nexit 1\n")
	r.write("batch", batch.String())
	r.write("attempts.sh", b.String())
}

// mark is a number that only processes of this test have in their command line.
func (r *redTeam) mark() string { return fmt.Sprint(os.Getpid()) }

// left are processes of the attempts.
func (r *redTeam) left() (pids []int) {
	for _, path := range glob("/proc/[0-9]*/cmdline") {
		text, err := os.ReadFile(path)
		var pid int
		if _, bad := fmt.Sscanf(path, "/proc/%d/", &pid); err == nil && bad == nil && strings.Contains(string(text), "77."+r.mark()) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func glob(pattern string) []string {
	list, _ := filepath.Glob(pattern) // the pattern is well-formed
	return list
}

// outcomes reads what the attempts print.
func outcomes(text string) map[string]string {
	all := map[string]string{}
	for _, m := range regexp.MustCompile(`ATTEMPT (.*?): (refused|SUCCEEDED)`).FindAllStringSubmatch(text, -1) {
		all[m[1]] = m[2]
	}
	return all
}

// check compares outcomes with the attempts.
func (r *redTeam) check(who, text string, all []attempt) {
	r.t.Helper()
	got := outcomes(text)
	refused := 0
	for _, line := range regexp.MustCompile(`(?m)^.*ATTEMPT.*$`).FindAllString(text, -1) {
		r.t.Log(line)
	}
	for _, a := range all {
		if got[a.name] == "refused" {
			refused++
		} else {
			r.t.Errorf("%s: %s: %q", who, a.name, got[a.name])
		}
	}
	r.t.Logf("%s: %d of %d attempts refused", who, refused, len(all))
	if refused < 30 || strings.Contains(text, secret) {
		r.t.Errorf("%s: %s", who, text)
	}
}

// hasSandbox skips where the machine has no sandbox, and says whether memory is limited.
func hasSandbox(t *testing.T) (limited bool) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := sandbox.New(sandbox.Options{Program: program, Home: t.TempDir()})
	if err != nil {
		t.Skip("this machine has no sandbox: ", err)
	}
	defer s.Close()
	return !strings.Contains(s.String(), "not limited")
}

// Code of a checkout, in make and as the program that make builds, leaves the sandbox in none of
// these ways. Without a sandbox the same attempts succeed: they are real ones.
func TestRedTeamCheckout(t *testing.T) {
	racetest.Skip(t, "its attempts are processes, and many")
	limited := hasSandbox(t)
	t.Setenv("TAKT_BEARER", secret)
	t.Setenv("SSH_AUTH_SOCK", "/nowhere")
	t.Run("confined", func(t *testing.T) {
		r := newRedTeam(t, "require", nil)
		if r.limited = limited; !limited {
			t.Log("memory is not limited here: 1 attempt left out")
		}
		abstract, err := net.Listen("unix", fmt.Sprintf("@takt-%d", os.Getpid()))
		if err != nil {
			t.Fatal(err)
		}
		defer abstract.Close()
		all := append(checkoutAttempts(), r.boxedAttempts()...)
		r.script(all)
		r.write("sub/x", "")
		before := contents(t, r.dir)
		c := authorized(t, r.server.addr, "correct-horse")
		say := func(line string) string {
			c.send(line)
			return c.until(prompted)
		}
		if text := say("status"); !strings.Contains(text, "\nCheckouts run in a sandbox: as ") {
			t.Error(text)
		}
		say("apm use main")
		r.check("Makefile", say("apm switch -m -v main"), all)
		if pids := r.left(); len(pids) > 0 {
			t.Errorf("processes %v outlive make", pids)
		}
		seen := make(chan int)
		stop := make(chan struct{})
		go func() { seen <- watchArguments(stop) }()
		say("test 1s 1 1 1 1 -E apm-server.auth.secret_token=" + secret)
		close(stop)
		if n := <-seen; n > 0 {
			t.Errorf("the secret is in the command line of a process, %d times", n)
		}
		r.check("program", say("apm tail -n 1000 ATTEMPT"), all)
		if pids := r.left(); len(pids) > 0 {
			t.Errorf("processes %v outlive the program", pids)
		}
		for _, line := range []string{"apm switch -c main", "apm switch main"} { // git, after all of that
			if text := say(line); !strings.Contains(text, "Using main: main, ") {
				t.Errorf("%s: %s", line, text)
			}
		}
		for _, line := range []string{"apm switch -c 'main;touch OUT/new'", "apm switch -c '$(touch new)'", "apm switch -fc ext/main"} { // words are not a script
			if text := say(r.fill(line)); !strings.Contains(text, "error: ") {
				t.Errorf("%s: %s", line, text)
			}
		}
		if after := contents(t, r.dir); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("before\n%q\nafter\n%q", before, after)
		}
		r.noSetID()
		if text := say("queue"); text != "the queue is empty\n" { // takt lives, and ann may do what she could
			t.Error(text)
		}
		r.audited("ann", "run", `"command":"apm switch -m -v main","outcome":"job 1 ended`, `"command":"test 1s 1 1 1 1 -E apm-server.auth.secret_token=xxxxx","outcome":"job 2 ended`)
	})
	t.Run("not confined", func(t *testing.T) {
		open := slices.DeleteFunc(checkoutAttempts(), func(a attempt) bool { return !a.open })
		r := newRedTeam(t, "off", nil)
		r.script(open)
		c := authorized(t, r.server.addr, "correct-horse")
		c.send("apm use main; apm switch -m -v main")
		got := outcomes(c.until(regexp.MustCompile(`job 1 .*\n>>> $`)))
		for _, pid := range r.left() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		for _, a := range open {
			if got[a.name] != "SUCCEEDED" {
				t.Errorf("%s: %q", a.name, got[a.name])
			}
		}
	})
	t.Run("no tokens", func(t *testing.T) { // who connects has the rights of takt's user, so the number of the user is not enough
		r := newRedTeam(t, "require", func(o *shell.Options) { o.TokenFile = "" })
		all := []attempt{{"shell", "./probe PROBE shell SHELL_", true}, {"API", "./probe PROBE api API", true}}
		r.script(all)
		c := dial(t, r.server.addr)
		c.until(prompted)
		c.send("apm use " + r.clone + "; apm switch -m -v main")
		got := outcomes(c.until(regexp.MustCompile(`job 1 .*\n>>> $`)))
		for _, a := range all {
			if got[a.name] != "refused" {
				t.Errorf("%s: %q", a.name, got[a.name])
			}
		}
		if text, err := os.ReadFile(r.audit); err != nil || bytes.Count(text, []byte(`"outcome":"refused: this server is for the user that runs it`)) != 2 {
			t.Errorf("%v\n%s", err, text)
		}
	})
	t.Run("disk", func(t *testing.T) {
		const file = 2000 << 20
		var st syscall.Statfs_t
		if err := syscall.Statfs(t.TempDir(), &st); err != nil || st.Bavail*uint64(st.Bsize) < 2*file {
			t.Skip("the disk has too little room")
		}
		r := newRedTeam(t, "require", func(o *shell.Options) { o.Sandbox.Reserve = st.Bavail*uint64(st.Bsize) - 100<<20 })
		r.write("attempts.sh", fmt.Sprintf("dd if=/dev/zero of=big bs=1M count=%d\n", file>>20))
		c := authorized(t, r.server.addr, "correct-horse")
		c.send("apm use main; apm switch -m -v main")
		if text := c.until(regexp.MustCompile(`job 1 .*\n>>> $`)); !strings.Contains(text, "and the sandbox leaves") {
			t.Error(text)
		}
		if info, err := os.Stat(filepath.Join(r.clone, "big")); err == nil && info.Size() >= file {
			t.Error("the whole file was written")
		}
	})
}

// noSetID looks for files that would run with the rights of their owner.
func (r *redTeam) noSetID() {
	r.t.Helper()
	err := filepath.WalkDir(r.clone, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 && info.Mode().IsRegular() {
			r.t.Errorf("%s: %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		r.t.Error(err)
	}
}

// watchArguments counts processes with the secret in their command line, until stop.
func watchArguments(stop <-chan struct{}) (n int) {
	for {
		for _, path := range glob("/proc/[0-9]*/cmdline") {
			if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(secret)) {
				n++
			}
		}
		select {
		case <-stop:
			return n
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// audited checks that the log is JSON without secrets, that only this user and strangers are in it, and that it
// has the parts of lines.
func (r *redTeam) audited(user, role string, parts ...string) {
	r.t.Helper()
	text, err := os.ReadFile(r.audit)
	if err != nil || bytes.Contains(text, []byte(secret)) {
		r.t.Fatalf("%v\n%s", err, text)
	}
	for line := range bytes.Lines(text) {
		var l struct {
			Time, User, Role, From, Event, Outcome string
			Session                                int
		}
		if err := json.Unmarshal(line, &l); err != nil || l.User != user && l.User != "" || l.Role != role && l.Role != "" || l.Session == 0 || l.Time == "" || l.Outcome == "" {
			r.t.Errorf("%v: %s", err, line)
		}
	}
	for _, part := range parts {
		if !bytes.Contains(text, []byte(part)) {
			r.t.Errorf("no %s in\n%s", part, text)
		}
	}
}

// typed are attempts that users with a role type, besides those of TestHostileUser.
func typed() []string {
	return []string{
		"http -n 1 -D @/etc/passwd http://127.0.0.1:1", "http -n 1 -D /etc/passwd http://127.0.0.1:1", "http -n 1 -D body/../../tokens http://127.0.0.1:1",
		"http -n 1 -D link/secret http://127.0.0.1:1", "http -n 1 --body-template -d '{{file `/etc/passwd`}}' http://127.0.0.1:1",
		"http -n 1 --targets OUT/secret", "http -n 1 --unix-socket UNIX http://x/", "http -n 1 --unix-socket /run/docker.sock http://127.0.0.1/",
		"http -n 1 -o json=../../x http://127.0.0.1:1", "http -n 1 -o json=/tmp/x http://127.0.0.1:1", "http -n 1 -o json=link/new http://127.0.0.1:1",
		"http -n 1 -x 10.0.0.1:3128 http://127.0.0.1:1", "http -n 1 --proxy http://10.0.0.1:1 http://127.0.0.1:1", "http -n 1 --connect-to 127.0.0.1:1:10.0.0.1:80 http://127.0.0.1:1",
		"http -n 1 http://169.254.169.254/latest/meta-data/", "http -n 1 http://localhost:1/", "http -n 1 http://127.0.0.1@10.0.0.1/",
		"http -n 1 http://127.0.0.1.evil.example/", "http -n 1 --store http://127.0.0.1:1 http://127.0.0.1:1", "http -n 1 --store HOME_/state/x http://127.0.0.1:1", "http -n 1 --config HOME_/tokens http://127.0.0.1:1",
		"http -n 1 --bearer-file HOME_/tokens http://127.0.0.1:1", "http -n 1 --auth-file HOME_/tokens http://127.0.0.1:1", "http -n 1 --cert HOME_/tokens http://127.0.0.1:1", "http -n 1 --tls-keylog HOME_/keys https://127.0.0.1:1",
		"http -n 1 --git OUT/clone http://127.0.0.1:1", "http -n 1 @none/x", "http -n 1 @shop@10.0.0.1/", "http -n 1 @shop --connect-to 127.0.0.1:1:10.0.0.1:1",
		"define x http -n 1 http://10.0.0.1/ ; x", "status ; http -n 1 http://10.0.0.1/", "http -n 1 $ ; http://10.0.0.1/", "shell-job", "sandboxed", "server", "server --addr 0.0.0.0:1", "target --addr 0.0.0.0:1", "fleet",
		"apm use main/../outside/clone", "apm use docker --dockerfile main/link", "apm use docker --dockerfile main/dumps/body", "apm switch -m '--upload-pack=touch x'",
		"test 1s 1 1 1 1 -E apm-server.host=0.0.0.0:8200 -E path.home=/", "test 1s 1 1 1 1 -E output.file.path=OUT", "test 1s 1 1 1 1 -E 'max_procs=${TAKT_BEARER}'", "test 1s 1 1 1 1 -E 'logging={to_files: true}'",
		"http -n 1 -D answer --body-template http://127.0.0.1:1", "http -n 1 -D dots --body-template http://127.0.0.1:1", "http -n 1 -D over-link --body-template http://127.0.0.1:1",
		"http -n 1 -D environ --body-template http://127.0.0.1:1", "http -n 1 -D piped --body-template http://127.0.0.1:1", "http -n 1 -D secret http://127.0.0.1:1", "http -n 1 -D self/environ http://127.0.0.1:1", "http -n 1 -D pipe http://127.0.0.1:1",
		"http -n 1 --config config http://127.0.0.1:1", "http -n 1 --config config-link http://127.0.0.1:1", "http -n 1 --config secret http://127.0.0.1:1", "http -n 1 -H 'X: {{file `link/secret`}}' http://127.0.0.1:1", "http -n 1 http://127.0.0.1:1/{{file`secret`}}",
		"http -n 1 -o json=secret http://127.0.0.1:1", "http -n 1 -o json=dangling http://127.0.0.1:1", "http -n 1 --store mine.db http://127.0.0.1:1", "http -n 1 --git . http://127.0.0.1:1", "replay secret http://127.0.0.1:1", "show secret", "compare secret link/secret",
		"dump link/new 1 1 1", "dump /tmp/new 1 1 1", "kafka produce --topic x --brokers 10.0.0.1:9092", "jms client --url amqp://10.0.0.1:5672 queue://x", "replay ../tokens http://127.0.0.1:1", "show ../tokens",
	}
}

// Users of each role, and strangers, leave what they may do in none of these ways.
func TestRedTeamRoles(t *testing.T) {
	r := newRedTeam(t, "off", nil)
	before := contents(t, r.dir)
	bob := authorized(t, r.server.addr, "hunter2hunter2")
	bob.send("http -n 1 --rate 1/h http://127.0.0.1:1/ ; http -n 1 http://127.0.0.1:1/")
	bob.until(aLine)
	_, look := lookable()
	shared := typed()
	for name, lines := range attempts() {
		if name != "audit" && name != "reload" {
			shared = append(shared, lines...)
		}
	}
	others := []string{"cancel 1", "cancel 2", "queue rm 2", "queue rm 1", "audit", "audit -n 1 x", "reload"}
	counts := map[string]int{}
	for _, u := range []struct {
		role, token string
		lines       []string
	}{
		{"look", "battery-staple", append(look, others...)}, {"run", "correct-horse", append(shared, others...)}, {"admin", "capital-letter", shared},
	} {
		c := authorized(t, r.server.addr, u.token)
		api := r.web.as(u.token)
		for _, line := range u.lines {
			line = r.fill(line)
			c.send(line)
			if text := c.until(prompted); !strings.HasPrefix(text, "error: ") && !strings.Contains(text, "\nerror: ") || strings.Contains(text, secret) {
				t.Errorf("%s: %s\n%s", u.role, line, text)
			}
			if a := api.raw("POST", "/v1/lines", lineOf(line), nil); a.status < 400 && !bytes.Contains(a.body, []byte(`"errors"`)) || bytes.Contains(a.body, []byte(secret)) {
				t.Errorf("%s over HTTP: %s\n%d %s", u.role, line, a.status, a.body)
			}
			counts[u.role] += 2
		}
	}
	r.strangers(counts)
	if after := contents(t, r.dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("before\n%q\nafter\n%q", before, after)
	}
	bob.send("queue")
	bob.until(regexp.MustCompile(`(?m)^running  job 1 of bob.*\n +1  job 2 of bob`)) // nobody has ended them
	bob.send("cancel 2; cancel 1")
	bob.until(prompted)
	r.server.stop()
	got := r.refusals()
	for role, n := range counts {
		t.Logf("%s: %d attempts, %d refusals in the audit log", role, n, got[role])
		if n < 30 || got[role] != n {
			t.Errorf("%s: %d attempts, %d refusals in the audit log", role, n, got[role])
		}
	}
}

// strangers are attempts without a token, or with what looks like one.
func (r *redTeam) strangers(counts map[string]int) {
	r.t.Helper()
	say := func(bytes string) string {
		conn, err := net.Dial("tcp", r.server.addr)
		if err != nil {
			r.t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = io.WriteString(conn, bytes)
		_ = conn.(*net.TCPConn).CloseWrite()
		text, _ := io.ReadAll(conn)
		return string(text)
	}
	for _, line := range []string{
		"status\r\n", "queue clear all\r\n", "auth \r\n", "auth\r\n", "auth  \r\n", "auth look\r\n", "auth ann\r\n", "auth correct-hors\r\n", "auth correct-horse look\r\n", "auth correct-horse\x00\r\n", "AUTH correct-horse\r\n",
		"auth \xff\xfb\x01correct-hors\r\n", "\xff\xf4\xff\xfd\x06status\r\n", "\xff\xfa\x18\x00xterm\xff\xf0queue\r\n", "auth '*'\r\n", "auth correct-horse;status\r\n", "auth ann correct-horse\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n\r\nauth correct-horse\r\nstatus\r\n", strings.Repeat("x", 70000) + "\r\n", "auth " + strings.Repeat("x", 70000) + "\r\n", "auth correct-horse\x1b[A\r\n", "\x16\x03\x01\x02\x00\x01\r\n",
	} {
		counts[""]++
		if text := say(line); strings.Contains(text, "commands queued") || strings.Contains(text, "type 'help'") || strings.Contains(text, secret) {
			r.t.Errorf("a stranger says %.40q: %s", line, text)
		}
	}
	for _, header := range []map[string]string{
		nil, {"Authorization": "Bearer "}, {"Authorization": "Bearer wrong-horse"}, {"Authorization": "Basic YW5uOmNvcnJlY3QtaG9yc2U="}, {"Authorization": "Bearer ann"}, {"Cookie": "token=correct-horse"}, {"X-Forwarded-For": "127.0.0.1"},
	} {
		for _, way := range [][2]string{{"GET", "/v1/jobs"}, {"GET", "/v1/jobs/1/events"}, {"DELETE", "/v1/jobs/1"}, {"POST", "/v1/lines"}} {
			counts[""]++
			body := ""
			if way[0] == "POST" {
				body = lineOf("queue clear all")
			}
			if a := r.web.raw(way[0], way[1], body, header); a.status < 400 && a.status/100 != 3 || bytes.Contains(a.body, []byte("bob")) {
				r.t.Errorf("%v %v: %d %s", header, way, a.status, a.body)
			}
		}
	}
}

// more matches the number of refusals that have no line of their own.
var more = regexp.MustCompile(`(\d+) more(?: were refused|, for reasons)`)

// refusals counts the refused commands in the audit log by role, after a check of every line.
func (r *redTeam) refusals() map[string]int {
	r.t.Helper()
	text, err := os.ReadFile(r.audit)
	if err != nil || bytes.Contains(text, []byte(secret)) || bytes.Contains(text, []byte("correct-horse")) {
		r.t.Fatalf("%v\n%s", err, text)
	}
	all := map[string]int{}
	for line := range bytes.Lines(text) {
		var l struct{ User, Role, Event, Outcome string }
		if err := json.Unmarshal(line, &l); err != nil {
			r.t.Errorf("%v: %s", err, line)
		}
		if (l.Event == "command" || l.User == "") && strings.HasPrefix(l.Outcome, "refused: ") {
			all[l.Role]++
			for _, m := range more.FindAllStringSubmatch(l.Outcome, -1) {
				n, _ := strconv.Atoi(m[1]) // digits
				all[l.Role] += n
			}
			if strings.HasSuffix(l.Outcome, "more, for reasons of lines above") {
				all[l.Role]-- // is a count alone
			}
		}
	}
	return all
}
