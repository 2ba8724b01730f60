package cli

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/test/clitest"
)

// A command that fails writes its error to every file that it was to write, so that CI does not read
// the file of an earlier run. A wrong command line leaves the files as they are.
func TestFailureIsWritten(t *testing.T) {
	const nobody = "http://127.0.0.1:1/"
	empty := filepath.Join(t.TempDir(), "empty.db")
	for _, c := range []struct {
		line string // OUT is the file
		want int
		said string
	}{
		{"http -n 1 --no-store -o junit=OUT " + nobody, core.ExitFailed, "connection refused"},
		{"http -n 1 --no-store --repeat 2 -o junit=OUT " + nobody, core.ExitFailed, ""},
		{"http -n 1 --no-store -o json=OUT " + nobody, core.ExitFailed, "connection refused"},
		{"http -n 1 --no-store -o ndjson=OUT " + nobody, core.ExitFailed, "connection refused"},
		{"http -n 1 --no-store -o csv=OUT " + nobody, core.ExitFailed, "connection refused"},
		{"http -n 1 --no-store -o samples=OUT " + nobody, core.ExitFailed, "connection refused"},
		{"capacity --slo p95<1s -z 200ms --no-store -o junit=OUT -- http " + nobody, core.ExitFailed, "connection refused"},
		{"capacity --slo p95<1s -z 200ms --no-store -o svg=OUT -- http " + nobody, core.ExitFailed, "connection refused"},
		{"capacity --slo p95<1s --from 01ABC --store " + empty + " -o html=OUT", core.ExitFailed, "failed"},
		{"verify --base " + nobody + " --head http://127.0.0.1:2/ -o junit=OUT -- http --rate 100/s -z 1s --no-store", core.ExitFailed, "connection refused"},
		{"verify --base 01ABC --head 01ABD --store " + empty + " -o markdown=OUT", core.ExitFailed, "failed"},
		{"compare 01ABC 01ABD --store " + empty + " -o html=OUT", core.ExitFailed, "failed"},
		{"collate branch --store " + empty + " -o csv=OUT", core.ExitFailed, "failed"},
		{"history --store " + empty + " -o json=OUT", core.ExitFailed, "error"},
		{"show 01ABC --store " + empty + " -o json=OUT", core.ExitFailed, "error"},
		{"merge 01ABC 01ABD --store " + empty + " -o json=OUT", core.ExitFailed, "error"},
		{"http --rate nonsense -o junit=OUT " + nobody, core.ExitUsage, "old"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		written := out
		if strings.Contains(c.line, "--repeat") {
			written += ".1"
		}
		if err := os.WriteFile(written, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		code, _, errs := clitest.Call(t.Context(), Main, strings.Fields(strings.ReplaceAll(c.line, "OUT", out))...)
		b, err := os.ReadFile(written)
		if err != nil || code != c.want || !strings.Contains(string(b), c.said) || (string(b) == "old") != (c.said == "old") {
			t.Errorf("%s: exit code %d, %s, wrote %q (%v)", c.line, code, errs, b, err)
		}
		if strings.Contains(c.line, "junit") && c.said != "old" {
			var suite struct {
				Errors int `xml:"errors,attr"`
			}
			if err := xml.Unmarshal(b, &suite); err != nil || suite.Errors != 1 {
				t.Errorf("%s: %s (%v)", c.line, b, err)
			}
		}
		if _, err := os.Stat(out); written != out && err == nil {
			t.Errorf("%s: the file of no run was written", c.line)
		}
	}
}
