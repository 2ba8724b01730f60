package apmserver

import (
	"encoding/json"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Figures of a trial in Report.Extra, in addition to those in the table of metrics.
const (
	extraDocuments = "documents"          // documents counted
	extraExpected  = "documents_expected" // documents expected for the accepted events
	extraDrain     = "drain_s"
	extraCPU       = "server_cpu_s" // CPU time of the server's process, from the load's start to the end of the drain
	extraCounters  = "server_counters"
	extraAccount   = "account" // account of the events
)

// fill adds the trial's results to the load's report.
func (t *Trial) fill(r *takt.Report, m *measured) {
	t.label(r, m)
	t.vary(r, m)
	figures(r, m)
	m.d.warn(r, m.said)
	if why := t.incomparable(r); len(why) > 0 {
		warnOnce(r, warn.NotComparable, "the run is not kept as comparable: %s", strings.Join(why, "; "))
	}
	r.ComparabilityKey = engine.ComparabilityKey(r.Variables, r.Generator.HostClass)
}

// figures sets hey-apm's figures with its formulas; e is the time of the load without the drain.
//
//	throughput = documents counted ÷ e
//	index      = documents counted ÷ documents expected
//	latency    = 1000 × e ÷ accepted requests     ms; not a response time
//	efficiency = 60 × accepted bytes a second ÷ max_rss
//
// The warm-up makes documents, too, so throughput and index include its time and requests.
func figures(r *takt.Report, m *measured) {
	if r.Extra == nil {
		r.Extra = map[string]any{}
	}
	x := r.Extra
	requests := acceptedRequests(r)
	x["accepted_requests"] = requests
	put(x, "latency", 1000*r.DurationS, requests)
	if m.d.counted {
		x[extraDocuments] = m.d.indexed
		put(x, "throughput", m.d.indexed, r.DurationS+r.WarmupS)
		n, ok := m.d.accepted, m.d.known
		if !ok {
			n, ok = expected(r, requests)
		}
		if ok {
			x[extraExpected] = n
			put(x, "index", m.d.indexed, n)
		}
	}
	if m.d.told || m.d.counted {
		x[extraDrain] = m.d.took.Seconds()
	}
	if m.d.known && (m.d.told || m.d.counted) {
		x[extraAccount] = m.d.extra()
	}
	if m.usage.MaxRSS > 0 {
		x["max_rss"], x[extraCPU] = float64(m.usage.MaxRSS), m.usage.CPU.Seconds()
		if accepted, ok := number(x["accepted"]); ok {
			put(x, "efficiency", 60*accepted, float64(m.usage.MaxRSS))
		}
	}
	if len(m.counter) > 0 {
		x[extraCounters] = m.counter
	}
}

// put sets a ratio, unless the divisor is 0.
func put(x map[string]any, name string, dividend, divisor float64) {
	if divisor > 0 {
		x[name] = dividend / divisor
	}
}

// acceptedRequests is the number of requests with an answer 202.
func acceptedRequests(r *takt.Report) float64 {
	if n, ok := number(r.Extra["accepted_requests"]); ok {
		return n
	}
	return float64(r.Counts.OK)
}

// expected is the number of documents due: one per event. A load that counts accepted events
// knows the number, even for partly accepted requests. For other loads it is hey-apm's
// accepted requests × (events + events × spans).
func expected(r *takt.Report, requests float64) (n float64, ok bool) {
	if n, ok = number(r.Extra["events_accepted"]); !ok {
		events, said := number(r.Variables["events"])
		spans, _ := number(r.Variables["spans"])
		n, ok = requests*events*(1+spans), said
	}
	if r.WarmupCounts.OK > 0 && r.Counts.OK > 0 { // neither number includes the warm-up
		n *= 1 + float64(r.WarmupCounts.OK)/float64(r.Counts.OK)
	}
	return n, ok
}

// number converts any number to a float64.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	}
	return 0, false
}

// label names the code under test. The user's labels have priority.
func (t *Trial) label(r *takt.Report, m *measured) {
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	v := t.Server.Revision()
	date := ""
	if !v.Date.IsZero() {
		date = v.Date.Format(time.RFC3339)
	}
	for name, value := range map[string]string{
		stored.LabelBranch: v.Branch, stored.LabelRevision: v.Hash, stored.LabelRevisionDate: date, "server_version": m.version,
	} {
		if _, said := r.Labels[name]; value != "" && !said {
			r.Labels[name] = value
		}
	}
}

// vary sets the variables that the load does not set.
func (t *Trial) vary(r *takt.Report, m *measured) {
	if r.Variables == nil {
		r.Variables = map[string]any{}
	}
	for name, v := range t.Variables {
		r.Variables[name] = v
	}
	if m.managed { // its port differs in each run
		for name, v := range r.Variables {
			r.Variables[name] = withoutPort(v, m.urls)
		}
	}
	r.Variables["apm_host"] = t.host(m)
	r.Variables["flags"] = Settings(t.Options.Flags)
	r.Variables["memory_limit_bytes"] = int64(-1) // hey-apm's value for no limit
	if t.Options.MemoryLimit > 0 {
		r.Variables["memory_limit_bytes"] = t.Options.MemoryLimit
	}
	if t.Options.CPULimit > 0 {
		r.Variables["cpu_limit"] = t.Options.CPULimit
	}
	if t.Documents != nil {
		if u, err := url.Parse(t.Documents.Output().URL); err == nil {
			r.Variables["elastic_host"] = u.Host
		}
	}
}

// withoutPort removes the ports of managed servers.
func withoutPort(v any, urls []string) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	for _, u := range urls {
		_, address, _ := strings.Cut(u, "://")
		host, _, _ := net.SplitHostPort(address)
		text = strings.ReplaceAll(text, address, host)
	}
	return text
}

// host is the host of the servers. A managed server is on localhost, as in hey-apm's reports.
func (t *Trial) host(m *measured) string {
	switch t.Server.Location().Kind {
	case KindCheckout:
		return "localhost"
	case KindDocker:
		return "docker"
	}
	var hosts []string
	for _, text := range m.urls {
		if u, err := url.Parse(text); err == nil {
			hosts = append(hosts, u.Hostname())
		}
	}
	slices.Sort(hosts)
	return joined(hosts)
}
