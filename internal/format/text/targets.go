package text

import (
	"fmt"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/pkg/takt"
)

// targets writes the figures of each of several targets or servers: hey-apm's lines, then one
// for each code, the total last.
func targets(p *page.Page, r *takt.Report) {
	list, _ := r.Extra["targets"].([]any)
	if len(list) == 0 {
		return
	}
	p.Linef("")
	p.Linef("%s", p.Paint(page.Bold, "targets"))
	for _, v := range list {
		if t, ok := v.(map[string]any); ok {
			targetLines(p, t)
		}
	}
	servers, _ := r.Extra["servers"].([]any)
	for _, v := range servers {
		if s, ok := v.(map[string]any); ok {
			serverLine(p, s)
		}
	}
	volume(p, r.Extra)
}

func targetLines(p *page.Page, t map[string]any) {
	p.Linef("  %s %.0f", page.Clean(fmt.Sprint(t["url"])), plainNumber(t["index"]))
	all := plainNumber(t["responses"])
	status, _ := t["status"].(map[string]any)
	for _, code := range page.Sorted(status) {
		n := plainNumber(status[code])
		p.Linef("    [%s]  %.0f responses (%s)", page.Clean(code), n, page.Percent(n, all))
	}
	p.Linef("    total  %.0f responses (%.2f a second)", all, plainNumber(t["responses_per_s"]))
}

func serverLine(p *page.Page, s map[string]any) {
	line := fmt.Sprintf("%s: %.0f responses", page.Clean(fmt.Sprint(s["url"])), plainNumber(s["responses"]))
	if p99, ok := s["service_p99_us"].(float64); ok {
		line += fmt.Sprintf(", %.0f failed, service p50 %s, p99 %s, max %s", plainNumber(s["failed"]),
			figure.Micros(plainNumber(s["service_p50_us"])), figure.Micros(p99), figure.Micros(plainNumber(s["service_max_us"])))
	}
	p.Bullet("", line)
}

// shownVolumes are the names of the values in volume.
func shownVolumes() []string {
	return []string{"pushed", "accepted", "pushed_wire", "accepted_wire", "latency"}
}

// volume writes the amount sent to an apm-server, in hey-apm's words.
func volume(p *page.Page, extra map[string]any) {
	if extra["pushed"] == nil {
		return
	}
	of := func(name string) string { return page.Size(plainNumber(extra[name])) + "/s" }
	p.Item("pushed", fmt.Sprintf("%s, accepted %s; on the wire %s, accepted %s", of("pushed"), of("accepted"), of("pushed_wire"), of("accepted_wire")))
	if ms, ok := extra["latency"].(float64); ok {
		p.Item("", fmt.Sprintf("%.2f ms / request: 1000 ÷ requests accepted a second, no response time", ms))
	}
}
