package cluster

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/driver/kafka/properties"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

// Properties are the client properties of Java's clients, in a file.
type Properties struct {
	File string

	flags  *pflag.FlagSet // flags of the command, which the file sets
	faults []error
	notes  []takt.Warning // about the file
}

// PropertiesAliases are the names that Kafka's own tools have for --properties.
func PropertiesAliases() map[string]string {
	const name = "properties"
	return map[string]string{"producer.config": name, "consumer.config": name, "command-config": name, "command.config": name}
}

func (c *Cluster) addPropertiesFlag(fs *pflag.FlagSet) {
	fs.Var(value.OwnedPath(&c.Properties.File, "a session gives the flags themselves, such as --sasl and --sasl-user"), "properties",
		"client properties of Java's clients in `FILE`, as --producer.config, --consumer.config and --command-config of Kafka's tools; flags win over the file")
}

// ReadProperties sets the flags that the file means. Flags that the user gave stay as they are. It
// comes before everything that looks at the options.
func (c *Cluster) ReadProperties() {
	p := &c.Properties
	p.faults, p.notes = nil, nil
	if p.File == "" {
		return
	}
	r := properties.Read(p.File, properties.Flags{
		Has: func(flag string) bool { return p.flags.Lookup(flag) != nil },
		Given: func(flag string) (string, bool) {
			f := p.flags.Lookup(flag)
			if f == nil || !f.Changed {
				return "", false
			}
			return f.Value.String(), true
		},
	})
	p.faults = r.Faults
	for _, s := range r.Settings {
		if f := p.flags.Lookup(s.Flag); f != nil {
			if err := f.Value.Set(s.Value); err != nil { // its text has the value, which may be secret
				p.faults = append(p.faults, value.Faultf("%s cannot be the value of --%s; check it", s.Origin, s.Flag))
			}
		}
	}
	c.TLS.pem = r.PEM
	if n := len(r.Ignored); n > 0 {
		p.note(warn.Properties, "properties of %s without effect here, %d: %s; %s",
			p.File, takt.Number("ignored", n), few(r.Ignored), takt.Advice("see https://github.com/taktload/takt/blob/main/docs/kafka.md#properties-of-javas-clients"))
	}
	if r.Open {
		p.note(warn.SecretReadable, "every user of this machine can read %s, which has a password or a key; %s", p.File, takt.Advice("run chmod 600 "+p.File))
	}
}

func (p *Properties) note(code takt.WarningCode, format string, args ...any) {
	p.notes = append(p.notes, takt.Words{}.Warning(code, format, args...))
}

// mostNamed is the largest number of properties that the warning names.
const mostNamed = 20

// few joins the first names.
func few(names []string) string {
	if len(names) > mostNamed {
		names = append(names[:mostNamed:mostNamed], "…")
	}
	return strings.Join(names, ", ")
}

// Describe adds the warnings about the file to a report.
func (p *Properties) Describe(rep *takt.Report) {
	rep.Warnings = append(rep.Warnings, p.notes...)
}
