package shell

import (
	"strings"
	"testing"
)

// What stands behind an option or in a setting that is secret is shown nowhere, however
// it is written.
func TestHideValues(t *testing.T) {
	for line, want := range map[string]string{
		"30s 1 2 3 4 -E queue.mem.events=4096":              "30s 1 2 3 4 -E queue.mem.events=4096",
		"-E output.elasticsearch.password=hunter2":          "-E output.elasticsearch.password=xxxxx",
		"-E=output.elasticsearch.password=hunter2":          "-E=output.elasticsearch.password=xxxxx",
		"--E=apm-server.auth.secret_token=a=b":              "--E=apm-server.auth.secret_token=xxxxx",
		"-E output.elasticsearch.ssl.key_passphrase=hunter": "-E output.elasticsearch.ssl.key_passphrase=xxxxx",
		"-E output.elasticsearch.api_key=1:2 -E x.apikey=3": "-E output.elasticsearch.api_key=xxxxx -E x.apikey=xxxxx",
		"--secret hunter2 --api-key=1:2":                    "--secret xxxxx --api-key=xxxxx",
		"-secret=hunter2 -E apm-server.auth.secret_token=":  "-secret=xxxxx -E apm-server.auth.secret_token=",
	} {
		if got := strings.Join(hideValues(strings.Fields(line), "secret", "api-key"), " "); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", line, got, want)
		}
	}
}
