package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// A shard sends load, whatever its gatherer asks for: it runs no other command, writes no files, and runs
// nothing of its host.
func TestVetShard(t *testing.T) {
	env := whole(core.Env{Getenv: func(string) string { return "" }, Vet: core.VetShard, Side: noSide{}})
	t.Chdir(t.TempDir())
	if err := os.WriteFile("here", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const load = "http --rate=5/s -z=1s --shard=1/2 --run-group=x --no-store --progress=none"
	for words, want := range map[string]string{
		load + " -- http://127.0.0.1:1/":                                               "",
		"kafka produce --brokers=127.0.0.1:1 --topic=t --no-store --":                  "",
		"http --body-file=here --no-store -- http://127.0.0.1:1/":                      "",
		"http --raet=5/s -- http://127.0.0.1:1/":                                       "unknown flag --raet",
		load + " --fail-on=404 --expect-body=x -- http://127.0.0.1:1/":                 "",
		"llm --rate=5/s -z=1s --slo=ttft<1s --shard=1/2 -- http://127.0.0.1:1/":        "",
		load + " --assert=p99<1s -- http://127.0.0.1:1/":                               "the gatherer gives --assert",
		load + " --fault=id@200ms -- http://127.0.0.1:1/":                              "the gatherer gives --fault",
		load + " --output=json=/tmp/x -- http://127.0.0.1:1/":                          "the gatherer gives --output",
		load + " -o json -- http://127.0.0.1:1/":                                       "the gatherer gives --output",
		load + " --export=openmetrics=/tmp/x -- http://127.0.0.1:1/":                   "the gatherer gives --export",
		load + " --tls-keylog=/tmp/x -- https://127.0.0.1:1/":                          "the gatherer gives --tls-keylog",
		load + " --git=/tmp -- http://127.0.0.1:1/":                                    "the gatherer gives --git",
		load + " --config=takt.conf -- http://127.0.0.1:1/":                            "the gatherer gives --config",
		load + " --config takt.conf -- http://127.0.0.1:1/":                            "the gatherer gives --config",
		load + " --store=/tmp/x -- http://127.0.0.1:1/":                                "the gatherer gives --store",
		load + " --label=a=b -- http://127.0.0.1:1/":                                   "the gatherer gives --label",
		"server --addr 127.0.0.1:0":                                                    "the gatherer asks for takt server, and a shard only sends load",
		"ui":                                                                           "the gatherer asks for takt ui",
		"verify --pairs 8 --base http://127.0.0.1:1 --head http://127.0.0.1:2 -- http": "the gatherer asks for takt verify",
		"store prune --keep 1":                                                         "the gatherer asks for takt store prune",
		"http://127.0.0.1:1/ --fault=id@200ms":                                         "the gatherer gives --fault",
		"127.0.0.1:1 --rate=5/s -z=1s --output=json=/tmp/x":                            "the gatherer gives --output",
		"--rate=5/s --config=takt.conf http://127.0.0.1:1/":                            "the gatherer gives --config",
		"-server --addr 127.0.0.1:0":                                                   "the gatherer asks for takt server",
		"--interactive":                                                                "the gatherer asks for takt server",
		"-V":                                                                           "the gatherer asks for takt version",
		"help http":                                                                    "the gatherer asks for takt help",
		"__complete http --git x":                                                      "unknown command",
		"":                                                                             "the gatherer asks for takt,",
		"apm --dump --profile=heavy -- http://127.0.0.1:1/":                            "--dump",
		"config http -- http://127.0.0.1:1/":                                           "the gatherer asks for takt config http",
		"config":                                                                       "the gatherer asks for takt config",
	} {
		_, err := env.Inspect(strings.Fields(words))
		if text := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(text, want) {
			t.Errorf("%s: %v, want %q", words, err, want)
		}
		if want == "" {
			continue
		}
		env.Stdin, env.Stdout, env.Stderr = strings.NewReader(""), io.Discard, new(strings.Builder)
		if code := env.Main(env, strings.Fields(words)); code != core.ExitUsage || !strings.Contains(fmt.Sprint(env.Stderr), want) {
			t.Errorf("%s: exit code %d, %s", words, code, env.Stderr)
		}
	}
}

// noSide is a part of a larger run in which nothing is measured.
type noSide struct{}

func (noSide) Source(all takt.Source, _ time.Duration) (takt.Source, error) { return all, nil }
func (noSide) Join(*engine.Plan, core.Known)                                {}
func (noSide) Over(*takt.Report)                                            {}
