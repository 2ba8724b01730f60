package heyapm

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/judge/stored"
)

func (d *document) labels() map[string]string {
	labels := map[string]string{}
	date := d.RevDate
	if t, err := time.Parse(dateForm, date); err == nil {
		date = t.Format(time.RFC3339)
	}
	for name, value := range map[string]string{stored.LabelBranch: d.Branch, stored.LabelRevision: d.Revision, stored.LabelRevisionDate: date, "label": d.Label} {
		if value != "" {
			labels[name] = value
		}
	}
	return labels
}

// variables are the settings of the run, by takt's names.
func (d *document) variables() map[string]any {
	v := map[string]any{
		"duration_s": seconds(d.Duration), "spans": d.Spans, "frames": d.Frames,
		"apm_host": d.host(), "flags": flags(d.Flags),
	}
	for name, n := range map[string]*int64{
		"events": d.Events, "errors": d.Errors, "transactions": d.Transactions, "workers": first(d.Concurrency, d.Agents),
		"memory_limit_bytes": d.Limit, "throttle": d.Throttle, "apm_servers": d.Servers,
	} {
		if n != nil {
			v[name] = *n
		}
	}
	if d.Stream != nil {
		v["stream"] = *d.Stream
	}
	if d.Timeout != nil {
		v["timeout_s"] = seconds(*d.Timeout)
	}
	if u, err := url.Parse(d.ElasticURL); err == nil && u.Host != "" {
		v["elastic_host"] = u.Host // hey-apm meant to compare within one cluster only
	}
	return v
}

// host is that of the server under test: of apm_host, else of apm_url. A list of
// several is sorted.
func (d *document) host() string {
	if d.APMHost != "" {
		return d.APMHost
	}
	var hosts []string
	for one := range strings.SplitSeq(d.URL, ",") {
		if u, err := url.Parse(strings.TrimSpace(one)); err == nil && u.Host != "" {
			one = u.Hostname()
		}
		hosts = append(hosts, one)
	}
	slices.Sort(hosts)
	return strings.Join(hosts, ",")
}

// flags are the settings of the server, each NAME=VALUE after an -E, without those of
// where it listens and writes: they hold addresses and passwords.
func flags(text string) map[string]any {
	all := map[string]any{}
	words := strings.Fields(text)
	for i, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || i == 0 || words[i-1] != "-E" || strings.HasPrefix(name, "apm-server.host") || strings.HasPrefix(name, "output.elasticsearch") {
			continue
		}
		all[name] = value
	}
	return all
}
