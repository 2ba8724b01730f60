package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/racetest"
	"github.com/taktload/takt/internal/shell"
)

// canary stands in a file that no session may read.
const canary = "tigerlily"

// walk is a folder of sessions beside one that is none of theirs, and a target that keeps
// what it gets.
type walk struct {
	t       *testing.T
	dumps   string
	outside string
	url     string
	mu      sync.Mutex
	got     bytes.Buffer
	allowed [][]string // command lines that the shell does not refuse
	refused [][]string // those that it refuses, for files alone
}

func newWalk(t *testing.T) *walk {
	home := t.TempDir()
	w := &walk{t: t, dumps: filepath.Join(home, "dumps"), outside: filepath.Join(home, "outside")}
	for _, dir := range []string{w.dumps, w.outside} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(w.secret(), []byte(canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		_ = r.Write(&w.got)
	}))
	t.Cleanup(s.Close)
	w.url = s.URL
	confine(t, w.dumps)
	return w
}

func (w *walk) secret() string { return filepath.Join(w.outside, "secret") }

// base is a short command line of each command that sessions have.
func (w *walk) base() map[string][]string {
	return map[string][]string{
		"http":          {"--no-store", "-n", "1", "-c", "1", w.url},
		"apm":           {"--no-store", "-n", "1", "-c", "1", "--events", "1", "--spans", "1", "--frames", "1", w.url},
		"llm":           {"--no-store", "-n", "1", "-c", "1", w.url},
		"grpc":          {"--no-store", "-n", "1", "-c", "1", "--raw", w.url + "/a.B/C"},
		"replay":        {"--no-store", "log", w.url},
		"kafka produce": {"--no-store", "--brokers", "127.0.0.1:1", "--topic", "x", "--rate", "5/s", "-z", "10ms"},
		"kafka consume": {"--no-store", "--brokers", "127.0.0.1:1", "--topic", "x", "-z", "10ms"},
		"kafka e2e":     {"--no-store", "--brokers", "127.0.0.1:1", "--topic", "x", "--rate", "5/s", "-z", "10ms"},
		"jms client":    {"--no-store", "--url", "tcp://127.0.0.1:1", "-z", "10ms", "queue://x"},
		"jms producer":  {"--no-store", "--url", "tcp://127.0.0.1:1", "-z", "10ms", "queue://x"},
		"jms consumer":  {"--no-store", "--url", "tcp://127.0.0.1:1", "-z", "10ms", "queue://x"},
		"capacity":      {"--slo", "p95<1s", "--from", "x"},
		"verify":        {"branch=x"},
		"history":       {"branch=x"},
		"collate":       {"branch"},
		"compare":       {"x", "y"},
		"runs":          {},
		"show":          {"x"},
	}
}

// hostile are values that name what is outside, in all ways that some flag may understand.
func (w *walk) hostile() []string {
	return []string{
		w.secret(), "../outside/secret", "@" + w.secret(), "file://" + w.secret(), "json=" + filepath.Join(w.outside, "new"), "a=@" + w.secret(),
		"a: {{file\t`" + w.secret() + "`}}",
	}
}

// forms are the ways in which a flag and its value can be written.
func forms(f *pflag.Flag, value string) [][]string {
	all := [][]string{{"--" + f.Name + "=" + value}, {"--" + f.Name, value}, {"-" + f.Name, value}}
	if f.Shorthand != "" {
		all = append(all, []string{"-" + f.Shorthand, value}, []string{"-" + f.Shorthand + value})
	}
	return all
}

// confine confines this process, as a job's and a server's are, until the test ends.
func confine(t *testing.T, dir string) {
	t.Helper()
	free, err := files.Confine(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
	t.Chdir(dir) // where a job runs
}

// TestWalk has a session try every flag of every command that it can give, the hidden ones
// too, on what is outside of its folder. What the shell does not refuse is run. What it refuses for a file
// alone is run as well: the process of a job opens nothing outside, whatever the shell thinks of its words.
func TestWalk(t *testing.T) {
	racetest.Skip(t, "plans and runs many command lines, which takes long with the race detector")
	w := newWalk(t)
	base := w.base()
	var known []string
	seen := map[string]bool{}
	commands := core.CommandFlags{}.Collect(newRoot(core.Env{Settings: &core.Settings{}}))
	for name, flags := range commands {
		first := strings.Fields(name)[0]
		if !strings.Contains(shell.Help(), "\n  "+first+" ") || first == "queue" {
			continue
		}
		known = append(known, name)
		args, ok := base[name]
		if !ok {
			t.Errorf("%s: no short command line is written for it", name)
			continue
		}
		command := strings.Fields(name)
		for _, value := range w.hostile() {
			w.try(slices.Concat(command, []string{value}, args))
		}
		flags.VisitAll(func(f *pflag.Flag) {
			kind, _ := pflag.UnquoteUsage(f)
			if f.NoOptDefVal != "" || seen[f.Name+kind] {
				return
			}
			seen[f.Name+kind] = true
			for i, value := range w.hostile() {
				if f.Value.Set(value) != nil {
					continue // a number, a duration: refused in all forms
				}
				for j, form := range forms(f, value) {
					if i == 0 || j == 0 {
						w.try(slices.Concat(command, form, args))
					}
				}
			}
		})
	}
	if len(known) != len(base) {
		t.Errorf("sessions have the commands %q", known)
	}
	if len(seen) < 100 || len(w.allowed) < 100 || len(w.refused) < 100 {
		t.Errorf("only %d flags were seen, and %d and %d command lines run", len(seen), len(w.allowed), len(w.refused))
	}
	w.allowed = append(w.allowed, w.refused...)
	w.run()
	w.check()
}

// try keeps a command line for later, unless the shell refuses it for more than its files.
func (w *walk) try(args []string) {
	env := core.Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	_, err := ShellHost(env).Plan(args, shell.Rules{})
	if err == nil {
		w.allowed = append(w.allowed, args)
		return
	}
	for line := range strings.Lines(err.Error()) {
		if !strings.Contains(line, files.ErrOutside.Error()) {
			return
		}
	}
	w.refused = append(w.refused, args)
}

// run runs what was allowed as jobs of a session, many at once: most wait for servers that
// are not there.
func (w *walk) run() {
	places := make(chan struct{}, 32)
	var all sync.WaitGroup
	for i, args := range w.allowed {
		for j := range args { // what the target got tells by whom
			args[j] = strings.Replace(args[j], w.url, fmt.Sprintf("%s/%d", w.url, i), 1)
		}
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
			defer cancel()
			var out bytes.Buffer
			Main(core.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Interrupt: ctx, Session: true, Getenv: func(name string) string {
				return map[string]string{"XDG_DATA_HOME": w.dumps, "XDG_STATE_HOME": w.dumps}[name]
			}}, args)
			if bytes.Contains(out.Bytes(), []byte(canary)) {
				w.t.Errorf("%q shows what is outside:\n%s", args, &out)
			}
		})
	}
	all.Wait()
}

// check looks for what was read or written outside.
func (w *walk) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := bytes.Index(w.got.Bytes(), []byte(canary)); at >= 0 {
		w.t.Errorf("a target got what is outside: %q", w.got.Bytes()[max(0, at-300):at+len(canary)])
	}
	list, err := os.ReadDir(w.outside)
	if text, changed := os.ReadFile(w.secret()); len(list) != 1 || string(text) != canary+"\n" || changed != nil || err != nil {
		w.t.Errorf("outside was written to: %v, %q", list, text)
	}
	err = filepath.WalkDir(w.dumps, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(canary)) {
			w.t.Errorf("%s has what is outside", path)
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
}
