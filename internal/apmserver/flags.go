package apmserver

import (
	"fmt"
	"net"
	"strings"

	"github.com/taktload/takt/pkg/takt"
)

// line is the command line of an apm-server.
type line struct {
	args []string // without secrets
	env  []string // NAME=VALUE, the secrets
}

// line puts together what the user gave and what takt needs. apm-server takes the last
// of what is given twice, so takt's own come last; what only helps takt comes first.
// Secrets go through the environment: everybody on the machine can read arguments.
func (o *Options) line(address, stats string) line {
	var l line
	l.set("apm-server.expvar.enabled", "true")
	if host, port, err := net.SplitHostPort(stats); err == nil { // libbeat's counters, which tell what became of events
		l.set("http.enabled", "true")
		l.set("http.host", host)
		l.set("http.port", port)
	}
	for i := 0; i < len(o.Flags); i++ {
		name, value, skip := setting(o.Flags[i:])
		if name == "" {
			l.args = append(l.args, o.Flags[i])
			continue
		}
		i += skip
		if IsSecret(name) {
			value = l.hide(fmt.Sprintf("TAKT_SECRET_%d", len(l.env)+1), value)
		}
		l.set(name, value)
	}
	l.set("apm-server.host", address)
	if o.Output.URL != "" {
		l.set("output.elasticsearch.hosts", `["`+o.Output.URL+`"]`)
	}
	if o.Output.User != "" {
		l.set("output.elasticsearch.username", l.hide("ELASTICSEARCH_USERNAME", o.Output.User))
		l.set("output.elasticsearch.password", l.hide("ELASTICSEARCH_PASSWORD", string(o.Output.Password)))
	}
	l.args = append(l.args, "-e") // log to standard error
	return l
}

func (l *line) set(name, value string) { l.args = append(l.args, "-E", name+"="+value) }

// hide puts the value into the environment, and gives what apm-server replaces by it.
func (l *line) hide(variable, value string) string {
	l.env = append(l.env, variable+"="+value)
	return "${" + variable + "}"
}

// setting reads -E NAME=VALUE, in one word or two, at the beginning of words; skip is
// the number of words after the first. name "": there is none.
func setting(words []string) (name, value string, skip int) {
	text, ok := strings.CutPrefix(words[0], "-E")
	if !ok {
		return "", "", 0
	}
	if text == "" && len(words) > 1 {
		text, skip = words[1], 1
	}
	name, value, ok = strings.Cut(strings.TrimPrefix(text, "="), "=")
	if !ok {
		return "", "", 0
	}
	return name, value, skip
}

// IsSecret says whether a setting of that name is to be hidden.
func IsSecret(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"password", "secret", "token", "api_key", "apikey", "passphrase"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// SettingName is the name of the setting that -E with this text sets, "" if it sets none.
func SettingName(text string) string {
	name, _, _ := setting([]string{"-E", text})
	return name
}

// Settings are the settings in flags, for a report: secrets redacted, without those of
// where the server listens and writes, which are takt's own or variables by themselves.
func Settings(flags []string) map[string]any {
	all := map[string]any{}
	for i := 0; i < len(flags); i++ {
		name, value, skip := setting(flags[i:])
		i += skip
		switch {
		case name == "" || strings.HasPrefix(name, "apm-server.host") || strings.HasPrefix(name, "output.elasticsearch"):
		case IsSecret(name):
			all[name] = takt.Redacted
		default:
			all[name] = value
		}
	}
	return all
}

// tracesItself reports whether the settings let apm-server send events about itself, which it
// counts like those of clients.
func tracesItself(flags []string) bool {
	for name, value := range Settings(flags) {
		if value == "true" && (strings.HasSuffix(name, "tracing.enabled") || strings.HasSuffix(name, "instrumentation.enabled")) {
			return true
		}
	}
	return false
}
