package shell_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/shell"
)

// commandNames are those of the shell, as help lists them.
func commandNames() (names []string) {
	for line := range strings.Lines(shell.Help()) {
		if name, is := strings.CutPrefix(line, "  "); is && name[0] != ' ' {
			names = append(names, strings.Fields(name)[0])
		}
	}
	return slices.Compact(names)
}

// secret stands in a file that no session may read.
const secret = "tigerlily"

// outside makes a folder beside that of sessions: a secret, a Dockerfile, and a clone
// whose Makefile and program would leave something behind.
func outside(t *testing.T, home string) string {
	t.Helper()
	dir := filepath.Join(home, "outside")
	for name, text := range map[string]string{
		"secret": secret + "\n", "secret.json": `{"id":"` + secret + `"}`, "clone/Makefile": "apm-server:\n\tenv >../made\n.PHONY: apm-server\n",
		"clone/apm-server": "#!/bin/sh\nenv >../started\n", "clone/Dockerfile": "FROM scratch\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	clone := filepath.Join(dir, "clone")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "all"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = clone
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	return dir
}

// contents are the files below a folder, without what git keeps.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == ".git" {
			return cmpErr(err, fs.SkipDir)
		}
		text := []byte("folder")
		if !d.IsDir() {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		all[path] = string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// attempts are what a hostile user with a token and the role run types, by command, where
// OUT is a folder that is none of theirs. Each has to be refused.
func attempts() map[string][]string {
	return map[string][]string{
		"help": {}, "words": {}, "status": {}, "edit": {}, "auth": {}, "quit": {}, "exit": {}, "queue": {}, "cancel": {}, "attach": {}, "log": {}, // name no file
		"define": {"define x http -a ann:tigerlily"},
		"elasticsearch": {
			"elasticsearch use http://10.0.0.1:9200", "elasticsearch use OUT/secret", "elasticsearch use file://OUT/secret", "elasticsearch use last",
		},
		"apm": {
			"apm use OUT/clone", "apm use OUT/clone/", "apm use ../outside/clone", "apm use local", "apm use last", "apm use other", "apm use main/../../clone",
			"apm use http://10.0.0.1:8200", "apm use docker", "apm use docker --dockerfile OUT/secret", "apm use docker --dockerfile OUT/clone/Dockerfile",
			"apm use docker --dockerfile main/../../secret", "apm use docker --dockerfile main/link", "apm use docker --dockerfile secret",
			"apm use docker --repository --upload-pack=id", "apm use docker --repository 'ext::sh -c id'", "apm use docker --repository OUT/clone",
			"apm switch -m -- main", "apm switch --upload-pack=id main", "apm switch ../main",
			"apm --cacert OUT/secret http://127.0.0.1:1", "apm -o json=OUT/new http://127.0.0.1:1", "apm --dump --profile ../x http://127.0.0.1:1", "apm tail -n x",
		},
		"test": {
			"test 1s 1 1 1 1 -E path.data=OUT/new", "test 1s 1 1 1 1 -E=path.data=OUT/new", "test 1s 1 1 1 1 -E ==path.data=OUT/new", "test 1s 1 1 1 1 -E path={data: OUT}",
			"test 1s 1 1 1 1 -E output.file.path=OUT", "test 1s 1 1 1 1 -E setup.template.json.path=OUT/secret", "test 1s 1 1 1 1 -c OUT/secret", "test 1s 1 1 1 1 -E output.elasticsearch.hosts=10.0.0.1",
			"test 1s 1 1 1 1 --path.data OUT", "test 1s 1 1 1 1 setup",
		},
		"dump":   {"dump OUT/new 1 1 1", "dump ../outside/new 1 1 1", "dump x/../../outside/new 1 1 1", "dump link/new 1 1 1"},
		"http":   {"http -n 1 -D OUT/secret http://127.0.0.1:1", "http -n 1 -d '{{file\t`OUT/secret`}}' http://127.0.0.1:1", "http -n 1 http://10.0.0.1/"},
		"kafka":  {"kafka produce --topic x --data OUT/secret --brokers 127.0.0.1:1"},
		"jms":    {"jms client --acceptor artemis queue://x", "jms producer --url tcp://127.0.0.1:1 --hdr OUT/new queue://x"},
		"replay": {"replay OUT/secret http://127.0.0.1:1", "replay ../outside/secret http://127.0.0.1:1"},
		"llm":    {"llm -n 1 --prompts OUT/secret http://127.0.0.1:1", "llm -n 1 http://10.0.0.1/"},
		"grpc": {
			"grpc -n 1 --proto OUT/secret http://127.0.0.1:1/a.B/C", "grpc -n 1 --protoset OUT/secret http://127.0.0.1:1/a.B/C", "grpc -n 1 --proto a --import-path OUT http://127.0.0.1:1/a.B/C",
			"grpc -n 1 --raw -d @OUT/secret http://127.0.0.1:1/a.B/C", "grpc -n 1 --raw http://10.0.0.1/a.B/C",
		},
		"capacity": {"capacity --from OUT/secret.json --slo 'p95<1s'", "capacity --slo 'p95<1s' -o svg=OUT/new -- http http://127.0.0.1:1", "capacity --slo 'p95<1s' -- http -D OUT/secret http://127.0.0.1:1"},
		"verify":   {"verify --base OUT/secret.json --head ../outside/secret.json", "verify -o json=OUT/new", "verify --pairs 2 -- http --cacert OUT/secret http://127.0.0.1:1"},
		"history":  {"history -o html=OUT/new", "history --store OUT/secret", "history --config ../outside/secret", "history ../outside/a=b"},
		"collate":  {"collate branch --store OUT/secret", "collate branch --store elasticsearch://127.0.0.1:1"},
		"compare":  {"compare OUT/secret.json ../outside/secret.json", "compare ../outside/a=b ../outside/c=d"},
		"runs":     {"runs --store ../outside/secret", "runs --config OUT/secret"},
		"audit":    {"audit", "audit -n 1 tigerlily"},
		"reload":   {"reload"},
		"show":     {"show OUT/secret.json", "show x -o json=OUT/new", "show ../outside/a=b"},
	}
}

// A user with a token reads and writes nothing but what the server's owner has named, by
// no command.
func TestHostileUser(t *testing.T) {
	home := t.TempDir()
	dir := outside(t, home)
	named := filepath.Join(home, "named")
	for _, path := range []string{filepath.Join(named, ".git"), filepath.Join(home, "dumps")} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{filepath.Join(named, "link"): filepath.Join(dir, "clone/Dockerfile"), filepath.Join(home, "dumps/link"): dir} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TAKT_BEARER", secret)
	before := contents(t, dir)
	confine(t, home)
	server := serve(t, home, inProcess, "--token-file", tokenFile(t), "--allow-target", "127.0.0.1", "--apm-folder", "main="+named, "--audit-log", filepath.Join(home, "audit"))
	c := authorized(t, server.addr, "correct-horse")
	all := attempts()
	for _, name := range commandNames() {
		lines, known := all[name]
		if !known {
			t.Errorf("%s: no hostile attempts are written for this command", name)
		}
		for _, line := range lines {
			c.send(strings.ReplaceAll(line, "OUT", dir))
			text := c.until(prompted)
			if !strings.HasPrefix(text, "error: ") || strings.Contains(text, secret) {
				t.Errorf("%s\n%s", line, text)
			}
		}
		delete(all, name)
	}
	for name := range all {
		t.Errorf("%s is not a command", name)
	}
	c.send("queue")
	if text := c.until(prompted); text != "the queue is empty\n" {
		t.Error(text)
	}
	if after := contents(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("before\n%q\nafter\n%q", before, after)
	}
	server.stop()
	audited(t, filepath.Join(home, "audit"), attempts())
}

// audited holds the audit log to the attempts: all of it is JSON, has no secret, and says
// who was refused what.
func audited(t *testing.T, path string, all map[string][]string) {
	t.Helper()
	log, err := os.ReadFile(path)
	if err != nil || bytes.Contains(log, []byte(secret)) {
		t.Fatalf("%v\n%s", err, log)
	}
	var want, refused int
	for _, lines := range all {
		want += len(lines)
	}
	for line := range bytes.Lines(log) {
		var r struct{ User, Role, From, Event, Command, Outcome string }
		if err := json.Unmarshal(line, &r); err != nil || r.User != "ann" || r.Role != "run" || !strings.HasPrefix(r.From, "127.0.0.1:") {
			t.Errorf("%v: %s", err, line)
		}
		if r.Event == "command" && r.Outcome != "allowed" {
			refused++
			if !strings.HasPrefix(r.Outcome, "refused: ") {
				t.Errorf("%s", line)
			}
		}
	}
	if refused != want {
		t.Errorf("%d of %d refusals are in the audit log:\n%s", refused, want, log)
	}
	if !bytes.Contains(log, []byte(`"command":"test","outcome":"refused: -E path.data: sessions may not give this setting`)) {
		t.Errorf("%s", log)
	}
}

func tokenFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("ann correct-horse\nlou battery-staple look\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func authorized(t *testing.T, addr, token string) *client {
	t.Helper()
	c := dial(t, addr)
	c.send("auth " + token)
	c.until(prompted)
	return c
}

// What the owner has named can be used: a folder by its name or its path, its Makefile,
// and a Dockerfile in it.
func TestNamedFolder(t *testing.T) {
	home := t.TempDir()
	dir := outside(t, home)
	clone := filepath.Join(dir, "clone")
	t.Setenv("TAKT_BEARER", secret)
	server := serve(t, home, inProcess, "--token-file", tokenFile(t), "--apm-folder", "main="+clone)
	c := authorized(t, server.addr, "correct-horse")
	for _, one := range [][2]string{
		{"apm use main", "using main\n"},
		{"apm use " + clone, "using main\n"},
		{"apm use other", "error: apm: other is not a folder of the server's --apm-folder; it names main\n"},
		{"apm switch -m -v main", "job 1: apm switch -m -v main\n$ make\nenv >../made\nUsing main: main, "},
	} {
		c.send(one[0])
		if text := c.until(prompted); !strings.HasPrefix(text, one[1]) {
			t.Errorf("%s: %s", one[0], text)
		}
	}
	if made, err := os.ReadFile(filepath.Join(dir, "made")); err != nil || strings.Contains(string(made), secret) {
		t.Errorf("%v\n%s", err, made)
	}
}

// What somebody used last is no way around: it may come from a time when all was allowed.
func TestLastFolder(t *testing.T) {
	home := t.TempDir()
	clone := filepath.Join(outside(t, home), "clone")
	owner := serve(t, home, inProcess)
	c := dial(t, owner.addr)
	c.until(prompted)
	c.send("apm use " + clone)
	if text := c.until(prompted); text != "using "+clone+"\n" {
		t.Fatal(text)
	}
	owner.stop()
	if err := os.Rename(filepath.Join(home, "state/user-local.json"), filepath.Join(home, "state/user-ann.json")); err != nil {
		t.Fatal(err)
	}
	server := serve(t, home, inProcess, "--token-file", tokenFile(t))
	c = authorized(t, server.addr, "correct-horse")
	for _, line := range []string{"apm switch -m main", "test 1s 1 1 1 1", "apm use last"} {
		c.send(line)
		if text := c.until(prompted); !strings.Contains(text, " is not a folder of the server's --apm-folder; it names none\n") {
			t.Errorf("%s: %s", line, text)
		}
	}
}

// lookable are the commands that the role look may give, and those with which it is
// refused; of each command of the shell one of them at least.
func lookable() (may, mayNot []string) {
	may = []string{
		"help", "words", "status", "edit off", "auth battery-staple", "queue", "attach", "log", "verify", "history branch=main", "collate branch", "compare a b", "runs", "show x",
		"apm list", "apm tail", "help http", "verify branch=main",
	}
	mayNot = []string{
		"queue rm 1", "queue clear", "queue clear all", "cancel", "cancel 1", "define x status", "define", "elasticsearch use local", "elasticsearch reset", "apm use main",
		"apm switch -m main", "apm http://127.0.0.1:1", "apm", "test 1s 1 1 1 1", "dump x 1 1 1", "http -n 1 http://127.0.0.1:1", "http --dry-run http://127.0.0.1:1",
		"llm -n 1 http://127.0.0.1:1", "grpc 127.0.0.1:1/a.B/C", "kafka produce", "jms client", "replay x http://127.0.0.1:1", "capacity --from x --slo 'p95<1s'", "verify --pairs 2 -- http http://127.0.0.1:1",
		"audit", "reload", "show x -o json=new", "show x --output json=new", "verify -o markdown=new", "history -o html=new", "runs --store new", "runs ; cancel 1", "collate branch --config c",
	}
	return may, mayNot
}

// The role look sees everything and changes nothing.
func TestLook(t *testing.T) {
	tick := make(chan struct{})
	home := t.TempDir()
	confine(t, home)
	server := serve(t, home, func(ctx context.Context, abort <-chan struct{}, call shell.Call) int {
		if call.Args[0] == "http" {
			return held(tick)(ctx, abort, call)
		}
		return 0
	}, "--token-file", tokenFile(t))
	owner := authorized(t, server.addr, "correct-horse")
	owner.send("http -n 5 http://127.0.0.1:1/")
	owner.until(aLine)
	if err := os.WriteFile(filepath.Join(home, "dumps/c"), []byte("store = new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	may, mayNot := lookable()
	first := func(line string) string { return strings.Fields(line)[0] }
	for _, name := range commandNames() {
		if !slices.ContainsFunc(slices.Concat(may, mayNot, []string{"quit", "exit"}), func(line string) bool { return first(line) == name }) {
			t.Errorf("nobody has said whether the role look may give %s", name)
		}
	}
	c := authorized(t, server.addr, "battery-staple")
	for _, line := range mayNot {
		c.send(line)
		if text := c.until(prompted); !strings.HasPrefix(text, "error: ") || !strings.Contains(text, "look") {
			t.Errorf("%s: %s", line, text)
		}
	}
	before := contents(t, filepath.Join(home, "dumps"))
	for _, line := range may {
		if line == "attach" {
			continue // the job goes on
		}
		c.send(line)
		if text := c.until(prompted); strings.Contains(text, "look, which may not") {
			t.Errorf("%s: %s", line, text)
		}
	}
	if after := contents(t, filepath.Join(home, "dumps")); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%q became %q", before, after)
	}
	c.send("auth battery-staple")
	if text := c.until(prompted); text != "you are lou, with the role look\n" {
		t.Error(text)
	}
	tick <- struct{}{} // the job goes on
	tick <- struct{}{} // and has written the first line
	c.send("log")
	c.until(regexp.MustCompile(`line 0 x+\n`))
}
