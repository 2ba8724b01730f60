package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
)

// A shard sends load, whatever its gatherer asks for: it runs no other command, writes no files, and runs
// nothing of its host.
func TestCheckShard(t *testing.T) {
	env := whole(core.Env{Getenv: func(string) string { return "" }})
	const load = "http --rate=5/s -z=1s --shard=1/2 --run-group=x --no-store --progress=none"
	for words, want := range map[string]string{
		load + " -- http://127.0.0.1:1/":                                               "",
		"kafka produce --brokers=127.0.0.1:1 --topic=t --no-store --":                  "",
		"http --body-file=here --no-store -- http://127.0.0.1:1/":                      "",
		"http --raet=5/s -- http://127.0.0.1:1/":                                       "", // running it says so
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
		"store prune --keep 1":                                                         "the gatherer asks for takt prune",
		"config":                                                                       "the gatherer asks for takt config",
	} {
		err := env.CheckShard(strings.Fields(words), false)
		if text := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(text, want) {
			t.Errorf("%s: %v, want %q", words, err, want)
		}
	}
}
