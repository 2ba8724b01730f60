package remotewrite

import (
	"regexp"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/test/metricstest"
)

// The dashboard of docs/grafana asks for series and labels that takt has.
func TestDashboardHasSeriesOfTakt(t *testing.T) {
	names, labels := known(t)
	labels["le"] = true // of the buckets that a scrape gets
	series, group, matcher, legend := regexp.MustCompile(`takt_[a-z_]+`), regexp.MustCompile(`(?:by|on|group_left) \(([a-z_, ]+)\)`),
		regexp.MustCompile(`([a-z_]+)(?:=~|!=|=)"`), regexp.MustCompile(`\{\{([a-z_]+)\}\}`)
	found := 0
	ask := func(text string) {
		for _, name := range series.FindAllString(text, -1) {
			found++
			if !names[name] {
				t.Errorf("takt has no series %s: %s", name, text)
			}
		}
		used := legend.FindAllStringSubmatch(text, -1)
		used = append(used, matcher.FindAllStringSubmatch(text, -1)...)
		for _, m := range group.FindAllStringSubmatch(text, -1) {
			for _, l := range strings.Split(m[1], ", ") {
				used = append(used, []string{"", l})
			}
		}
		for _, m := range used {
			found++
			if !labels[m[1]] {
				t.Errorf("takt has no label %s: %s", m[1], text)
			}
		}
	}
	metricstest.Objects(t, "../../../docs/grafana/prometheus.json", func(o map[string]any) {
		for _, name := range []string{"expr", "legendFormat", "query", "titleFormat", "textFormat"} {
			if text, ok := o[name].(string); ok {
				ask(text)
			}
		}
	})
	if found < 80 {
		t.Errorf("the test found %d uses of series and labels", found)
	}
}

// known are the names and labels of all series of a run.
func known(t *testing.T) (names, labels map[string]bool) {
	t.Helper()
	names, labels = map[string]bool{}, map[string]bool{}
	for _, one := range metricstest.Batches(t, "1/2") {
		for _, s := range all(one) {
			for _, l := range s.labels {
				labels[l.Name] = true
				if l.Name == "__name__" {
					names[l.Value] = true
					if s.histogram != nil {
						names[l.Value+"_bucket"] = true // of a scrape
					}
				}
			}
		}
	}
	return names, labels
}
