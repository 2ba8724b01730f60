package cli

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/shell"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/pkg/takt"
)

// exporting makes a run of 200 operations with these values of --export, and returns its report.
func exporting(t *testing.T, exports ...string) (r takt.Report, text, stderr string) {
	t.Helper()
	dir := t.TempDir()
	args := []string{"http", "--rate", "200/s", "-z", "1s", "--label", "revision=\"abc\"\n", "-o", "text=" + filepath.Join(dir, "text"), "-o", "json=" + filepath.Join(dir, "json")}
	for _, e := range exports {
		args = append(args, "--export", e)
	}
	code, _, stderr := at(t.Context(), dir, append(args, serve(t, target.Options{}))...)
	if code != core.ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if err := json.Unmarshal([]byte(read("json")), &r); err != nil {
		t.Fatal(err)
	}
	if c := r.Counts; c.Scheduled != 200 || c.OK != 200 {
		t.Errorf("%+v", c)
	}
	return r, read("text"), stderr
}

// receive accepts what is sent to a free port.
func receive(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go do(c)
		}
	}()
	return l.Addr().String()
}

// The report says what became of the figures, and the receivers have those of the report.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	prom := filepath.Join(dir, "takt.prom")
	carbon := receive(t, func(c net.Conn) {
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	})
	r, text, stderr := exporting(t, "openmetrics="+prom, "openmetrics=127.0.0.1:0", "influx="+filepath.Join(dir, "lines"), "graphite="+carbon)
	for _, e := range r.Exports {
		if e.Lost != 0 || e.Sent < 2 || e.Error != "" {
			t.Errorf("%+v", e)
		}
	}
	if len(r.Exports) != 4 || r.Warned("export_lost") || strings.Contains(stderr, "--export") || !strings.Contains(text, "\nexports\n") {
		t.Errorf("%d exports, %v, %s%s", len(r.Exports), r.Warnings, stderr, text)
	}
	got, err := os.ReadFile(prom)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`takt_operations_total{run="` + r.ID + `",outcome="ok"} 200`, `takt_operations_total{run="` + r.ID + `",outcome="unfinished"} 0`,
		`takt_response_seconds_count{run="` + r.ID + `"} 200`, `takt_valid{run="` + r.ID + `"}`, `label_revision="\"abc\"\n"`,
	} {
		if !strings.Contains(string(got), line) {
			t.Errorf("the file lacks %s:\n%s", line, got)
		}
	}
}

// Whatever a receiver does, the run is as without it, and no secret is shown.
func TestExportHostile(t *testing.T) {
	free := make(chan struct{})
	defer close(free)
	hang := receive(t, func(c net.Conn) { <-free; _ = c.Close() })
	none, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = none.Close()
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusInternalServerError
		if r.URL.Path == "/bad" {
			status = http.StatusBadRequest
		}
		http.Error(w, "no: "+r.Header.Get("Authorization"), status)
	}))
	defer failing.Close()
	exports := []string{
		"graphite=" + hang, "graphite=" + none.Addr().String(), "influx=" + failing.URL + "/?bucket=b&org=o&token=0123456789-secret", "influx=" + failing.URL + "/bad",
		"influx=http://ann:0123456789-word@" + none.Addr().String() + "/?db=x",
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		exports = append(exports, "openmetrics=/dev/full")
	}
	r, text, stderr := exporting(t, exports...)
	for i, e := range r.Exports {
		if e.Sent != 0 || e.Lost < 2 || e.Error == "" || !strings.Contains(stderr, "waiting up to 3s") {
			t.Errorf("%s: %+v\n%s", exports[i], e, stderr)
		}
	}
	if len(r.Exports) != len(exports) || !r.Warned("export_lost") {
		t.Errorf("%+v, %v", r.Exports, r.Warnings)
	}
	all, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(all) + text + stderr; strings.Contains(s, "0123456789") {
		t.Errorf("a secret is shown: %s", s)
	}
}

// What cannot be opened is a fault before the run.
func TestExportFaults(t *testing.T) {
	for export, want := range map[string]string{
		"x=y": `"x" is unknown; use openmetrics,`, "openmetrics=/missing/takt.prom": "--export openmetrics=/missing/takt.prom cannot be opened", "openmetrics=0.0.0.0:0": "other machines can reach 0.0.0.0:0",
	} {
		code, _, stderr := at(t.Context(), t.TempDir(), "http", "-n", "1", "--export", export, "http://127.0.0.1:1/")
		if code != core.ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s", export, code, stderr)
		}
	}
}

// A session exports to its own files and to allowed machines only.
func TestExportInSessions(t *testing.T) {
	env := core.Env{Getenv: func(string) string { return "" }}
	for _, test := range []struct {
		export, want string // "": allowed
		look         bool
	}{
		{"openmetrics=a.prom", "", false},
		{"influx=a.lp", "", false},
		{"graphite=127.0.0.1", "", false},
		{"influx=http://127.0.0.1:1/?db=x", "", false},
		{"openmetrics=a.prom", "the role look writes no files", true},
		{"openmetrics=/etc/a.prom", "only files in the server's folder", false},
		{"influx=../a", "only files in the server's folder", false},
		{"openmetrics=127.0.0.1:0", "a session opens no ports", false},
		{"graphite=192.0.2.1", "192.0.2.1:2003 may not be loaded", false},
		{"influx=udp://192.0.2.1:1", "192.0.2.1:1 may not be loaded", false},
		{"influx=http://192.0.2.1/?db=x", "192.0.2.1 may not be loaded", false},
	} {
		rules := shell.Rules{Look: test.look, Allow: func(host string) bool { return strings.HasPrefix(host, "127.0.0.1") }}
		_, err := ShellHost(env).Plan([]string{"http", "-n", "1", "--export", test.export, "http://127.0.0.1:1/"}, rules)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", test.export, err)
		}
	}
	plan, err := ShellHost(env).Plan([]string{"http", "-n", "1", "--export=influx=http://127.0.0.1:1/?bucket=b&token=secret", "http://127.0.0.1:1/"}, shell.Rules{})
	if err != nil || strings.Contains(strings.Join(plan.Shown, " "), "secret") || !plan.Secret {
		t.Errorf("%v, %q", err, plan.Shown)
	}
}
