package verifycmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/clitest"
	"github.com/taktload/takt/internal/test/targettest"
)

// The page of pairs has the names of the targets, the curves of both, and the command without the words that
// takt adds. The load is a closed loop, since a busy machine makes a rate invalid.
func TestPageOfPairs(t *testing.T) {
	base, head := targettest.Serve(t, target.Options{}).URL(), targettest.Serve(t, target.Options{}).URL()
	path := filepath.Join(t.TempDir(), "page.html")
	code, _, errs := clitest.Call(t.Context(), cli.Main, "verify", "--pairs", "1", "--base", base, "--head", head, "-o", "html="+path, "--", "http", "-n", "20", "-c", "1", "--no-store")
	if code != core.ExitInconclusive {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		head + " against " + base: true, "head is " + head: true, `id="spectrum-response"`: true,
		"-- http -n 20 -c 1 --no-store</pre>": true, "takt verify --pairs 1 --base " + base: true, `id="unproven"`: true, "<strong>Next:</strong>": true, "--label": false,
	} {
		if strings.Contains(string(page), text) != want {
			t.Errorf("%s: want %v", text, want)
		}
	}
}
