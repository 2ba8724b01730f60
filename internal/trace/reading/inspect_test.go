package reading

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/trace"
)

// A whole number at the end of a line may be a time of any unit. takt does not use it, and says so.
func TestNumberWithoutUnit(t *testing.T) {
	const line = `10.0.0.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 512 "-" "curl/8"`
	for tail, want := range map[string]string{
		"":         "",
		" 0.123":   "",
		" 12ms":    "",
		" tls13":   "",
		" 1234":    "the whole number at the end of 2 lines is not used, because its unit is not known",
		` "1234"`:  "the whole number at the end of 2 lines is not used, because its unit is not known",
		" - 42 17": "the whole number at the end of 2 lines is not used, because its unit is not known",
	} {
		log := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(log, []byte(strings.Repeat(line+tail+"\n", 2)), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := (&Settings{Inspect: true}).Open(t.Context(), []string{log}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := trace.Each(l, func(*trace.Record) error { return nil }); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range l.Inspected()[0].Faults {
			if f.Kind == "unit" {
				got = append(got, f.Text)
			}
		}
		if text := strings.Join(got, "; "); want == "" && text != "" || !strings.Contains(text, want) {
			t.Errorf("%q: %q, want %q", tail, text, want)
		}
		l.Close()
	}
}
