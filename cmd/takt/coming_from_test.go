package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/test/pages"
)

// TestComingFrom compares docs/coming-from.md and its pages with the lists of facts in testdata/coming-from, one
// for each predecessor, which has one page. It also compares the page with takt: the right
// column of a table must name only what exists.
//
// A list has the commands, flags, inputs, outputs and names (api) of a predecessor, one per line.
// Its line "against" names the key in faces to compare the right column with. The head of a table's
// left column is one of these kinds. The left columns have every fact in backticks, and nothing
// else in backticks.
func TestComingFrom(t *testing.T) {
	page := pages.ComingFrom(t, "../..")
	c := comparison{lists: readFacts(t), faces: faces(t), bench: exported(t, "../../pkg/bench")}
	t.Chdir(t.TempDir())
	writeFeeders(t)
	for _, fault := range c.check(page) {
		t.Error(fault)
	}
	c.lists = map[string]facts{"x": {"takt http", map[string]bool{"flag -a": true, "output A:": true}}}
	t.Run("faults", func(t *testing.T) { testFaults(t, c) })
}

// feeders are the input files of the commands in the documents.
func feeders() map[string]string {
	return map[string]string{
		"targets.txt":  "# two\nGET http://127.0.0.1:8080/\nX-Account-ID: 1\n\nPOST http://127.0.0.1:8080/b\n@file.txt\n",
		"targets.json": `{"method":"POST","url":"http://127.0.0.1:8080/","body":"UHVuY2gh","header":{"Content-Type":["text/plain"]}}` + "\n",
		"file.txt":     "hello",
		"data.json":    `{"name":"a"}`,
		"prompts.json": `[{"conversations":[{"from":"human","value":"hello"},{"from":"gpt","value":"hi"},{"from":"human","value":"why?"}]}]`,
		"load.csv":     "2026-11-20 10:00:00 0.03 0 0 4 a 200 GET\n2026-11-20 10:00:00 0 0 0 4 b 200 GET\n",
		"access.log": `10.0.0.1 - - [20/Nov/2026:10:00:00.030 +0000] "GET /a HTTP/1.1" 200 6 "-" "x" 0.030
10.0.0.1 - - [20/Nov/2026:10:00:00.250 +0000] "GET /b?token=1&x=1 HTTP/1.1" 304 0 "-" "x" -
10.0.0.1 - - [20/Nov/2026:10:00:00.300 +0000] "POST /p HTTP/1.1" 201 0 "-" "x" -
10.0.0.2 - - [20/Nov/2026:10:00:00.500 +0000] "GET /c HTTP/1.1" 404 0 "-" "x" -
rubbish
`,
	}
}

func writeFeeders(t *testing.T) {
	for name, content := range feeders() {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// testFaults: each kind of fault is found, and nothing else.
func testFaults(t *testing.T, c comparison) {
	const flags, outputs = "## x\n\n| flag | takt |\n|---|---|\n", "| `-a` | `-n` |\n\n| output | takt |\n|---|---|\n"
	for _, tt := range []struct{ page, want string }{
		{flags + outputs + "| `A:` | `rate`, `counts.ok` |\n", ""},
		{flags + outputs, "x: output A: is not on the page"},
		{flags + outputs + "| `A:` | |\n", "x: | `A:` | |: nothing at the right"},
		{flags + outputs + "| `A:` | rate |\n| `B:` | rate |\n", "x: output B: is not in its list of facts"},
		{flags + outputs + "| `A:` | rate |\n| `A:` | a | b |\n", "x: | `A:` | a | b |: not two cells"},
		{flags + outputs + "| `A:` | rate |\n| A: | rate |\n", "x: | A: | rate |: nothing in backticks at the left"},
		{flags + outputs + "| `A:` | `velocity` |\n", "x: velocity: takt http prints no such thing"},
		{flags + outputs + "| `A:` | `counts.okay` |\n", "x: counts.okay: takt http prints no such thing"},
		{flags + outputs + "| `A:` | `--max-flight` |\n", "x: --max-flight: takt http has no such flag"},
		{flags + outputs + "| `A:` | `-t 0` |\n", "x: -t 0: takt: --timeout and --connect-timeout must be above 0"},
		{flags + outputs + "| `A:` | `bench.Velocity` |\n", "x: bench.Velocity: no such name in pkg/bench"},
		{flags + outputs + "| `A:` | `jq . \\| takt http --rate 5/q http://h/` |\n", "x: takt http --rate 5/q http://h/: takt: bad --rate: rate \"5/q\": unknown unit"},
		{flags + outputs + "| `A:` | `takt report run.json` |\n", "x: takt report run.json: takt: unknown command"},
		{flags + outputs + "| `A:` | rate |\n\n| switch | takt |\n|---|---|\n", "x: | switch | takt |: unknown head of a table"},
		{flags + outputs + "| `A:` | rate |\n\n## y\n", "y: a section without a list of facts"},
		{"", "x: a list of facts without a section"},
	} {
		found := c.check(tt.page)
		if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) != 1 || !strings.HasPrefix(found[0], tt.want)) {
			t.Errorf("%q: %q, want %q", tt.page, found, tt.want)
		}
	}
}

// facts are the facts of one predecessor.
type facts struct {
	against string
	all     map[string]bool // such as "flag -n"
}

func readFacts(t *testing.T) map[string]facts {
	paths, _ := filepath.Glob("testdata/coming-from/*.txt") // the pattern is well-formed
	lists := map[string]facts{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := facts{all: map[string]bool{}}
		for line := range strings.Lines(string(text)) {
			kind, fact, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch {
			case kind == "" || strings.HasPrefix(kind, "#"):
			case kind == "against":
				f.against = fact
			case !slices.Contains(kinds(), kind) || fact == "" || f.all[kind+" "+fact]:
				t.Errorf("%s: %q is not a fact, or is there twice", path, line)
			default:
				f.all[kind+" "+fact] = true
			}
		}
		lists[strings.TrimSuffix(filepath.Base(path), ".txt")] = f
	}
	return lists
}

func kinds() []string { return []string{"command", "flag", "input", "output", "api"} }
