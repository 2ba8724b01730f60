package reader

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/figures"
)

// fewestExamples is the number of kinds that docs/log-formats.md promises.
const fewestExamples = 30

// example is an example of docs/log-formats.md: a command, a log, and its request.
type example struct {
	name  string
	flags string
	lines []string
	want  string
}

// examples reads the page.
func examples(t testing.TB) (list []example) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/log-formats.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```text\n")
	for i, block := range blocks[1:] {
		before := strings.TrimSpace(blocks[i])
		block, _, _ = strings.Cut(block, "\n```")
		lines := strings.Split(block, "\n")
		if flags, ok := strings.CutPrefix(lines[0], "takt trace stats "); ok {
			last := len(lines) - 1
			list = append(list, example{strings.TrimSuffix(before[strings.LastIndexByte(before, '\n')+1:], ":"), flags, lines[1:last], lines[last]})
		}
	}
	return list
}

// settings are those of the flags.
func (e example) settings(t testing.TB) *Settings {
	t.Helper()
	args := []string{"--zone", "UTC", "--methods", "*"}
	if name, quoted, ok := strings.Cut(strings.TrimSuffix(e.flags, "LOG"), " '"); ok {
		args = append(args, name, strings.TrimSuffix(quoted, "' "))
	}
	g := new(Settings)
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	g.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	if faults := g.Validate(); len(faults) > 0 {
		t.Fatalf("%s: %v", e.flags, faults)
	}
	return g
}

// Each example of the page is what takt reads.
func TestExamples(t *testing.T) {
	list := examples(t)
	for _, e := range list {
		if got := e.read(t); got != e.want {
			t.Errorf("%s, %s\ngot  %s\nwant %s", e.name, e.flags, got, e.want)
		}
	}
	if len(list) < fewestExamples {
		t.Errorf("%d examples, want %d", len(list), fewestExamples)
	}
}

// read is the only request of the lines.
func (e example) read(t *testing.T) string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte(strings.Join(e.lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := e.settings(t).Open(t.Context(), []string{log}, nil)
	if err != nil {
		return err.Error()
	}
	defer l.Close()
	found := &figures.Examples{Src: l}
	if err := trace.Each(found, func(*trace.Record) error { return nil }); err != nil || len(found.First) != 1 {
		return "not one request"
	}
	return found.First[0].String()
}
