package bench

import (
	"context"
	"errors"
	"flag"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/takt"
)

// mainOf makes a program whose function open is given, and returns what it writes to standard error.
func mainOf(t *testing.T, open func([]string) (*takt.Driver, error)) (m *mainProgram, said func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stderr")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	own := flag.NewFlagSet("prog", flag.ContinueOnError)
	own.SetOutput(io.Discard)
	return &mainProgram{open: open, flags: own, name: "prog", stdout: f, stderr: f, getenv: func(string) string { return "" }}, func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// An error of open that is about the arguments is a fault of usage.
func TestExitCodeOfOpen(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		want string
	}{
		{Usage(errors.New("give an address")), exitUsage, "prog: give an address\nprog: see 'prog --help'\n"},
		{errors.New("the server is closed on Sundays"), exitFailed, "prog: the server is closed on Sundays\n"},
		{nil, exitFailed, "prog: the program has no driver: the function that it gave to bench.Main returned nil without an error\n"},
	} {
		m, said := mainOf(t, func([]string) (*takt.Driver, error) { return nil, c.err })
		path := filepath.Join(t.TempDir(), "old.xml")
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if code := m.command([]string{"-n", "1", "-o", "junit=" + path}); code != c.code || said() != c.want {
			t.Errorf("%v: exit code %d, want %d; %s", c.err, code, c.code, said())
		}
		if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), "<error") != (c.code == exitFailed) { // a fault of usage leaves files as they are
			t.Errorf("%v: %s (%v)", c.err, b, err)
		}
	}
	if Usage(nil) != nil {
		t.Error("no error is a fault of usage")
	}
}

// What is wrong with the flags is said before the program sets anything up.
func TestFlagsBeforeOpen(t *testing.T) {
	for _, args := range [][]string{{"--assert", "p99 soon"}, {"-o", "nonsense=x"}, {"--start-at", "2001-01-01T00:00:00Z"}, {"--label", "x"}} {
		m, said := mainOf(t, func([]string) (*takt.Driver, error) {
			t.Errorf("%v: set up", args)
			return nil, errors.New("never")
		})
		if code := m.command(append(args, "-n", "1")); code != exitUsage || said() == "" {
			t.Errorf("%v: exit code %d: %s", args, code, said())
		}
	}
}

// A program has the bursts of a log, too.
func TestArrivalsOfMain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	log := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(log, []byte(`{"time":"2026-11-20T10:00:00.000001Z","uri":"/a","status":200}
{"time":"2026-11-20T10:00:00.000001Z","uri":"/b","status":200}
{"time":"2026-11-20T10:00:03.5Z","uri":"/c","status":200}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	m, said := mainOf(t, func([]string) (*takt.Driver, error) {
		return load.Handler(func(context.Context, *takt.Op, *takt.Result) error { return nil }), nil
	})
	if code := m.command([]string{"--rate", "1000/s", "-n", "3", "--arrivals", "like:" + log, "--progress", "none", "-o", "json=" + path}); code != exitOK {
		t.Fatalf("exit code %d: %s", code, said())
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"gap_cv": 1.414`) {
		t.Errorf("%v:\n%s", err, text)
	}
}

// The report has all flags of the program, with their values and types.
func TestVariablesOfFlags(t *testing.T) {
	m, said := mainOf(t, func([]string) (*takt.Driver, error) {
		return load.Handler(func(context.Context, *takt.Op, *takt.Result) error { return nil }), nil
	})
	own := m.flags
	own.Bool("write", false, "")
	own.Int("keys", 10_000, "")
	own.Uint64("most", math.MaxUint64, "")
	own.Float64("part", 0.5, "")
	own.Float64("bound", math.Inf(1), "")
	own.Duration("wait", time.Second, "")
	own.String("name", "localhost", "")
	own.String("url", "redis://user:geheim@127.0.0.1/0", "")
	own.String("password", "geheim", "")
	own.String("odd", "redis://user:geheim%zz@127.0.0.1/0", "")
	own.String("dsn", "user:geheim@tcp(127.0.0.1:3306)/db", "")
	path := filepath.Join(t.TempDir(), "r.json")
	if code := m.command([]string{"-n", "1", "--progress", "none", "--keys=7", "--wait=90s", "--write", "-o", "json=" + path}); code != exitOK {
		t.Fatalf("exit code %d: %s", code, said())
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "geheim") {
		t.Errorf("%v; a password is in the report:\n%s", err, text)
	}
	want := map[string]any{
		"write": true, "keys": int64(7), "most": uint64(math.MaxUint64), "part": 0.5, "bound": "+Inf", "wait": "1m30s",
		"flag_name": "localhost", "url": "redis://user:xxxxx@127.0.0.1/0",
		"odd": "redis://user:xxxxx@127.0.0.1/0", "dsn": "user:xxxxx@tcp(127.0.0.1:3306)/db",
	}
	if got := m.variables(); !maps.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	for _, part := range []string{`"write": true`, `"keys": 7`, `"part": 0.5`, `"wait": "1m30s"`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the report lacks %s\n%s", part, text)
		}
	}
}
