package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/shell"
)

// The password of a team's target goes to that target only, and nobody reads it.
func TestNamesWithPasswords(t *testing.T) {
	const url = "http://u:TEAMPW99@shop:1"
	rules := shell.Rules{Named: []shell.Named{{Name: "@shop", URL: url}}}
	env := core.Env{Getenv: func(string) string { return "" }}
	for want, lines := range map[string][][]string{
		"": {{"http", "--rate", "1/s", url + "/a?b=c"}, {"http", "-x", url, url}, {"capacity", "--slo", "p99<1s", "--", "http", url}},
		"it can be given only where a target is loaded": {
			{"runs", url}, {"show", url}, {"show", "--output=" + url}, {"compare", url, url}, {"collate", url}, {"history", url}, {"history", "--metric=" + url}, {"verify", url},
			{"http", "--user-agent=" + url, "http://127.0.0.1:1"}, {"http", "--body=" + url, url}, {"http", "-d", url, url}, {"http", "-T", url, "-m", "POST", url}, {"http", "--user-agent", url, url}, {"http", "--expect-body", url, url},
			{"http", "--accept=" + url, "http://127.0.0.1:1"}, {"http", "--content-type=" + url, url}, {"capacity", "--slo", "p99<1s", "--", "http", "-H", "a: " + url, url},
		},
		"leads to another machine": {{"http", "--connect-to", "shop:1:127.0.0.1:2", url}, {"http", "-x", "http://127.0.0.1:2", url}},
		" ":                        {{"runs", "--since=" + url}, {"runs", "--config=" + url}, {"http", "--label=" + url, url}}, // wrong anyway; the session sees the name
	} {
		for _, line := range lines {
			_, err := ShellHost(env).Plan(line, rules)
			text := fmt.Sprint(err)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(text, want) || want != " " && strings.Contains(text, "TEAMPW99")) {
				t.Errorf("%q: %v; want %q", line, err, want)
			}
		}
	}
}
