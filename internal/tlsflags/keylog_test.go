package tlsflags

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// A full disk costs the log, and no connection.
func TestKeyLogOnFullDisk(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	f := New()
	f.Insecure, f.KeyLog = true, filepath.Join(t.TempDir(), "keys")
	if err := f.Read(); err != nil {
		t.Fatal(err)
	}
	if err := f.Open(); err != nil {
		t.Fatal(err)
	}
	_ = f.keys.f.Close() // each write fails
	way := &http.Transport{TLSClientConfig: f.Config}
	defer way.CloseIdleConnections()
	resp, err := (&http.Client{Transport: way}).Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	r := &takt.Report{Extra: map[string]any{}}
	f.Report(r)
	if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0].Message, "the key log is not complete: write ") {
		t.Error(r.Warnings)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
