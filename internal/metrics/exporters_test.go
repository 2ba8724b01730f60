package metrics_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/metrics/exporters"
)

func TestFlag(t *testing.T) {
	var list []metrics.Destination
	f := exporters.Flag(&list)
	for _, text := range []string{"openmetrics=a.prom", "influx=http://h/?bucket=b&token=secret"} {
		if err := f.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	shown := []string{}
	for _, d := range list {
		shown = append(shown, d.Shown)
	}
	if !slices.Equal(shown, []string{"openmetrics=a.prom", "influx=http://h/?bucket=b&token=xxxxx"}) {
		t.Errorf("%q", shown)
	}
	secrets := f.(interface{ Secrets() []string }).Secrets()
	hidden := f.(interface{ Redact(string) string }).Redact
	if !slices.Equal(secrets, []string{"secret"}) || hidden("influx=http://h/?bucket=b&token=secret") != shown[1] || hidden("influx=http://h:secret") != "xxxxx" || f.String() != "" {
		t.Errorf("%q, %s", secrets, f)
	}
	for text, want := range map[string]string{
		"openmetrics":           `"openmetrics" says no place`,
		"openmetrics=":          `"openmetrics" says no place`,
		"statsd=127.0.0.1:8125": `"statsd" is unknown; use openmetrics, graphite, influx`,
		"influx=http://a:b:c@h": "the URL",
	} {
		if err := f.Set(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := f.Set(""); err != nil || len(list) != 2 || len(f.Names("nonsense")) != 0 || len(f.Names("graphite=h")) != 1 {
		t.Errorf("%d destinations", len(list))
	}
}
