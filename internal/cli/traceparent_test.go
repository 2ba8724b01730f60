package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The trace ids of -o samples are those that the server got, in each mode, and no two runs have the same.
func TestTraceIDs(t *testing.T) {
	var mu sync.Mutex
	var got []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Header.Get("traceparent"))
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	path := filepath.Join(t.TempDir(), "rows.csv")
	seen := map[string]bool{}
	for _, flags := range []string{"--client own", "--client net", "--h2", "-c 3", "--client own"} {
		got = nil
		args := slices.Concat([]string{"http", "-n", "30", "--no-store", "-o", "samples=" + path, "-H", "traceparent: {{traceparent}}"}, strings.Fields(flags), []string{server.URL})
		if code, _, stderr := call(t.Context(), args...); code != 0 {
			t.Fatalf("%s: exit code %d: %s", flags, code, stderr)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if !strings.HasSuffix(lines[0], ",class,trace-id") || len(lines) != 31 || len(got) != 30 {
			t.Fatalf("%s: %d rows after %q, %d requests", flags, len(lines)-1, lines[0], len(got))
		}
		for _, line := range lines[1:] {
			id := line[strings.LastIndex(line, ",")+1:]
			if len(id) != 32 || seen[id] || !slices.ContainsFunc(got, func(header string) bool { return strings.HasPrefix(header, "00-"+id+"-") }) {
				t.Fatalf("%s: the row %s has an id that no request had, or that occurred before: %q", flags, line, got)
			}
			seen[id] = true
		}
	}
}
