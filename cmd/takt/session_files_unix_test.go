//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// canary is in a file that sessions may not read.
const canary = "tigerlily"

// sessionFiles is a folder of sessions beside a file that is none of theirs, and a target that keeps
// what it gets, and whose answers are planted text.
type sessionFiles struct {
	t                    *testing.T
	home, dumps, outside string
	url                  string
	mu                   sync.Mutex
	got                  bytes.Buffer
}

func newSessionFiles(t *testing.T) *sessionFiles {
	t.Helper()
	home := t.TempDir()
	s := &sessionFiles{t: t, home: home, dumps: filepath.Join(home, "takt", "dumps"), outside: filepath.Join(home, "outside.txt")}
	if err := os.MkdirAll(filepath.Join(s.dumps, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.outside, []byte(canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		fmt.Fprintf(&s.got, "%s %s %q %s\n", r.Method, r.URL, r.Header, body)
		if r.Method == "GET" {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, "{{file `%s`}}", s.outside)
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// received is what the target got.
func (s *sessionFiles) received() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.String()
}

// plant writes a file of the folder. OUT is the file outside, URL the target.
func (s *sessionFiles) plant(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dumps, name), []byte(s.fill(text)), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sessionFiles) fill(text string) string {
	return strings.NewReplacer("OUT", s.outside, "URL", s.url).Replace(text)
}

func (s *sessionFiles) environ() []string {
	return append(os.Environ(), "XDG_DATA_HOME="+s.home, "XDG_STATE_HOME="+s.home, "XDG_CACHE_HOME="+s.home)
}

// job runs a command line as the process of a job, without the checks of the server.
func (s *sessionFiles) job(line string, env ...string) (out string, code int) {
	s.t.Helper()
	return s.jobOf(false, line, env...)
}

func (s *sessionFiles) jobOf(owner bool, line string, env ...string) (out string, code int) {
	s.t.Helper()
	return s.jobTo([]string{"*"}, owner, line, env...)
}

// jobTo is jobOf for a job that may connect to some machines.
func (s *sessionFiles) jobTo(reaches []string, owner bool, line string, env ...string) (out string, code int) {
	s.t.Helper()
	args := strings.Split(line, " ")
	for i, word := range args {
		args[i] = s.fill(strings.ReplaceAll(word, "_", " "))
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	in, err := json.Marshal(map[string]any{"args": args, "owner": owner, "reaches": reaches})
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "takt", "shell-job")
	cmd.Dir, cmd.Env, cmd.Stdin = s.dumps, append(s.environ(), env...), bytes.NewReader(in)
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		s.t.Fatalf("%s: %v, %v\n%s", line, err, ctx.Err(), text)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// The process of a job opens nothing outside of the folder of sessions, wherever a name is from, and
// does not wait for a pipe. What a target may have written into the folder is a body, a list, a feeder, a
// scenario, a log or a config file.
func TestJobsAreConfined(t *testing.T) {
	s := newSessionFiles(t)
	for name, to := range map[string]string{"link": s.outside, "folder": s.home, "dangling": filepath.Join(s.home, "new"), "self": "/proc/self", "within": "ids"} {
		if err := os.Symlink(to, filepath.Join(s.dumps, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(s.dumps, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.plant("ids", "first\nsecond\n")
	s.plant("body", "{{file `OUT`}}")
	s.plant("body-dots", "{{file `../../outside.txt`}}")
	s.plant("body-link", "{{file `link`}}")
	s.plant("body-proc", "{{file `/proc/self/environ`}}")
	s.plant("body-pipe", "{{file `pipe`}}")
	s.plant("body-mine", "{{file `ids`}}")
	s.plant("list", "POST URL/list\n@OUT\n")
	s.plant("list-link", "POST URL/list\n@link\n")
	s.plant("scenario", "POST URL/scenario\n@body @OUT\n")
	s.plant("scenario-feeder", "POST URL/{{file `OUT`}}\n")
	s.plant("config", "body-file = OUT\n")
	const post = "http -n 1 -c 1 --no-store --progress none -m POST "
	for _, line := range []string{
		post + "-D OUT URL", post + "-D ../../outside.txt URL", post + "-D link URL", post + "-D folder/outside.txt URL", post + "-D /proc/self/environ URL", post + "-D self/environ URL",
		post + "-D pipe URL", post + "-D /dev/stdin URL", post + "-D sub URL",
		post + "--body-template -D body URL", post + "--body-template -D body-dots URL", post + "--body-template -D body-link URL", post + "--body-template -D body-proc URL", post + "--body-template -D body-pipe URL",
		post + "-d {{file_`OUT`}} URL", post + "-H X:{{file_`link`}} URL", post + "URL/{{file_`OUT`}}",
		post + "--targets list", post + "--targets list-link", post + "--targets link", post + "--targets pipe", post + "--scenario scenario", post + "--scenario scenario-feeder", post + "--scenario OUT",
		post + "--config config URL", post + "--config OUT URL", post + "--config pipe URL", post + "--bearer-file OUT URL", post + "--auth-file link URL", post + "--cacert OUT URL", post + "--cert link URL", post + "--tls-keylog link https://127.0.0.1:1",
		post + "-o json=link URL", post + "-o json=dangling URL", post + "-o json=folder/new URL", post + "-o json=OUT URL", post + "-o json=pipe URL", post + "--export influx=dangling URL", post + "--export openmetrics=folder/new URL",
		"replay --no-store OUT URL", "replay --no-store link URL", "replay --no-store pipe URL", "show link", "show OUT", "show pipe", "compare link folder/outside.txt", "capacity --slo p95<1s --from link",
		"kafka produce --noop -n 1 --no-store --topic x --data OUT", "kafka produce --noop -n 1 --no-store --topic x --recorded link", "kafka produce --noop -n 1 --no-store --topic x --message-size file:link",
		"kafka produce --noop -n 1 --no-store --topic x --key {{file_`OUT`}}", "kafka produce -n 1 --no-store --topic x --brokers 127.0.0.1:1 --sasl plain --sasl-user x --sasl-password-file link",
		"apm -n 1 --no-store --secret-file link URL", "jms client --no-store -n 1 --url amqp://127.0.0.1:1 --json folder/new queue://x", "runs --store mine.db",
	} {
		before := len(s.received())
		out, code := s.job(line)
		if code == 0 || strings.Contains(out, canary) {
			t.Errorf("%s\nexit code %d: %s", line, code, out)
		}
		if got := s.received()[before:]; strings.Contains(got, canary) || strings.Contains(got, "XDG_STATE_HOME") {
			t.Errorf("%s\nthe target got %s", line, got)
		}
	}
	if text, err := os.ReadFile(s.outside); string(text) != canary+"\n" || err != nil {
		t.Errorf("outside is %q, %v", text, err)
	}
	if list, err := os.ReadDir(s.home); len(list) != 2 || err != nil { // the folder of takt
		t.Errorf("outside are %v, %v", list, err)
	}

	// Inside of the folder all of it works.
	for line, want := range map[string]string{
		post + "--body-template -D body-mine URL/a": "POST /a ", post + "-d {{file_`ids`}} URL/b": "first", post + "-d {{file_`within`}} URL/c": "first", post + "-D ids URL/d": "first\nsecond",
		post + "-o json=made.json URL/e": "POST /e", post + "-d x --store= URL/f": "POST /f",
	} {
		before := len(s.received())
		if out, code := s.job(line); code != 0 || !strings.Contains(s.received()[before:], want) {
			t.Errorf("%s\nexit code %d: %s\nthe target got %s", line, code, out, s.received()[before:])
		}
	}
	if out, code := s.job("show made.json"); code != 0 || !strings.Contains(out, "1 scheduled = 1 ok") {
		t.Errorf("exit code %d: %s", code, out)
	}
	// The store of the server is not a name of the session.
	store := "TAKT_STORE=" + filepath.Join(s.home, "server.db")
	if out, code := s.job("http -n 1 -m POST --progress none URL", store); code != 0 || strings.Contains(out, "not stored") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := s.job("runs", store); code != 0 || !strings.Contains(out, "http") {
		t.Errorf("exit code %d: %s", code, out)
	}
	// What the environment names is the owner's, and only the owner's sessions read it.
	named := filepath.Join(s.home, "named")
	if err := os.WriteFile(named, []byte(s.fill("body-file = OUT\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, env := range []string{"TAKT_BODY_FILE=" + s.outside, "TAKT_CONFIG=" + named} {
		if out, code := s.job(post+"URL/other", env); code == 0 {
			t.Errorf("%s\n%s", env, out)
		}
		if out, code := s.jobOf(true, post+"URL/owner", env); code != 0 {
			t.Errorf("%s\n%s", env, out)
		}
	}
	if got := s.received(); strings.Count(got, canary) != 2 || strings.Count(got, "/owner") != 2 || strings.Contains(got, "/other") {
		t.Error(got)
	}
	if out, code := s.jobOf(true, "http -n 1 -m POST --progress none --store mine.db URL"); code != 0 || strings.Contains(out, "not stored") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, _ := s.jobOf(true, "http -n 1 -m POST --progress none --store dangling URL"); !strings.Contains(out, "a link leads out") {
		t.Error(out)
	}
}

// What a target answered, and a report keeps, reads no file when a session sends it back: neither the
// server nor its jobs read outside of the folder. The attempt is in the audit log.
func TestSessionSendsAnAnswerBack(t *testing.T) {
	s := newSessionFiles(t)
	say, socket := s.server("TAKT_BODY_FILE=" + s.outside)
	if text := say("http -n 2 -c 1 --no-store --progress none -o json=r.json URL"); !strings.Contains(text, "job 1 ended after") {
		t.Fatal(text)
	}
	if text, err := os.ReadFile(filepath.Join(s.dumps, "r.json")); !strings.Contains(string(text), "{{file `") || err != nil {
		t.Fatalf("the report does not keep the answer: %v\n%s", err, text)
	}
	const back = "http -n 1 -c 1 --no-store --progress none -m POST -D r.json --body-template URL"
	if text := say(back); !strings.Contains(text, "error: http: ") || !strings.Contains(text, "a session can use only files in the server's folder") {
		t.Error(text)
	}
	if text := say("http -n 1 -c 1 --no-store --progress none -m POST -d {{file`r.json`}} URL/inside"); !strings.Contains(text, "job 2 done") || !strings.Contains(s.received(), "POST /inside") {
		t.Error(text)
	}
	// A config file that changes while its job waits in the queue.
	s.plant("c", "body = mine\n")
	conn := dialSoon(t, socket)
	defer conn.Close()
	fmt.Fprintf(conn, "auth correct-horse\r\nhttp --rate 1/h --no-store --progress none -m POST %s/first\r\nhttp -n 1 -c 1 --no-store --progress none -m POST --config c %s/late\r\n", s.url, s.url)
	for end := time.Now().Add(patience); !strings.Contains(say("queue"), "job 4 of ann"); {
		if time.Now().After(end) {
			t.Fatal(say("queue"))
		}
	}
	s.plant("c", "output = json=c2.json\nbody = changed\n")
	if text := say("cancel 3", "attach 4"); !strings.Contains(text+say("log 4"), "have changed since the server checked them") {
		t.Errorf("%s\n%s", text, say("log 4"))
	}
	if got := s.received(); strings.Contains(got, canary) || strings.Contains(got, "changed") {
		t.Errorf("the target got %s", got)
	}
	if text := s.audit(); !strings.Contains(text, `"command":"http","outcome":"refused: `+s.outside+`: a session can use only files in the server's folder`) {
		t.Error(text)
	}
}

// server starts takt server with the token correct-horse of ann, whose role is run, until the test ends. say
// gives lines to a session of hers, and returns what it answers to its end.
func (s *sessionFiles) server(env string, flags ...string) (say func(lines ...string) string, socket string) {
	s.t.Helper()
	tokens := filepath.Join(s.home, "tokens")
	if err := os.WriteFile(tokens, []byte("ann correct-horse run\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	socket = filepath.Join(s.home, "s")
	ctx, cancel := context.WithCancel(s.t.Context())
	cmd := exec.CommandContext(ctx, "takt", append([]string{"server", "--addr", "none", "--unix", socket, "--token-file", tokens, "--audit-log", filepath.Join(s.home, "audit"), "--sandbox", "off"}, flags...)...)
	cmd.Env = append(s.environ(), env)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("takt server said %s", &said)
		}
	})
	return func(lines ...string) string {
		conn := dialSoon(s.t, socket)
		defer conn.Close()
		for _, line := range append([]string{"auth correct-horse"}, lines...) {
			fmt.Fprintf(conn, "%s\r\n", s.fill(line))
		}
		_ = conn.(*net.UnixConn).CloseWrite()
		text, err := io.ReadAll(conn)
		if err != nil {
			s.t.Error(err)
		}
		return string(text)
	}, socket
}

// audit is the audit log of server.
func (s *sessionFiles) audit() string {
	text, err := os.ReadFile(filepath.Join(s.home, "audit"))
	if err != nil {
		s.t.Error(err)
	}
	return string(text)
}

// dialSoon connects to a server that is just starting.
func dialSoon(t *testing.T, socket string) net.Conn {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return conn
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
