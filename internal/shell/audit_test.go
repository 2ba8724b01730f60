package shell

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// shellFor is a server whose commands do nothing, and that tells nobody's commands from
// its owner's.
func shellFor(t *testing.T, o Options) *Server {
	t.Helper()
	o.DumpDir = filepath.Join(t.TempDir(), "dumps")
	h := Host{
		Plan: func(args []string, _ Rules) (Plan, error) { return Plan{Shown: slices.Clone(args)}, nil },
		Run:  func(context.Context, <-chan struct{}, Call) int { return 7 },
	}
	o.Unix = filepath.Join(t.TempDir(), "socket")
	s, err := Listen(o, h)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(ctx, nil) // "context canceled"
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return s
}

// typing is a session, and what it says up to a text.
func typing(t *testing.T, s *Server) func(line, until string) string {
	t.Helper()
	conn, err := net.Dial("unix", s.options.Unix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	in := bufio.NewReader(conn)
	return func(line, until string) string {
		t.Helper()
		fmt.Fprintf(conn, "%s\r\n", line)
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		var text strings.Builder
		for !strings.HasSuffix(text.String(), until) {
			b, err := in.ReadByte()
			if err != nil {
				t.Fatalf("%v after %q", err, text.String())
			}
			text.WriteByte(b)
		}
		return text.String()
	}
}

// The log has who typed what and what came of it, without secrets, also after it was
// renamed; of what was not understood it has the command alone.
func TestAudit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	s := shellFor(t, Options{AuditLog: path})
	say := typing(t, s)
	say("http -n 1 URL", "with exit code 7\r\n>>> ")
	say("elasticsearch use http://127.0.0.1:1 ann tigerlily", "error: elasticsearch: ")
	say("nonsense tigerlily", "error: unknown command")
	say("test 30s 1 1 1 1 --secret tigerlily tigerlily", "error: ")
	say("http 'tigerlily", "error: a quote")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	say("define x status", "ok\r\n")
	say("queue rm 9", "error: no job 9")
	say("quit", "bye!\r\n")
	head := `{"time":"T","session":1,"user":"local","role":"run","from":"","event":`
	want := map[string]string{
		path + ".1": head + `"session","outcome":"begins"}` + "\n" +
			head + `"command","command":"http -n 1 URL","outcome":"allowed"}` + "\n" +
			head + `"job","job":1,"command":"http -n 1 URL","outcome":"begins"}` + "\n" +
			head + `"job","job":1,"command":"http -n 1 URL","outcome":"job 1 ended after 0s with exit code 7"}` + "\n" +
			head + `"command","command":"elasticsearch use http://127.0.0.1:1","outcome":"allowed"}` + "\n" +
			head + `"command","command":"elasticsearch use http://127.0.0.1:1","outcome":"failed"}` + "\n" +
			head + `"command","command":"?","outcome":"refused: not understood"}` + "\n" +
			head + `"command","command":"test","outcome":"refused: not understood"}` + "\n" +
			head + `"command","outcome":"refused: not understood: a quote ' is not closed; close it, or write \\'"}` + "\n",
		path: head + `"command","command":"define x status","outcome":"allowed"}` + "\n" +
			head + `"command","command":"queue rm 9","outcome":"allowed"}` + "\n" +
			head + `"command","command":"queue rm 9","outcome":"failed"}` + "\n" +
			head + `"command","command":"quit","outcome":"allowed"}` + "\n" +
			head + `"session","outcome":"ends"}` + "\n",
	}
	for name, lines := range want {
		if got := awaitLines(t, name, strings.Count(lines, "\n")); strings.ReplaceAll(got, `"from":"@",`, `"from":"",`) != lines {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, lines)
		}
	}
}

var (
	auditTime = regexp.MustCompile(`"time":"[0-9TZ:.-]+"`)
	took      = regexp.MustCompile(`after [0-9.ms]+`)
)

// awaitLines reads a log of so many lines, without its times.
func awaitLines(t *testing.T, path string, n int) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), "\n") >= n || time.Now().After(end) {
			return took.ReplaceAllString(auditTime.ReplaceAllString(string(text), `"time":"T"`), "after 0s")
		}
	}
}

// While the log cannot be written nothing is begun that would have to be in it; what runs
// can be looked at and ended.
func TestAuditIsFull(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := shellFor(t, Options{AuditLog: filepath.Join(dir, "audit")})
	say := typing(t, s)
	say("status", "queued\r\n")
	if err := os.Rename(dir, dir+".gone"); err != nil {
		t.Fatal(err)
	}
	for line, until := range map[string]string{
		"status": "0 commands queued\r\n", "queue": "the queue is empty\r\n", "cancel": "error: nothing runs\r\n", "runs": "exit code 7\r\n",
		"http -n 1 URL": "error: the server cannot write its audit log, so it refuses this command; tell its owner\r\n",
		"dump x 1 1 1":  "error: the server cannot write its audit log, so it refuses this command; tell its owner\r\n",
		"status ; http": "error: the server cannot write its audit log, so it refuses this command; tell its owner\r\n",
	} {
		say(line, until)
	}
	if err := os.Rename(dir+".gone", dir); err != nil {
		t.Fatal(err)
	}
	say("dump x 1 1 1", "written to disk: "+filepath.Join(s.options.DumpDir, "x")+"\r\n")
}

// A log that cannot be written at the start is a fault, and so is one that sessions could
// write to.
func TestAuditAtStart(t *testing.T) {
	dir := t.TempDir()
	_, err := Listen(Options{Addr: "127.0.0.1:0", DumpDir: filepath.Join(dir, "dumps"), AuditLog: filepath.Join(dir, "none/audit")}, Host{})
	if err == nil || !strings.HasSuffix(err.Error(), "check --audit-log") {
		t.Error(err)
	}
	for _, o := range []Options{
		{AuditLog: filepath.Join(dir, "dumps/audit")},
		{Permits: Permits{Folders: folders{"main": filepath.Join(dir, "dumps/clone")}}},
		{Permits: Permits{Folders: folders{"main": filepath.Join(dir, "link/clone")}}},
		{StateDir: filepath.Join(dir, "dumps")},
	} {
		o.Addr, o.DumpDir = "127.0.0.1:0", filepath.Join(dir, "dumps")
		if err := os.Symlink("dumps", filepath.Join(dir, "link")); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		if _, err := Listen(o, Host{}); err == nil || !strings.Contains(err.Error(), "is in the folder of sessions' files") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// A line of the log is bounded, whatever is typed.
func TestShortened(t *testing.T) {
	if text := shortened(strings.Repeat("ä", 5000)); len(text) > maxAudited+40 || !strings.HasSuffix(text, "ä… and 8000 bytes more") {
		t.Errorf("%d bytes: …%s", len(text), text[len(text)-40:])
	}
	if shortened("x") != "x" {
		t.Error("a short text is shortened")
	}
}

// The audit log with a relative name is beside the server, and not in the folder where sessions write.
func TestAuditRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	s := shellFor(t, Options{AuditLog: "audit"})
	typing(t, s)("status", ">>> ")
	if text := awaitLines(t, "audit", 1); !strings.Contains(text, "begins") || !filepath.IsAbs(s.options.AuditLog) {
		t.Errorf("%s at %s", text, s.options.AuditLog)
	}
}

// The refused sessions that have no line are counted by the next line, or after a minute.
func TestLeftOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	synctest.Test(t, func(t *testing.T) {
		a, err := openAudit(path)
		if err != nil {
			t.Fatal(err)
		}
		outcomes := func(want ...string) {
			t.Helper()
			synctest.Wait()
			text, err := os.ReadFile(path)
			var got []string
			for line := range strings.Lines(string(text)) {
				var r record
				err = errors.Join(err, json.Unmarshal([]byte(line), &r))
				got = append(got, r.Outcome)
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		}
		const three, one = "refused: 3 more, for reasons of lines above", "refused: 1 more, for reasons of lines above"
		for range 3 {
			a.leaveOut()
		}
		time.Sleep(leftOutTime - 1)
		outcomes()
		time.Sleep(1)
		outcomes(three)
		a.leaveOut()
		if err := a.write(record{Outcome: "begins"}); err != nil {
			t.Error(err)
		}
		outcomes(three, one, "begins")
		a.leaveOut()
		if err := a.close(); err != nil {
			t.Error(err)
		}
		outcomes(three, one, "begins", one)
		time.Sleep(2 * leftOutTime)
		outcomes(three, one, "begins", one)
	})
	var none *audit
	none.leaveOut()
}
