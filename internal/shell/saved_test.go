package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taktload/takt/internal/shell"
)

// ran is a Run whose jobs end at once, and the command lines that it got.
type ran struct {
	mu   sync.Mutex
	args []string
}

func (r *ran) run(_ context.Context, _ <-chan struct{}, call shell.Call) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.args = append(r.args, strings.Join(call.Args, " "))
	fmt.Fprintf(call.Out, "ran %s\n", call.Args)
	return 0
}

func (r *ran) all() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.args, "\n")
}

// A restarted server runs the jobs that waited, in their order and for their users; the job that
// ran is not run again. Output is found again.
func TestRestart(t *testing.T) {
	home := t.TempDir()
	tick := make(chan struct{})
	flags := []string{"--token-file", tokenFile(t)}
	w, server := serveWeb(t, home, held(tick), flags...)
	ann := w.as("correct-horse")
	for _, line := range []string{
		"http -n 1 http://127.0.0.1:1/", "http -n 2 http://127.0.0.1:1/", "http -n 3 --bearer tigerlily http://127.0.0.1:1/", "http -n 4 -L 'a=b c' http://127.0.0.1:1/",
	} {
		ann.do("POST", "/v1/jobs", lineOf(strings.ReplaceAll(line, "-L", "--label")), 202, nil)
	}
	tick <- struct{}{}
	tick <- struct{}{} // the first line is written
	server.stop()
	var second ran
	w, server = serveWeb(t, home, second.run, flags...)
	ann = w.as("correct-horse")
	for id, state := range map[int]string{1: "interrupted", 2: "done", 3: "interrupted", 4: "done"} {
		if j := ann.awaitJob(id, state); j.User != "ann" || (j.Reason != "") != (state == "interrupted") {
			t.Errorf("%+v", j)
		}
	}
	if want := "http -n 2 http://127.0.0.1:1/\nhttp -n 4 --label a=b c http://127.0.0.1:1/"; second.all() != want {
		t.Errorf("%s", second.all())
	}
	ann.do("POST", "/v1/jobs", lineOf("http -n 5 http://127.0.0.1:1/"), 202, nil)
	ann.awaitJob(5, "done")
	server.stop()
	var third ran
	w, _ = serveWeb(t, home, third.run, flags...)
	ann = w.as("correct-horse")
	for id, want := range map[int]string{1: "line 0 xxx", 4: "job 4 waited when the server ended, and keeps its turn\nran [http -n 4", 5: "ran [http -n 5"} {
		text, _, _ := readEvents(t, ann.raw("GET", fmt.Sprintf("/v1/jobs/%d/events", id), "", nil).body)
		if !strings.HasPrefix(text, want) || id > 1 && !strings.Contains(text, fmt.Sprintf("job %d done in", id)) {
			t.Errorf("job %d: %q", id, text)
		}
	}
	if third.all() != "" {
		t.Errorf("%s", third.all())
	}
	var s webSaid
	ann.do("POST", "/v1/lines", lineOf("queue"), 200, &s)
	if !strings.Contains(s.Output, "interrupted by a restart: job 1 of ann: http -n 1 http://127.0.0.1:1/ (no report)\n") {
		t.Errorf("%s", s.Output)
	}
}

// A restarted server asks its tokens and its flags again.
func TestRestartWithLess(t *testing.T) {
	for name, c := range map[string]struct {
		tokens string
		flags  []string
		want   string
	}{
		"no user":   {"bob hunter2hunter2\n", nil, "its user is not a user of this server"},
		"look":      {"ann correct-horse look\nbob hunter2hunter2\n", nil, "your role is look, which may not do this"},
		"no target": {"ann correct-horse\nbob hunter2hunter2\n", []string{"--allow-target", "10.0.0.1"}, "127.0.0.1:1 may not be loaded"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			path := tokenFile(t)
			w, server := serveWeb(t, home, held(nil), "--token-file", path)
			ann := w.as("correct-horse")
			ann.do("POST", "/v1/jobs", lineOf("http -n 1 http://127.0.0.1:1/ ; http -n 2 http://127.0.0.1:1/"), 202, nil)
			server.stop()
			if err := os.WriteFile(path, []byte(c.tokens), 0o600); err != nil {
				t.Fatal(err)
			}
			var after ran
			w, _ = serveWeb(t, home, after.run, append([]string{"--token-file", path}, c.flags...)...)
			if j := w.as("hunter2hunter2").awaitJob(2, "interrupted"); !strings.Contains(j.Reason, c.want) || after.all() != "" {
				t.Errorf("%+v, ran %s", j, after.all())
			}
		})
	}
}

// Interrupted jobs are listed in their order, until queue clear removes them: another restart does
// not bring them back.
func TestClearedStayCleared(t *testing.T) {
	home := t.TempDir()
	queue := func(w *web) string {
		var s webSaid
		w.do("POST", "/v1/lines", lineOf("queue"), 200, &s)
		return s.Output
	}
	var w *web
	var server *running
	for range 2 { // the second time, an older interrupted job is there, and one that is not run again
		w, server = serveWeb(t, home, held(nil))
		w.do("POST", "/v1/jobs", lineOf("http -n 1 http://127.0.0.1:1/ ; http -n 2 --bearer tigerlily http://127.0.0.1:1/"), 202, nil)
		server.stop()
	}
	w, server = serveWeb(t, home, held(nil))
	var ids []string
	for line := range strings.Lines(queue(w)) {
		_, rest, _ := strings.Cut(line, "interrupted by a restart: job ")
		id, _, _ := strings.Cut(rest, " ")
		ids = append(ids, id)
	}
	if got := strings.Join(ids, " "); got != "1 2 3 4" {
		t.Errorf("the order is %s", got)
	}
	w.do("POST", "/v1/lines", lineOf("queue clear"), 200, nil)
	server.stop()
	w, _ = serveWeb(t, home, held(nil))
	if text := queue(w); text != "the queue is empty\n" {
		t.Errorf("%s", text)
	}
	if j := w.awaitJob(1, "interrupted"); j.Reason == "" {
		t.Errorf("%+v", j)
	}
}

// Waiting jobs of a server that was down for days are not run.
func TestRestartAfterDays(t *testing.T) {
	home := t.TempDir()
	w, server := serveWeb(t, home, held(nil))
	w.do("POST", "/v1/jobs", lineOf("http -n 1 http://127.0.0.1:1/ ; http -n 2 http://127.0.0.1:1/"), 202, nil)
	server.stop()
	path := filepath.Join(home, "state/jobs.json")
	b, err := os.ReadFile(path)
	var all map[string]any
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	all["saved"] = time.Now().Add(-25 * time.Hour)
	b, _ = json.Marshal(all) // it was JSON
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var after ran
	w, _ = serveWeb(t, home, after.run)
	if j := w.awaitJob(2, "interrupted"); !strings.Contains(j.Reason, "for more than a day") || after.all() != "" {
		t.Errorf("%+v, ran %s", j, after.all())
	}
}

// Of two servers with one folder, the second one leaves the jobs of the first one alone.
func TestSharedState(t *testing.T) {
	home := t.TempDir()
	w, _ := serveWeb(t, home, held(nil))
	w.do("POST", "/v1/jobs", lineOf("http -n 1 http://127.0.0.1:1/ ; http -n 2 http://127.0.0.1:1/"), 202, nil)
	var second ran
	other, server := serveWeb(t, home, second.run)
	other.do("POST", "/v1/jobs", lineOf("http -n 9 http://127.0.0.1:1/"), 202, nil)
	other.awaitJob(1, "done")
	for _, line := range []string{"queue", "status"} { // users look for their jobs there
		var s webSaid
		if other.do("POST", "/v1/lines", lineOf(line), 200, &s); !strings.Contains(s.Output, "another takt server of this user runs, and has the saved jobs") {
			t.Errorf("%s: %s", line, s.Output)
		}
		if w.do("POST", "/v1/lines", lineOf(line), 200, &s); strings.Contains(s.Output, "another takt server") {
			t.Errorf("%s: %s", line, s.Output)
		}
	}
	server.stop()
	if second.all() != "http -n 9 http://127.0.0.1:1/" {
		t.Errorf("%s", second.all())
	}
	b, err := os.ReadFile(filepath.Join(home, "state/jobs.json"))
	if err != nil || strings.Contains(string(b), "-n 9") || !strings.Contains(string(b), `"-n"`) {
		t.Errorf("%v\n%s", err, b)
	}
}

// A server that cannot save its jobs, as with a full disk, says so, and goes on.
func TestFullDisk(t *testing.T) {
	home := t.TempDir()
	w, _ := serveWeb(t, home, (&ran{}).run)
	for _, name := range []string{"state/jobs.json", "state/jobs/1.log"} { // folders: nothing can be written there
		path := filepath.Join(home, name)
		if err := errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Join(path, "x"), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	var s webSaid
	w.do("POST", "/v1/jobs", lineOf("http -n 1 http://127.0.0.1:1/"), 202, &s)
	if !strings.Contains(s.Output, "warning: the queue cannot be saved: ") {
		t.Errorf("%q", s.Output)
	}
	if strings.Contains(s.Output, home) {
		t.Errorf("a path is shown: %q", s.Output)
	}
	w.awaitJob(1, "done")
	w.do("POST", "/v1/lines", lineOf("queue"), 200, &s)
	if !strings.HasPrefix(s.Output, "the queue is empty\nwarning: the queue cannot be saved: ") {
		t.Errorf("%q", s.Output)
	}
	text, _, _ := readEvents(t, w.raw("GET", "/v1/jobs/1/events", "", nil).body)
	if strings.Contains(text, home) || !strings.Contains(text, "the output of this job cannot be saved: ") || !strings.Contains(text, "ran [http") || !strings.Contains(text, "job 1 done in") {
		t.Errorf("%q", text)
	}
}

// serveVariable is set in the process that TestKill kills: the folder of its state.
const serveVariable = "TAKT_TEST_SERVE"

// TestServeToBeKilled is the server of TestKill.
func TestServeToBeKilled(t *testing.T) {
	home := os.Getenv(serveVariable)
	if home == "" {
		t.Skip("is the process that TestKill starts")
	}
	server := serve(t, home, held(nil), "--http", "127.0.0.1:0")
	if err := os.WriteFile(filepath.Join(home, "url.new"), []byte(server.http), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(home, "url.new"), filepath.Join(home, "url")); err != nil {
		t.Fatal(err)
	}
	select {}
}

// Whenever a server is killed, the next one knows every job that was accepted.
func TestKill(t *testing.T) {
	home := t.TempDir()
	accepted := 0
	const kills = 6
	for round := range kills {
		cmd := exec.Command(os.Args[0], "-test.run=^TestServeToBeKilled$")
		cmd.Env = append(os.Environ(), serveVariable+"="+home)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		url := awaitFile(t, filepath.Join(home, "url"))
		for accepted <= kills && round == 0 { // each kill interrupts one job: on a slow machine none was left
			id, err := queueAt(url)
			if err != nil {
				t.Fatal(err)
			}
			accepted = id
		}
		killed := time.AfterFunc(time.Duration(rand.IntN(400))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		accepted = max(accepted, flood(url))
		killed.Stop()
		_ = cmd.Process.Kill() // may be killed already
		_ = cmd.Wait()         // "signal: killed"
	}
	if accepted == 0 {
		t.Error("every server was killed before it accepted a job")
	}
	w, _ := serveWeb(t, home, held(nil))
	var all struct{ Jobs []webJob }
	w.do("GET", "/v1/jobs", "", 200, &all)
	known, count := map[int]string{}, map[string]int{}
	for _, j := range all.Jobs {
		known[j.ID] = j.State
		count[j.State]++
	}
	if count["running"] != 1 || count["interrupted"] > kills || count["running"]+count["interrupted"]+count["waiting"] != len(all.Jobs) {
		t.Errorf("after %d kills: %v", kills, count) // each interrupts the one job that runs
	}
	for id := 1; id <= accepted; id++ {
		if known[id] == "" {
			t.Errorf("job %d of %d is lost", id, accepted)
		}
	}
	for _, pattern := range []string{"state/.takt-*", "state/jobs/.takt-*"} {
		if left, _ := filepath.Glob(filepath.Join(home, pattern)); len(left) > 0 { // the pattern is well-formed
			t.Errorf("%q are left", left)
		}
	}
}

// flood queues jobs until the server does not answer any more, and returns the last accepted one.
func flood(url string) (accepted int) {
	for range 100 {
		id, err := queueAt(url)
		if err != nil {
			return accepted
		}
		accepted = id
	}
	return accepted
}

// awaitFile waits for a file, removes it, and returns its content.
func awaitFile(t *testing.T, path string) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(path); err == nil {
			_ = os.Remove(path) // the next server writes it again
			return string(b)
		}
		if time.Now().After(end) {
			t.Fatal("the server does not start")
		}
	}
}
