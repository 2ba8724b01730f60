package bench

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/takt"
)

// mains is a run of Main, and what it said.
func mains(t *testing.T, environ []string, args ...string) (code int, operations uint64, wait time.Duration, stdout, stderr string) {
	t.Helper()
	folder := t.TempDir()
	file := func(name string) *os.File {
		f, err := os.Create(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	var n atomic.Uint64
	own := flag.NewFlagSet("x", flag.ContinueOnError)
	own.SetOutput(io.Discard)
	own.DurationVar(&wait, "wait", time.Microsecond, "how long an operation takes")
	m := mainProgram{flags: own, name: "mine", stdout: file("out"), stderr: file("err"), environ: environ}
	m.getenv = func(name string) string {
		for _, v := range environ {
			if text, ok := strings.CutPrefix(v, name+"="); ok {
				return text
			}
		}
		return ""
	}
	m.open = func([]string) (*takt.Driver, error) {
		return load.Handler(func(context.Context, *takt.Op, *takt.Result) error { n.Add(1); return nil }), nil
	}
	code = m.command(args)
	read := func(f *os.File) string {
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return code, n.Load(), wait, read(m.stdout), read(m.stderr)
}

// Flags that are not given have the values of takt's variables.
func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		environ string
		args    string
		code    int
		n       uint64
		wait    time.Duration
		said    string
	}{
		{"TAKT_REQUESTS=7", "", 0, 7, time.Microsecond, ""},
		{"TAKT_REQUESTS=7 TAKT_WAIT=3us TAKT_PROGRESS=full", "-n 9", 0, 9, 3 * time.Microsecond, ""},
		{"TAKT_RATE=", "-n 9", 0, 9, time.Microsecond, ""},
		{"TAKT_RATE=5/q", "-n 9", 2, 0, time.Microsecond, `mine: bad TAKT_RATE "5/q": `},
		{"", "-n 9 --prove", 2, 0, time.Microsecond, "mine: --prove: no assertion is about a percentile or a share"},
		{"TAKT_PROVE=true", "-n 9", 0, 9, time.Microsecond, ""},
		{"", "-n 9 --assert p99<250", 2, 0, time.Microsecond, `mine: assertion "p99<250": `},
		{"TAKT_WAIT=x", "-n 9", 2, 0, 0, `mine: bad TAKT_WAIT "x": give a time such as 1ms`},
		{"TAKT_RAET=5/s TAKT_STORE=x.db", "-n 9", 0, 9, time.Microsecond, "mine: warning: TAKT_RAET is not a setting, so takt ignores it; did you mean TAKT_RATE?\n"},
		{"TAKT_CONFIG=x", "-n 9", 0, 9, time.Microsecond, "mine: warning: TAKT_CONFIG is not read here; takt ./mine reads the file\n"},
	} {
		code, n, wait, _, said := mains(t, strings.Fields(c.environ), strings.Fields(c.args+" --progress none")...)
		if code != c.code || n != c.n || wait != c.wait || c.said == "" && said != "" || !strings.HasPrefix(said, c.said) {
			t.Errorf("%s %s: code %d, %d operations, wait %v, %q", c.environ, c.args, code, n, wait, said)
		}
	}
}

// --help shows what matters first, --help-all everything.
func TestMainsHelp(t *testing.T) {
	code, _, _, short, said := mains(t, nil, "--help")
	if code != 0 || said != "" || !strings.Contains(short, "      --wait duration   how long an operation takes (default 1µs)\n") || !strings.Contains(short, "  -c, --connections N") ||
		strings.Contains(short, "--pacing") || !strings.Contains(short, "\nmine --help-all lists all ") || strings.Count(short, "\n") > 40 {
		t.Errorf("%d, %s, %s", code, short, said)
	}
	code, _, _, all, said := mains(t, nil, "--help-all")
	if code != 0 || said != "" || !strings.Contains(all, "--pacing default|precise|economy") || !strings.Contains(all, "\nGenerator:\n") {
		t.Errorf("%d, %s, %s", code, all, said)
	}
}

// Flags of the engine reach it.
func TestMainsEngine(t *testing.T) {
	for args, want := range map[string]string{
		"-n 9 --engine loop":                   "mine: --engine loop is for TCP on Linux",
		"-n 9 --loops -1":                      "mine: --loops is -1; give a number",
		"-n 9 -c 2000000":                      "mine: --connections is 2000000; give at most 1000000\n",
		"-n 9 --max-in-flight 2000000":         "mine: --max-in-flight is 2000000; give at most 1000000\n",
		"-n 9 --shard auto":                    "mine: ",
		"-n 9 --start-at 2001-01-01T00:00:00Z": "mine: --start-at",
	} {
		if code, n, _, _, said := mains(t, nil, strings.Fields(args)...); code != exitUsage || n != 0 || !strings.HasPrefix(said, want) {
			t.Errorf("%s: code %d, %d operations, %s", args, code, n, said)
		}
	}
}
