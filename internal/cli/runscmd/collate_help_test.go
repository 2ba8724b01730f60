package runscmd_test

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/driver"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/stored"
)

// The variables that help collate lists are those that reports have.
func TestHelpOfCollateNamesVariables(t *testing.T) {
	log := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(log, []byte(`1.2.3.4 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 1`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const url = "http://127.0.0.1:1/"
	there := map[string]map[string]any{"": {}}
	for _, words := range []string{
		"http --body x " + url, "replay " + log + " " + url, "replay --tail --sample 10% --methods GET " + log + " " + url,
		"kafka produce", "jms client queue://a", "apm " + url, "apm --events 1 " + url, "apm --profile tiny " + url,
		"llm --model m --slo ttft<1s --extra {\"a\":1} --prefix-tokens 5 --prefixes 2 --turns 2 --think 1s " + url, "llm --prompts " + log + " " + url,
		"grpc --raw --streams client --messages 2 --deadline 1s -d x 127.0.0.1:1/a.B/C",
	} {
		kind, variables := variablesOf(t, words)
		if there[kind] == nil {
			there[kind] = map[string]any{}
		}
		maps.Copy(there[kind], variables)
	}
	for _, o := range []engine.Options{{Rate: engine.MustRate("5/s"), Duration: 1, Requests: 1, Connections: 1}, {Stages: engine.MustStages("1s@5/s")}, {}} {
		maps.Copy(there[""], o.Variables())
	}
	for _, kind := range stored.HelpVariables() {
		if kind.Name == "test in the shell" {
			continue // TestTrial of internal/apmserver has them
		}
		for _, name := range kind.Variables {
			if _, ok := there[kind.Name][name]; !ok {
				t.Errorf("%s: no report has %s, but %q", kind.Name, name, slices.Sorted(maps.Keys(there[kind.Name])))
			}
		}
	}
}

// variablesOf are those of a load with such a command line.
func variablesOf(t *testing.T, words string) (kind string, variables map[string]any) {
	t.Helper()
	for _, row := range driver.Table() {
		rest, ok := strings.CutPrefix(words, strings.TrimSpace(row.Group+" "+strings.Fields(row.Use)[0]))
		if !ok {
			continue
		}
		o := row.New(strings.NewReader(""))
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		fs.SetOutput(io.Discard)
		o.AddFlags(fs)
		if err := fs.Parse(strings.Fields(rest)); err != nil {
			t.Fatal(words, err)
		}
		o.Shape(&engine.Options{})
		if faults := o.Validate(fs.Args()); len(faults) > 0 {
			t.Fatal(words, faults)
		}
		return row.Kind, o.Variables()
	}
	t.Fatal(words)
	return "", nil
}
