package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
)

// A run without operations is refused on the command line, and the default 0 of a config file means no limit. A run opens
// no more connections than it has operations.
func TestLengthOfARun(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	for args, want := range map[string]string{
		"-n 0": "--requests is 0", "-z 0": "--duration is 0", "-z 0ms -n 3": "--duration is 0", "--requests=0 -z 1s": "--requests is 0",
		"-n 3 -c 1000000": "", "-n 3 -c 1000000 --engine worker": "", "--config - -n 3": "",
	} {
		code, out, errs := callWith(t, nil, "requests = 0\nduration = 0s\n", append([]string{"http"}, append(strings.Fields(args), s.URL)...)...)
		switch {
		case want == "" && (code != core.ExitOK || !strings.Contains(out, "3 ok")):
			t.Errorf("%s: exit code %d: %s%s", args, code, out, errs)
		case want != "" && (code != core.ExitUsage || !strings.Contains(errs, want)):
			t.Errorf("%s: exit code %d: %s%s", args, code, out, errs)
		}
	}
}
