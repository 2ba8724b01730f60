package report

import (
	"fmt"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/format/part"
)

// targets has the figures of each of several targets or servers: hey-apm's lines, then one for each code, the
// total last. A page has them in the driver's own section.
func targets(r *run) part.Part {
	list := objects(r.Extra["targets"])
	if len(list) == 0 {
		return part.Part{}
	}
	b := part.Block{In: part.Text, Title: "targets"}
	for _, t := range list {
		b.Above = append(b.Above, targetLines(t)...)
	}
	for _, s := range objects(r.Extra["servers"]) {
		b.Above = append(b.Above, part.Sentence{Text: serverLine(s)})
	}
	b.Facts = volume(r.Extra)
	return part.Part{Blocks: []part.Block{b}}
}

func targetLines(t map[string]any) (list []part.Sentence) {
	line := func(indent, format string, args ...any) {
		list = append(list, part.Sentence{Text: indent + fmt.Sprintf(format, args...), Line: true})
	}
	line("  ", "%s %.0f", page.Clean(fmt.Sprint(t["url"])), plainNumber(t["index"]))
	all := plainNumber(t["responses"])
	status, _ := t["status"].(map[string]any)
	for _, code := range page.Sorted(status) {
		n := plainNumber(status[code])
		line("    ", "[%s]  %.0f responses (%s)", page.Clean(code), n, page.Percent(n, all))
	}
	line("    ", "total  %.0f responses (%.2f a second)", all, plainNumber(t["responses_per_s"]))
	return list
}

func serverLine(s map[string]any) string {
	line := fmt.Sprintf("%s: %.0f responses", page.Clean(fmt.Sprint(s["url"])), plainNumber(s["responses"]))
	if p99, ok := s["service_p99_us"].(float64); ok {
		line += fmt.Sprintf(", %.0f failed, service p50 %s, p99 %s, max %s", plainNumber(s["failed"]),
			figure.Micros(plainNumber(s["service_p50_us"])), figure.Micros(p99), figure.Micros(plainNumber(s["service_max_us"])))
	}
	return line
}

// shownVolumes are the names of the values in volume.
func shownVolumes() []string {
	return []string{"pushed", "accepted", "pushed_wire", "accepted_wire", "latency"}
}

// volume is the amount sent to an apm-server, in hey-apm's words.
func volume(extra map[string]any) (list []part.Fact) {
	if extra["pushed"] == nil {
		return nil
	}
	of := func(name string) string { return page.Size(plainNumber(extra[name])) + "/s" }
	list = append(list, part.Fact{Label: "pushed", Says: fmt.Sprintf("%s, accepted %s; on the wire %s, accepted %s", of("pushed"), of("accepted"), of("pushed_wire"), of("accepted_wire"))})
	if ms, ok := extra["latency"].(float64); ok {
		list = append(list, part.Fact{Says: fmt.Sprintf("%.2f ms / request: 1000 ÷ requests accepted a second, no response time", ms)})
	}
	return list
}
