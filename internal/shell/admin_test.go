package shell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/targettest"
)

// Where there is an admin, only admins end jobs of other users, see the audit log and read files
// again. Where there is none, every user may end every job, as before.
func TestAdmin(t *testing.T) {
	for _, c := range []struct {
		name, tokens string
		status       int
		run          string // answer to ann
	}{
		{"with an admin", "ann correct-horse\nbob hunter2hunter2\neve battery-staple admin\n", 403, "only admins may end jobs of others"},
		{"without one", "ann correct-horse\nbob hunter2hunter2\n", 202, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, "tokens")
			if err := os.WriteFile(path, []byte(c.tokens), 0o600); err != nil {
				t.Fatal(err)
			}
			w, _ := serveWeb(t, home, held(nil), "--token-file", path, "--audit-log", filepath.Join(home, "audit"))
			ann, bob, eve := w.as("correct-horse"), w.as("hunter2hunter2"), w.as("battery-staple")
			bob.do("POST", "/v1/jobs", lineOf("http http://127.0.0.1:1/ ; http -n 2 http://127.0.0.1:1/ ; http -n 3 http://127.0.0.1:1/ ; http -n 4 http://127.0.0.1:1/"), 202, nil)
			for _, id := range []string{"1", "2"} { // the running one, and one that waits
				if a := ann.raw("DELETE", "/v1/jobs/"+id, "", nil); a.status != c.status || !strings.Contains(string(a.body), c.run) {
					t.Errorf("%d %s", a.status, a.body)
				}
			}
			for _, line := range []string{"audit", "reload"} {
				a := ann.raw("POST", "/v1/lines", lineOf(line), nil)
				if a.status != 403 || !strings.Contains(string(a.body), "this is for the role admin") {
					t.Errorf("%d %s", a.status, a.body)
				}
			}
			if c.status == 202 {
				return
			}
			var s webSaid
			ann.do("POST", "/v1/lines", lineOf("queue clear all"), 200, &s)
			if s.Output != "0 jobs removed\n3 jobs of other users left; only admins may remove them\n" {
				t.Errorf("%q", s.Output)
			}
			bob.do("DELETE", "/v1/jobs/4", "", 202, nil)
			eve.do("DELETE", "/v1/jobs/2", "", 202, nil)
			eve.do("POST", "/v1/lines", lineOf("queue clear all"), 200, &s)
			if !strings.HasPrefix(s.Output, "1 job removed") {
				t.Errorf("%q", s.Output)
			}
			eve.do("DELETE", "/v1/jobs/1", "", 202, nil)
			eve.do("POST", "/v1/lines", lineOf("audit -n 50 ': refused'"), 200, &s)
			if !strings.Contains(s.Output, "ann (run)  command  reload: refused: this is for the role admin") || !strings.Contains(s.Output, "ann (run)  command  cancel 1: refused: job 1 belongs to bob") ||
				!strings.Contains(s.Output, "ann (run)  command  queue clear: refused: 3 jobs of other users left") || strings.Contains(s.Output, "bob (") {
				t.Errorf("%s", s.Output)
			}
		})
	}
}

// reload gives open sessions and new ones the tokens and names of now; a wrong file changes nothing.
func TestReload(t *testing.T) {
	home := t.TempDir()
	tokens, team := filepath.Join(home, "tokens"), filepath.Join(home, "team")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(tokens, "ann correct-horse\neve battery-staple admin\n")
	write(team, "target = shop=http://127.0.0.1:1/\n")
	log := filepath.Join(home, "audit")
	w, server := serveWeb(t, home, held(nil), "--token-file", tokens, "--team", team, "--audit-log", log)
	eve := w.as("battery-staple")
	ann := authorized(t, server.addr, "correct-horse")
	write(team, "target = stage=http://127.0.0.1:2/\nnonsense = 1\n")
	a := eve.raw("POST", "/v1/lines", lineOf("reload"), nil)
	if a.status != 409 || !strings.Contains(string(a.body), "team:2: nonsense is not a setting of a team file; use allow-target, apm-folder") {
		t.Errorf("%d %s", a.status, a.body)
	}
	ann.send("status")
	if text := ann.until(prompted); !strings.Contains(text, "Targets: @shop\n") {
		t.Errorf("%s", text)
	}
	write(team, "target = stage=http://127.0.0.1:2/\n")
	write(tokens, "ann correct-horse look\neve battery-staple admin\n")
	eve.do("POST", "/v1/lines", lineOf("reload"), 200, nil)
	ann.send("define x status")
	if text := ann.until(prompted); !strings.Contains(text, "your role is look") {
		t.Errorf("%s", text)
	}
	ann.send("status")
	if text := ann.until(prompted); !strings.Contains(text, "Targets: @stage\n") {
		t.Errorf("%s", text)
	}
	write(tokens, "eve battery-staple admin\n")
	eve.do("POST", "/v1/lines", lineOf("reload"), 200, nil)
	ann.send("status")
	if text := ann.until(closed); !strings.Contains(text, "your token is not valid any more") {
		t.Errorf("%s", text)
	}
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), `"outcome":"refused: your token is not valid any more`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// Sessions write @NAME for a target, and see the name, not its URL. The name allows its host.
func TestNamedTargets(t *testing.T) {
	home := t.TempDir()
	team := filepath.Join(home, "team")
	url := strings.TrimSuffix(targettest.Serve(t, target.Options{}).URL(), "/")
	secretURL := strings.Replace(url, "http://", "http://ann:tigerlily@", 1)
	folder := filepath.Join(home, "clone")
	if err := os.MkdirAll(filepath.Join(folder, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "# ours\ntarget = shop=" + secretURL + "\ntarget = \"stage=" + url + "\"\nallow-target = 10.0.0.2\napm-folder = main=" + folder + "\n"
	if err := os.WriteFile(team, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w, _ := serveWeb(t, home, inProcess, "--token-file", tokenFile(t), "--team", team)
	ann := w.as("correct-horse")
	var s webSaid
	ann.do("POST", "/v1/jobs", lineOf("http -n 3 --progress none @shop/path?a=@shop"), 202, &s)
	if s.Jobs[0].Command != "http -n 3 --progress none @shop/path?a=@shop" {
		t.Errorf("%+v", s)
	}
	if j := ann.awaitJob(1, "done"); *j.ExitCode != 0 {
		t.Errorf("%+v", j)
	}
	log := ann.raw("GET", "/v1/jobs/1/events", "", nil)
	report := ann.raw("GET", "/v1/jobs/1/report", "", nil)
	if !strings.Contains(string(report.body), "/path") {
		t.Errorf("%s", report.body)
	}
	for _, line := range []string{"status", "apm use main", "apm use @stage", "status", "words", "queue", "log", "runs"} {
		ann.do("POST", "/v1/lines", lineOf(line), 200, &s)
		if strings.Contains(s.Output, secret) || strings.Contains(s.Output, folder) {
			t.Errorf("%s: %s", line, s.Output)
		}
	}
	if strings.Contains(string(log.body)+string(report.body), secret) {
		t.Errorf("%s\n%s", log.body, report.body)
	}
	for _, line := range []string{"http -d@=@shop @shop", "http -d@=@shop @stage", "http -d @shop @shop", "http --user-agent @shop @shop", "capacity --slo p99<1s -- http -d@=@shop @shop"} {
		a := ann.raw("POST", "/v1/jobs", lineOf(line), nil)
		if a.status != 403 || strings.Contains(string(a.body), secret) || !strings.Contains(string(a.body), "@shop is a target with a password") {
			t.Errorf("%s: %d %s", line, a.status, a.body)
		}
	}
	for line, want := range map[string]string{
		"http -n 1 http://10.0.0.3/": "10.0.0.3 may not be loaded", "kafka produce --topic t --brokers 10.0.0.9:9092": "10.0.0.9:9092 may not be loaded", "http @nobody/x": "there is no target @nobody/x; status lists the names", "http -n 1 @shop@evil": "evil may not be loaded",
	} {
		if a := ann.raw("POST", "/v1/jobs", lineOf(line), nil); a.status < 400 || !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %d %s", line, a.status, a.body)
		}
	}
}
