package openmetrics

import (
	"flag"
	"os"
	"path/filepath"

	"testing"

	"github.com/taktload/takt/internal/test/metricstest"
)

var update = flag.Bool("update", false, "write the golden files")

// Both formats of all batches are those of testdata. Other parsers accept these files: the strict ones of
// prometheus_client (Python), and expfmt, with which node_exporter reads.
func TestText(t *testing.T) {
	for _, d := range []struct {
		dialect
		name string
	}{{openMetrics, "openmetrics"}, {prometheus, "prometheus"}} {
		for i, b := range append(metricstest.Batches(t, "2/3"), nil) {
			name := filepath.Join("testdata", d.name+string(rune('1'+i))+".txt")
			got := string(text(b, d.dialect))
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(name)
			if err != nil || got != string(want) {
				t.Errorf("%s: %v\n%s", name, err, got)
			}
		}
	}
}
