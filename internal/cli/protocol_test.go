package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/driver"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// redis is a protocol that takt does not have: what a contributor writes in one folder.
type redis struct {
	command, password string
	file              string
}

func (o *redis) AddFlags(fs *pflag.FlagSet) {
	fs.Var(value.Choice(&o.command, "get", "set"), "command", "`get|set` a key")
	fs.Var(value.InFile(&o.file), "keys", "keys from `FILE`")
	fs.Var(value.Secret((*takt.Secret)(&o.password)), "password", "`PASSWORD` of the server")
}
func (o *redis) Shape(*engine.Options)     {}
func (o *redis) Validate([]string) []error { return nil }
func (o *redis) Variables() map[string]any { return map[string]any{"command": o.command} }
func (o *redis) Open(context.Context, int) (*takt.Driver, error) {
	return &takt.Driver{Worker: func(int) (takt.Worker, error) { return pong{}, nil }}, nil
}

type pong struct{}

func (pong) Do(context.Context, *takt.Op, *takt.Result) {}
func (pong) Close() error                               { return nil }

// A protocol is a folder and a row: takt, its help, its settings, its server, verify and collate
// know it then.
func TestProtocolIsARow(t *testing.T) {
	home := t.TempDir()
	row := driver.Row{
		Use: "redis [flags] HOST", Short: "load Redis, command by command", Kind: "redis", Example: "  takt redis --rate 1000/s 127.0.0.1:6379",
		New: func(io.Reader) driver.Load { return driver.Load{Options: &redis{command: "get"}} },
	}
	run := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		env := core.Env{
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Interrupt: t.Context(), Rows: append(driver.Table(), row),
			Getenv: func(name string) string {
				return map[string]string{"XDG_DATA_HOME": home, "XDG_STATE_HOME": home}[name]
			},
		}
		if code := Main(env, args); code != core.ExitOK && code != core.ExitInconclusive {
			t.Fatalf("takt %s: exit code %d: %s", strings.Join(args, " "), code, errs.String())
		}
		return out.String()
	}
	for _, c := range []struct{ args, want string }{
		{"--help", "redis       load Redis, command by command"},
		{"redis --help-all", "--keys FILE"},
		{"redis --help-all", "--rate"},
		{"config redis --command set --password p h:1", "command = set"},
		{"config redis --command set --password p h:1", "; password = xxxxx"},
		{"config --help", "redis"},
		{"__complete redis --command ", "set"},
	} {
		args := strings.Fields(c.args)
		if strings.HasSuffix(c.args, " ") {
			args = append(args, "")
		}
		if out := run(args...); !strings.Contains(out, c.want) {
			t.Errorf("takt %s: no %q in\n%s", c.args, c.want, out)
		}
	}
	for _, command := range []string{"get", "set"} {
		run("redis", "-n", "50", "-c", "1", "--command", command, "--label", "branch="+command, "--password", "p", "h:1")
	}
	if out := run("runs", "kind=redis"); strings.Count(out, " redis ") != 2 {
		t.Errorf("takt runs: %s", out)
	}
	if out := run("collate", "command", "kind=redis"); !strings.Contains(out, "get") || !strings.Contains(out, "p99.9") {
		t.Errorf("takt collate: %s", out)
	}
	run("verify", "--base", "@-2", "--head", "@-1", "--vary", "command", "-o", "json="+home+"/verify.json")
	text, err := os.ReadFile(home + "/verify.json")
	if err != nil {
		t.Fatal(err)
	}
	var judged struct {
		Comparisons []struct{ Metrics []struct{ Metric string } }
	}
	if err := json.Unmarshal(text, &judged); err != nil || len(judged.Comparisons) != 1 {
		t.Fatalf("%v %s", err, text)
	}
	var metrics []string
	for _, m := range judged.Comparisons[0].Metrics {
		metrics = append(metrics, m.Metric)
	}
	if want := []string{"p50", "p99", "errors", "rate"}; !slices.Equal(metrics, want) {
		t.Errorf("verify judges %v, want %v", metrics, want)
	}
}

// Every protocol has a page, which the index of the documents links.
func TestProtocolsHavePages(t *testing.T) {
	index, err := os.ReadFile("../../docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range driver.Table() {
		page := row.Group
		if page == "" {
			page = strings.Fields(row.Use)[0]
		}
		if _, err := os.Stat("../../docs/" + page + ".md"); err != nil || !bytes.Contains(index, []byte("("+page+".md)")) {
			t.Errorf("takt %s has no page docs/%s.md that docs/README.md links: %v", page, page, err)
		}
	}
}
