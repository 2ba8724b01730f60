package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/clitest"
	"github.com/taktload/takt/internal/test/targettest"
)

// place is a home with a store and the pages over it.
type place struct {
	t    *testing.T
	home string
	url  string
}

func (p *place) getenv(name string) string {
	if name == "HOME" {
		return p.home
	}
	return ""
}

func (p *place) env(ctx context.Context) (core.Env, *bytes.Buffer) {
	var said bytes.Buffer
	return core.Env{Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said, Getenv: p.getenv, Interrupt: ctx, Abort: make(chan struct{})}, &said
}

// takt runs a command.
func (p *place) takt(ctx context.Context, args ...string) {
	p.t.Helper()
	env, said := p.env(ctx)
	if code := cli.Main(env, args); !slices.Contains([]int{core.ExitOK, core.ExitInvalid, 130}, code) {
		p.t.Errorf("%q: exit code %d: %s", args, code, said)
	}
}

func slow() target.Options {
	o := target.Options{}
	o.Service = "2ms"
	return o
}

// serve serves the pages until the test ends, and returns their URL.
func serve(t *testing.T, p *place, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	env, said := p.env(ctx)
	read, write := io.Pipe()
	env.Stdout = write
	code := make(chan int, 1)
	go func() {
		code <- cli.Main(env, append([]string{"ui", "--listen", "127.0.0.1:0"}, args...))
		_ = write.Close()
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("exit code %d: %s", <-code, said)
	}
	t.Cleanup(func() {
		cancel(&core.SignalError{Number: 2})
		if got := <-code; got != 130 || said.Len() > 0 {
			t.Errorf("exit code %d: %s", got, said)
		}
	})
	return strings.TrimSpace(line)
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func shows(t *testing.T, url string, status int, texts ...string) {
	t.Helper()
	got, body := get(t, url)
	for _, text := range texts {
		if got != status || !strings.Contains(body, text) {
			t.Errorf("%s: status %d, want %d with %q:\n%s", url, got, status, text, body[strings.Index(body, "<body")+1:])
		}
	}
}

// Before the first run the page says how to make one, and creates no store.
func TestUINoStore(t *testing.T) {
	p := &place{t: t, home: t.TempDir()}
	p.url = serve(t, p)
	for _, path := range []string{"", "run?id=@-1", "history", "compare?run=a&run=b"} {
		shows(t, p.url+path, 200, "takt http --rate 100/s")
	}
	shows(t, p.url+"live", 200, "Nothing runs now")
	if left, _ := filepath.Glob(filepath.Join(p.home, ".local", "*", "*", "*")); len(left) > 0 {
		t.Errorf("a command that only reads has made %v", left)
	}
}

// A store that was named and is not there, is damaged or belongs to another program is said with its
// cause.
func TestUIBadStore(t *testing.T) {
	p := &place{t: t, home: t.TempDir()}
	damaged := filepath.Join(p.home, "damaged.db")
	if err := os.WriteFile(damaged, bytes.Repeat([]byte("nonsense"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(p.home, "nowhere.db"): "there is no store", damaged: "no page", "elasticsearch://127.0.0.1:9": "the store cannot be reached",
	} {
		url := serve(t, p, "--store", path)
		shows(t, url, 503, text)
		shows(t, url+"history", 503, text)
	}
}

// The pages of a store, and what is wrong with an address.
func TestUIPages(t *testing.T) {
	p := &place{t: t, home: t.TempDir()}
	st, err := store.Open(t.Context(), filepath.Join(p.home, "runs.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	for i := range 130 {
		one := clitest.Report(0, at.Add(time.Duration(i)*time.Second))
		one.ID, one.Labels["note"] = fmt.Sprintf("RUN%03d", i), "two <b>words</b>"
		if i == 60 {
			one.Variables["arrivals"] = "closed"
		}
		if err := st.Save(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	u := serve(t, p, "--store", filepath.Join(p.home, "runs.db"))
	for _, c := range []struct {
		path   string
		status int
		texts  []string
	}{
		{"", 200, []string{"RUN129", "RUN080", "Runs 1 to 50", `href="/?skip=50"`}},
		{"?skip=50", 200, []string{"RUN079", "<small>closed loop</small>", at.Add(60 * time.Second).Format(time.DateTime), "RUN030", "Runs 51 to 100", `href="/" rel="prev"`, `href="/?skip=100" rel="next"`}},
		{"?skip=100", 200, []string{"RUN029", "RUN000", "Runs 101 to 130", `href="/?skip=50" rel="prev"`}},
		{"?skip=200", 200, []string{"There are no older runs"}},
		{"?skip=-1", 400, []string{"skip is not a number"}},
		{"?skip=9999999999999999999999", 400, []string{"skip is not a number"}},
		{"?q=" + url.QueryEscape("note='two <b>words</b>' p99<1s"), 200, []string{"RUN129", "two &lt;b&gt;words"}},
		{"?q=branch%3Dnone", 200, []string{"No run matches"}},
		{"?sort=p99", 400, []string{"no parameter", "it has q, skip"}},
		{"run?id=RUN005&%1b%5b2J=1", 400, []string{"no parameter", "it has id"}},
		{"?q=nonsense%3D1", 400, []string{"no run has"}},
		{"?q=nonsense", 400, []string{"has no operator"}},
		{"?q=%22", 400, []string{"open quote"}},
		{"run?id=RUN005", 200, []string{"RUN005", "/report.json?id=RUN005", "two &lt;b&gt;words"}},
		{"run?id=@-1", 200, []string{"RUN129"}},
		{"run?id=RUN", 404, []string{"130 runs begin with RUN"}},
		{"run?id=nobody", 404, []string{"there is no run nobody"}},
		{"run", 400, []string{"names no run"}},
		{"report.json?id=RUN005", 200, []string{`"schema_version"`}},
		{"report.html?id=RUN005", 200, []string{`id="takt-reports"`}},
		{"compare?run=RUN005&run=RUN004", 200, []string{"compare", "Swap both sides", "base=RUN005"}},
		{"compare?run=RUN005", 400, []string{"choose two runs"}},
		{"compare?run=RUN005&run=RUN005", 400, []string{"choose two runs"}},
		{"compare?base=RUN005&base=RUN006&head=RUN007", 200, []string{"compare"}},
		{"compare", 400, []string{"the base has 0 runs"}},
		{"history", 200, []string{"p99", "rate"}},
		{"history?q=branch%3Dnone", 200, []string{"no run matches", "--git"}},
		{"live", 200, []string{"Nothing runs now"}},
		{"live?id=RUN005", 200, []string{"RUN005"}}, // it has ended, and is in the store
		{"live?id=nobody", 404, []string{"there is no run nobody", "takt store sync"}},
		{"live?id=../../runs", 404, []string{"there is no file ../../runs, and no run either"}},
		{"live?id=%25zz", 400, []string{"is not the name of a run"}},
		{"nowhere", 404, []string{"there is no such page"}},
		{"%2e%2e/etc/passwd", 404, []string{"there is no such page"}},
		{"run/", 404, []string{"there is no such page"}},
		{"?q=" + strings.Repeat("a", 9000), 414, []string{"8 KiB"}},
	} {
		shows(t, u+c.path, c.status, c.texts...)
	}
	if strings.Contains(func() string { _, body := get(t, u+"?q=note%3D%3Cscript%3E"); return body }(), "note=<script>") {
		t.Error("a filter is code of the page")
	}
}

// A run that goes on is shown by what its journal has, and leads to its report in the end. The run does
// not notice it: its lock and its file stay.
func TestUILive(t *testing.T) {
	p := &place{t: t, home: t.TempDir()}
	server := targettest.Serve(t, slow())
	p.url = serve(t, p)
	running, end := context.WithCancelCause(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		p.takt(running, "http", "--rate", "50/s", "-z", "5m", "--progress", "none", "--label", "note=<b>", server.URL())
	}()
	defer func() { end(nil); <-over }()
	find := func(path, text string) []string {
		t.Helper()
		form, body := regexp.MustCompile(text), ""
		for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
			_, body = get(t, p.url+path)
			if found := form.FindStringSubmatch(body); found != nil {
				return found
			}
		}
		t.Fatalf("%s never shows %q:\n%s", path, text, body[strings.Index(body, "<body")+1:])
		return nil
	}
	find("live", "(?s)1 run in progress.*note=&lt;b&gt;")
	names, _ := filepath.Glob(filepath.Join(p.home, ".local/state/takt/spool/*.journal"))
	if len(names) != 1 {
		t.Fatal(names)
	}
	id := strings.TrimSuffix(filepath.Base(names[0]), ".journal")
	first := find("live?id="+id, `The run goes on: .* after (\d+)s`)[1]
	for until := time.Now().Add(time.Minute); find("live?id="+id, `The run goes on: .* after (\d+)s`)[1] == first; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("the page stays at %s s", first)
		}
	}
	other := serve(t, p, "--store", filepath.Join(p.home, "other.db"))
	if _, body := get(t, other+"live"); !strings.Contains(body, "Nothing runs now") {
		t.Error("a run of another store is shown")
	}
	end(&core.SignalError{Number: 2})
	<-over
	find("live?id="+id, "/report.json.id="+id)
	if left, _ := filepath.Glob(filepath.Join(p.home, ".local/state/takt/spool/*")); len(left) > 0 {
		t.Error(left)
	}
}
