package http_test

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/test/drivertest"
	"github.com/taktload/takt/pkg/takt"
)

// keyLine is a line of the key log format: label, client random, secret.
var keyLine = regexp.MustCompile(`^[A-Z0-9_]+ [0-9a-f]{64} [0-9a-f]{64,96}$`)

func logged(t *testing.T, way way, url, path string) *takt.Report {
	t.Helper()
	o := way.options()
	o.TLS.KeyLog, o.DisableKeepAlive = path, !way.h2
	return drivertest.Make(t, drivertest.Plan(t, "http", o, func(e *engine.Options) { e.Engine, e.Requests, e.Connections = way.mode, 5, 1 }, url))
}

// The secrets of each connection are in the file, whose owner alone can read it. A second run
// appends, and the report has a warning.
func TestKeyLog(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		s := secureServer(t, &tls.Config{MaxVersion: version})
		for _, way := range waysH2 {
			path := filepath.Join(t.TempDir(), "keys")
			written := 0
			for range 2 {
				r := logged(t, way, s.URL, path)
				text, err := os.ReadFile(path)
				info, failed := os.Stat(path)
				if err != nil || failed != nil || info.Mode().Perm() != 0o600 {
					t.Fatal(err, failed, info.Mode())
				}
				lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
				clients := map[string]bool{}
				for _, line := range lines {
					if !keyLine.MatchString(line) {
						t.Errorf("%v: %q", way, line)
					}
					clients[strings.Fields(line)[1]] = true
				}
				all := r.Extra["tls_handshakes"].(uint64)
				if want := fmt.Sprintf("%d secrets of TLS connections were written to %s", len(lines)-written, path); r.Counts.OK != 5 || !strings.HasPrefix(warning(r, "tls_keylog"), want) {
					t.Errorf("%v: %+v, %v, want %s", way, r.Counts, r.Warnings, want)
				}
				if written = len(lines); len(clients) < int(all) {
					t.Errorf("%v: keys of %d connections of %d", way, len(clients), all)
				}
			}
		}
	}
}

// What others can read, or is no file, is refused before the run.
func TestKeyLogRefused(t *testing.T) {
	dir := t.TempDir()
	shared := filepath.Join(dir, "shared")
	if err := os.WriteFile(shared, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o644); err != nil {
		t.Fatal(err)
	}
	strangers := filepath.Join(dir, "strangers")
	if err := os.WriteFile(strangers, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	theirs := "belongs to user 65534, who could decrypt connections"
	if os.Chown(strangers, 65534, -1) != nil { // only root can make it a stranger's
		strangers, theirs = shared, "others can read the key log"
	}
	for path, want := range map[string]string{
		strangers:                        theirs,
		shared:                           "others can read the key log",
		dir:                              "cannot write the key log",
		filepath.Join(dir, "no", "keys"): "cannot write the key log",
		os.DevNull:                       "is not a file",
		"-":                              "--tls-keylog is -",
	} {
		o := http.New()
		o.TLS.KeyLog = path
		var err error
		if faults := o.Validate([]string{"https://127.0.0.1:1/"}); len(faults) > 0 {
			err = faults[0]
		} else {
			_, err = o.Open(t.Context(), 1)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}
