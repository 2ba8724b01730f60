package format

import (
	"fmt"

	"github.com/taktload/takt/pkg/takt"
)

// targets writes the figures of each of several targets or servers: hey-apm's lines, then one
// for each code, the total last.
func targets(p *page, r *takt.Report) error {
	list, _ := r.Extra["targets"].([]any)
	if len(list) == 0 {
		return nil
	}
	p.linef("")
	p.linef("%s", p.paint(bold, "targets"))
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
	return nil
}

func targetLines(p *page, t map[string]any) {
	p.linef("  %s %.0f", clean(fmt.Sprint(t["url"])), plainNumber(t["index"]))
	all := plainNumber(t["responses"])
	status, _ := t["status"].(map[string]any)
	for _, code := range sorted(status) {
		n := plainNumber(status[code])
		p.linef("    [%s]  %.0f responses (%s)", clean(code), n, percent(n, all))
	}
	p.linef("    total  %.0f responses (%.2f a second)", all, plainNumber(t["responses_per_s"]))
}

func serverLine(p *page, s map[string]any) {
	line := fmt.Sprintf("%s: %.0f responses", clean(fmt.Sprint(s["url"])), plainNumber(s["responses"]))
	if p99, ok := s["service_p99_us"].(float64); ok {
		line += fmt.Sprintf(", %.0f failed, service p50 %s, p99 %s, max %s", plainNumber(s["failed"]),
			human(plainNumber(s["service_p50_us"])), human(p99), human(plainNumber(s["service_max_us"])))
	}
	p.bullet("", line)
}

// shownVolumes are the names of the values in volume.
func shownVolumes() []string {
	return []string{"pushed", "accepted", "pushed_wire", "accepted_wire", "latency"}
}

// volume writes the amount sent to an apm-server, in hey-apm's words.
func volume(p *page, extra map[string]any) {
	if extra["pushed"] == nil {
		return
	}
	of := func(name string) string { return size(plainNumber(extra[name])) + "/s" }
	p.item("pushed", fmt.Sprintf("%s, accepted %s; on the wire %s, accepted %s", of("pushed"), of("accepted"), of("pushed_wire"), of("accepted_wire")))
	if ms, ok := extra["latency"].(float64); ok {
		p.item("", fmt.Sprintf("%.2f ms / request: 1000 ÷ requests accepted a second, no response time", ms))
	}
}
