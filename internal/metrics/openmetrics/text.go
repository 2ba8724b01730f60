// Package openmetrics writes the figures of a run in the text formats of OpenMetrics and Prometheus, into
// a file or for a scraper that asks for them.
package openmetrics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/timeline"
)

// dialect is a text format. The older one of Prometheus, which is all that node_exporter reads, has the
// suffixes of samples in the names of families, and no type info.
type dialect int

const (
	openMetrics dialect = iota
	prometheus
)

// contentType is that of HTTP.
func (d dialect) contentType() string {
	if d == prometheus {
		return "text/plain; version=0.0.4; charset=utf-8"
	}
	return "application/openmetrics-text; version=1.0.0; charset=utf-8"
}

// bounds are the upper bounds of the classic buckets. What needs finer percentiles reads the gauges of
// the newest second, or native histograms.
func bounds() (list []time.Duration) {
	for unit := 100 * time.Microsecond; unit < 100*time.Second; unit *= 10 {
		list = append(list, unit, unit*5/2, unit*5)
	}
	return list[:len(list)-1] // up to 25 s
}

// text writes a batch; nil: there is none yet.
func text(b *metrics.Batch, d dialect) []byte {
	w := writer{dialect: d}
	if b != nil {
		w.identity = b.Run.Identity()
		for _, f := range metrics.Families(b) {
			w.family(&f)
		}
	}
	return append(w.out, "# EOF\n"...)
}

// writer appends text to out.
type writer struct {
	dialect  dialect
	identity []metrics.Label
	out      []byte
}

func (w *writer) family(f *metrics.Family) {
	name, kind, suffix := f.Name, string(f.Type), ""
	switch f.Type {
	case metrics.Counter:
		suffix = "_total"
	case metrics.Info:
		suffix = "_info"
	}
	if w.dialect == prometheus {
		name, suffix = name+suffix, ""
		if f.Type == metrics.Info {
			kind = "gauge"
		}
	}
	w.out = fmt.Appendf(w.out, "# HELP %s %s\n# TYPE %s %s\n", name, f.Help, name, kind)
	if f.Unit != "" && w.dialect == openMetrics {
		w.out = fmt.Appendf(w.out, "# UNIT %s %s\n", name, f.Unit)
	}
	for _, p := range f.Points {
		labels := p.Labels
		if f.Type != metrics.Info {
			labels = slices.Concat(w.identity, p.Labels)
		}
		text := labelText(labels)
		if f.Type == metrics.HistogramType {
			w.histogram(name, text, p.Histogram)
		} else {
			w.sample(name+suffix, text, p.Value)
		}
	}
}

func (w *writer) sample(name, labels string, v float64) {
	w.out = append(w.out, name...)
	if labels != "" {
		w.out = append(append(append(w.out, '{'), labels...), '}')
	}
	w.out = append(w.out, ' ')
	w.out = strconv.AppendFloat(w.out, v, 'f', -1, 64)
	w.out = append(w.out, '\n')
}

func (w *writer) histogram(name, labels string, h timeline.Histogram) {
	if labels != "" {
		labels += ","
	}
	list := bounds()
	for i, n := range h.UpTo(list) {
		w.sample(name+"_bucket", labels+`le="`+seconds(list[i])+`"`, float64(n))
	}
	w.sample(name+"_bucket", labels+`le="+Inf"`, float64(h.Count()))
	labels = strings.TrimSuffix(labels, ",")
	w.sample(name+"_sum", labels, h.Sum())
	w.sample(name+"_count", labels, float64(h.Count()))
}

// seconds is a bound as OpenMetrics writes it: 0.001, 1.0.
func seconds(d time.Duration) string {
	text := strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// labelText is the text between the braces.
func labelText(labels []metrics.Label) string {
	var parts []string
	for _, l := range metrics.Plain(labels) {
		parts = append(parts, l.Name+`="`+escape(l.Value)+`"`)
	}
	return strings.Join(parts, ",")
}

var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func escape(value string) string { return escapes.Replace(strings.ToValidUTF8(value, "\uFFFD")) }
