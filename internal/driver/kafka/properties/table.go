package properties

import (
	"strconv"
	"strings"
)

// row is a property that means one flag.
type row struct {
	property, flag string
	read           func(text string) (value string, ok bool)
	form           string // what read accepts
}

func rows() []row {
	return []row{
		{"client.id", "client-id", asText, ""},
		{"acks", "required-acks", words(map[string]string{"0": "none", "1": "local", "all": "all", "-1": "all"}), "0, 1 or all"},
		{"linger.ms", "linger", asMillis, "milliseconds"},
		{"batch.size", "batch-bytes", asBatch, "bytes"},
		{"compression.type", "compression", words(same("none", "gzip", "snappy", "lz4", "zstd")), "none, gzip, snappy, lz4 or zstd"},
		{"enable.idempotence", "idempotence", words(same("true", "false")), "true or false"},
		{"max.in.flight.requests.per.connection", "max-open-requests", asCount, "a number"},
		{"delivery.timeout.ms", "timeout", asMillis, "milliseconds"},
		{"group.id", "group", asText, ""},
		{"group.instance.id", "group-instance-id", asText, ""},
		{"auto.offset.reset", "from", words(map[string]string{"earliest": "beginning", "latest": "latest"}), "earliest or latest"},
		{"isolation.level", "read-committed", words(map[string]string{"read_committed": "true", "read_uncommitted": "false"}), "read_committed or read_uncommitted"},
		{"fetch.min.bytes", "fetch-min-bytes", asCount, "bytes"},
		{"fetch.max.wait.ms", "fetch-max-wait", asMillis, "milliseconds"},
	}
}

// tune reads what is not about connections. Properties of flags that the command lacks stay
// unused.
func (r *reader) tune() {
	for _, w := range rows() {
		if !r.flags.Has(w.flag) || w.flag == "group" && r.isGiven("partition") {
			continue
		}
		p := r.get(w.property)
		if p == nil || r.isGiven(w.flag) || w.form == "" && p.value == "" { // Java has no client ID and no group then
			continue
		}
		value, ok := w.read(p.value)
		if !ok {
			r.fault(p, "%.60q is not %s", p.value, w.form)
			continue
		}
		r.set(p, w.flag, value)
		if w.flag == "idempotence" && value == "true" && r.entries["acks"] == nil {
			r.set(p, "required-acks", "all") // Java's default
		}
	}
}

func asText(text string) (string, bool) { return text, true }

func asCount(text string) (string, bool) {
	_, err := strconv.ParseUint(text, 10, 31)
	return text, err == nil
}

// asBatch is asCount; with 0, Java sends each record alone.
func asBatch(text string) (string, bool) {
	if text == "0" {
		return "1", true
	}
	return asCount(text)
}

func asMillis(text string) (string, bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	return strconv.FormatUint(n, 10) + "ms", err == nil
}

func same(list ...string) map[string]string {
	m := map[string]string{}
	for _, w := range list {
		m[w] = w
	}
	return m
}

func words(m map[string]string) func(string) (string, bool) {
	return func(text string) (string, bool) {
		value, ok := m[strings.ToLower(text)]
		return value, ok
	}
}
