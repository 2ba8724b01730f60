package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Settings are the values of flags. They come from the command line, the environment, a config
// file, or the defaults. The first of these with a value for a flag wins; values of a repeatable
// flag are not combined.

// The kinds of origin.
const (
	fromDefault     = "default"
	fromEnvironment = "environment"
	fromFile        = "file"
	fromFlag        = "flag"
)

// origin is the source of a value.
type origin struct {
	kind string
	at   string // --rate, TAKT_RATE or takt.conf:7; "" for a default
}

// bad is the beginning of the fault of a value that the named flag refuses.
func (o origin) bad(name string) string {
	if o.kind == fromFile {
		return o.at + ": bad " + name
	}
	return "bad " + o.at
}

// setting is one value that a flag was given.
type setting struct {
	name, value string
	origin      origin
	after       int // number of words on the command line after the one that ends with the value
}

// settings are the settings of the running command, in the order in which they were set.
type settings struct {
	given []setting
	stdin string // the flag or variable that made takt read the config file from standard input; "": none

	legacy bool // a flag was written like a predecessor's
}

// isSetting reports whether f may be in the environment and in a config file. Flags for a single
// call (--config, --help, --json of takt config) may not.
func isSetting(f *pflag.Flag) bool {
	_, ok := f.Annotations[settingMark]
	return ok && f.Name != dumpFlag
}

// isSecret reports whether values of f may be secret.
func isSecret(f *pflag.Flag) bool {
	_, ok := f.Value.(takt.Secretive)
	return ok
}

// holdsSecret reports whether the value of f must not be shown: a proxy without credentials may
// be shown, a header may not.
func holdsSecret(f *pflag.Flag) bool {
	s, ok := f.Value.(takt.Secretive)
	if !ok {
		return false
	}
	_, always := s.(redacter)
	return always && f.Value.String() != "" || strings.Join(s.Secrets(), "") != ""
}

// isRepeatable reports whether f accepts several values.
func isRepeatable(f *pflag.Flag) bool {
	_, ok := f.Value.(value.Repeater)
	return ok
}

// settingMark marks the flags that may be in the environment and in a config file.
const settingMark = "takt-setting"

// The flag that names the config file, and the prefix of takt's variables.
const (
	configFlag = "config"
	envPrefix  = "TAKT_"
)

// configurable lets a command read settings from the environment and a config file.
func configurable(cmd *cobra.Command) {
	cmd.Flags().Var(value.InFile(new(string)), configFlag, "settings from `FILE` with lines such as rate = 500/s; - is stdin; also in the environment, as "+envPrefix+"CONFIG, "+envPrefix+"RATE, …")
}

func isConfigurable(cmd *cobra.Command) bool { return cmd.Flags().Lookup(configFlag) != nil }

// commandName is the name of cmd, without takt and config: takt config http is http.
func commandName(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return strings.TrimPrefix(name, configCommand+" ")
}

// commandFlags are the flags of every command that has settings, by its name.
type commandFlags map[string]*pflag.FlagSet

// collect adds the commands below cmd.
func (k commandFlags) collect(cmd *cobra.Command) commandFlags {
	for _, c := range cmd.Commands() {
		if isConfigurable(c) {
			k[commandName(c)] = c.Flags()
		}
		k.collect(c)
	}
	return k
}

// fill sets the flags that the command line does not, from the environment and the config file.
func (p *flagParser) fill(env Env, cmd *cobra.Command) {
	known := commandFlags{}.collect(cmd.Root())
	env.warnNearMisses(known)
	file := p.config(env, known, commandName(cmd))
	p.flags.VisitAll(func(f *pflag.Flag) {
		if !isSetting(f) || p.isGiven(f.Name) {
			return
		}
		name := envName(f.Name)
		if v := env.Getenv(name); v != "" {
			p.put(f, v, origin{fromEnvironment, name})
			return
		}
		for _, s := range file[f.Name] {
			p.put(f, s.value, s.origin)
		}
	})
}

func (p *flagParser) isGiven(name string) bool {
	return slices.ContainsFunc(p.given, func(s setting) bool { return s.name == name })
}

// put sets f and records the value, even if f refuses it: a value from the environment or the
// file must not replace it.
func (p *flagParser) put(f *pflag.Flag, value string, o origin) {
	p.given = append(p.given, setting{f.Name, value, o, len(p.rest)})
	if err := f.Value.Set(value); err != nil {
		p.refused = append(p.refused, f.Name)
		p.fault("%s: %s", o.bad(f.Name), refusal(f, value, err))
		return
	}
	f.Changed = true
}

// refusal says why f refuses text. Flags for secrets do not quote it.
func refusal(f *pflag.Flag, text string, err error) string {
	if kind := f.Value.Type(); value.IsNumber(f.Value) {
		return fmt.Sprintf("%q is not %s", text, expected(kind))
	}
	return err.Error()
}

// expected describes the values of a flag for numbers or booleans.
func expected(kind string) string {
	switch kind {
	case "bool":
		return "true or false"
	case "float64":
		return "a number"
	default:
		return "a whole number that fits"
	}
}
