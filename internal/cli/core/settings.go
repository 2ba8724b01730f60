package core

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/reach"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Settings are the values of flags. They come from the command line, the environment, a config
// file, or the defaults. The first of these with a value for a flag wins; values of a repeatable
// flag are not combined.

// The kinds of origin.
const (
	fromDefault     = "default"
	FromEnvironment = "environment"
	FromFile        = "file"
	FromFlag        = "flag"
)

// Origin is the source of a value.
type Origin struct {
	Kind string
	at   string // --rate, TAKT_RATE or takt.conf:7; "" for a default
}

// bad is the beginning of the fault of a value that the named flag refuses.
func (o Origin) bad(name string) string {
	if o.Kind == FromFile {
		return o.at + ": bad " + name
	}
	return "bad " + o.at
}

// Setting is one value that a flag was given.
type Setting struct {
	Name, Value string
	Origin      Origin
	After       int // number of words on the command line after the one that ends with the value
}

// Settings are the settings of the running command, in the order in which they were set.
type Settings struct {
	Given  []Setting
	Config string // SHA-256 of the config file that --config names; "": none was read
	Stdin  string // the flag or variable that made takt read the config file from standard input; "": none

	Legacy bool // a flag was written like a predecessor's
}

// All are the settings that flags were given; nil settings have none.
func (s *Settings) All() []Setting {
	if s == nil {
		return nil
	}
	return s.Given
}

// IsSetting reports whether f may be in the environment and in a config file. Flags for a single
// call (--config, --help, --json of takt config) may not.
func IsSetting(f *pflag.Flag) bool {
	_, ok := f.Annotations[settingMark]
	return ok && f.Name != DumpFlag
}

// IsSecret reports whether values of f may be secret.
func IsSecret(f *pflag.Flag) bool {
	_, ok := f.Value.(takt.Secretive)
	return ok
}

// HoldsSecret reports whether the value of f must not be shown: a proxy without credentials may
// be shown, a header may not.
func HoldsSecret(f *pflag.Flag) bool {
	s, ok := f.Value.(takt.Secretive)
	if !ok {
		return false
	}
	_, always := s.(Redacter)
	return always && f.Value.String() != "" || strings.Join(s.Secrets(), "") != ""
}

// IsRepeatable reports whether f accepts several values.
func IsRepeatable(f *pflag.Flag) bool {
	_, ok := f.Value.(value.Repeater)
	return ok
}

// settingMark marks the flags that may be in the environment and in a config file.
const settingMark = "takt-setting"

// ConfigFlag is the flag that names the config file.
const ConfigFlag = "config"

// Configurable lets a command read settings from the environment and a config file.
func Configurable(cmd *cobra.Command) {
	value.Declare(cmd.Flags(), value.GroupGeneral, func(fs *pflag.FlagSet) {
		fs.Var(value.InFile(new(string)), ConfigFlag, "settings from `FILE` with lines such as rate = 500/s; - is stdin; also in the environment, as "+value.Variable(ConfigFlag)+", "+value.Variable("rate")+", …")
	})
}

// Define adds to a command with settings its flags, its check of the arguments and flags, and
// what it does.
func Define(c *cobra.Command, flags func(*pflag.FlagSet), check func(args []string) []error, run func(ctx context.Context, args []string) error) *cobra.Command {
	AddFlags(c, flags)
	Configurable(c)
	c.Args = func(c *cobra.Command, args []string) error { return Usage(c, check(args)) }
	c.RunE = func(c *cobra.Command, args []string) error { return run(c.Context(), args) }
	return c
}

// IsConfigurable reports whether a command reads settings from the environment and a file.
func IsConfigurable(cmd *cobra.Command) bool { return cmd.Flags().Lookup(ConfigFlag) != nil }

// CommandName is the name of cmd, without takt and config: takt config http is http.
func CommandName(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return strings.TrimPrefix(name, ConfigCommand+" ")
}

// CommandFlags are the flags of every command that has settings, by its name.
type CommandFlags map[string]*pflag.FlagSet

// Collect adds the commands below cmd.
func (k CommandFlags) Collect(cmd *cobra.Command) CommandFlags {
	for _, c := range cmd.Commands() {
		if IsConfigurable(c) {
			k[CommandName(c)] = c.Flags()
		}
		k.Collect(c)
	}
	return k
}

// Fill sets the flags that the command line does not, from the environment and the config file.
func (p *FlagParser) Fill(env Env, cmd *cobra.Command) {
	known := CommandFlags{}.Collect(cmd.Root())
	env.warnNearMisses(known)
	file, o := p.config(env, known, CommandName(cmd))
	p.flags.VisitAll(func(f *pflag.Flag) {
		if !IsSetting(f) {
			return
		}
		text, name := value.InEnvironment(f.Name, env.Getenv)
		env.trust(f, text)
		if !p.flags.Lookup(ConfigFlag).Changed { // the environment names the file
			for _, s := range file[f.Name] {
				env.trust(f, s.Value)
			}
		}
		if p.IsGiven(f.Name) || p.meansGiven(f) { // to a shard, by a gatherer with the same environment
			return
		}
		if text != "" {
			p.putMeant(f, text, Origin{FromEnvironment, name})
			return
		}
		for _, s := range file[f.Name] {
			if what, why := o.refuse(cmd, f, s.Value); why != nil {
				p.Refused = append(p.Refused, f.Name)
				p.fault("%s: %s, and %w, or give --%s on the command line", s.Origin.at, what, why, f.Name)
				continue
			}
			p.putMeant(f, s.Value, s.Origin)
		}
	})
}

// meansGiven reports whether a predecessor's flag means a flag that has a value.
func (p *FlagParser) meansGiven(f *pflag.Flag) bool {
	r, ok := value.FormerOf(f)
	return ok && p.IsGiven(r.Flag)
}

// putMeant is put for a flag that may be a predecessor's.
func (p *FlagParser) putMeant(f *pflag.Flag, text string, o Origin) {
	f, text = value.Meant(f, text)
	p.put(f, text, o)
}

// refuse returns what a setting of a config file is, and why the file may not give it; nil: it may.
func (o others) refuse(cmd *cobra.Command, f *pflag.Flag, text string) (what string, why error) {
	names := func(k value.Kind) bool { return value.Named(f.Value, text, k) != nil }
	switch {
	case names(value.Starts):
		return f.Name + " starts programs", o.any
	case names(value.Writes):
		return f.Name + " names a file that takt writes", o.strangers
	case names(value.Private) && !names(value.Loads), obeysOthers(cmd): // a cluster as a store is only one more machine
		return "only you may set " + f.Name, o.strangers
	}
	return "", nil
}

// obeysOthers reports whether a command does what others tell it: each of its settings is about who they are and what
// they may do.
func obeysOthers(cmd *cobra.Command) bool {
	return slices.Contains([]string{"server", "ui", "fleet", "shard"}, CommandName(cmd))
}

// trust lets a process that is confined for others use the files and machines that the environment of its owner names.
func (e Env) trust(f *pflag.Flag, text string) {
	v, ok := f.Value.(value.Flag)
	if !e.Owner || !ok || text == "" {
		return
	}
	for _, n := range v.Names(text) {
		switch n.Kind {
		case value.Loads:
			reach.Trust(n.Text)
		case value.Reads, value.Writes:
			files.Trust(n.Text)
		}
	}
}

// IsGiven reports whether the flag has a value from the command line, the environment or a file.
func (p *FlagParser) IsGiven(name string) bool {
	return slices.ContainsFunc(p.Given, func(s Setting) bool { return s.Name == name })
}

// put sets f and records the value, even if f refuses it: a value from the environment or the
// file must not replace it.
func (p *FlagParser) put(f *pflag.Flag, value string, o Origin) {
	p.Given = append(p.Given, Setting{f.Name, value, o, len(p.Rest)})
	if err := f.Value.Set(value); err != nil {
		p.Refused = append(p.Refused, f.Name)
		if fault := OtherToolsFile([]string{value}); fault != nil { // jmeter -t plan.jmx
			p.Faults = append(p.Faults, fault)
			return
		}
		p.fault("%s: %s", o.bad(f.Name), refusal(f, value, err))
		return
	}
	f.Changed = true
}

// refusal says why f refuses text. Flags for secrets do not quote it.
func refusal(f *pflag.Flag, text string, err error) string {
	if kind := f.Value.Type(); value.IsNumber(f.Value) {
		hint := ""
		if kind != "bool" && strings.HasSuffix(strings.ToLower(text), "k") {
			hint = "; write all its digits, such as 1000"
		}
		return fmt.Sprintf("%q is not %s%s", text, expected(kind), hint)
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

// warnNearMisses warns of variables that look like misspelt settings.
func (e Env) warnNearMisses(known CommandFlags) {
	if e.Environ == nil {
		return
	}
	names := append([]string{value.Variable(ConfigFlag), engine.ShardsVariable}, StoreVariables()...)
	for _, command := range slices.Sorted(maps.Keys(known)) {
		for _, name := range settingNames(known[command]) {
			names = append(names, value.Variable(name))
		}
	}
	for _, text := range value.Misspelt(e.Environ(), names) {
		fmt.Fprintf(e.Stderr, "takt: warning: %s\n", text)
	}
}

// StoreVariables are the environment variables for a cluster's credentials, which should not be
// on a command line.
func StoreVariables() []string {
	return []string{"TAKT_STORE_USER", "TAKT_STORE_PASSWORD", "TAKT_STORE_API_KEY", "TAKT_STORE_CA"}
}

// Commands check the values of flags without knowing their origin. This file adds the origin to
// their faults, which name the flags as a value.Fault: takt.conf:7: bad rate: rate "5/q": ….

// withOrigins is check with faults that name the file or the variable. It drops faults that only
// follow from a refused value, which is a fault already.
func (p *FlagParser) withOrigins(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		var all *UsageError
		if !errors.As(err, &all) {
			return err
		}
		var faults []error
		for _, fault := range all.Faults {
			if about := p.settingsOf(fault); len(about) != 1 || !slices.Contains(p.Refused, about[0].Name) {
				faults = append(faults, withOrigin(fault, about))
			}
		}
		return Usage(cmd, faults)
	}
}

// settingsOf returns the settings that a fault is about.
func (p *FlagParser) settingsOf(fault error) (all []Setting) {
	var f *value.Fault
	if !errors.As(fault, &f) {
		return nil
	}
	for _, s := range p.Given {
		named := slices.Contains(f.Flags, s.Name) || slices.Contains(f.Flags, p.flags.Lookup(s.Name).Shorthand)
		if named && (f.Text == "" || f.Text == s.Value) {
			all = append(all, s)
		}
	}
	return all
}

// withOrigin adds to a fault where the values that it is about are from, unless they are on the
// command line.
func withOrigin(fault error, about []Setting) error {
	var elsewhere []string
	for _, s := range about {
		if s.Origin.Kind != FromFlag {
			elsewhere = append(elsewhere, s.Name+": "+s.Origin.at)
		}
	}
	switch {
	case len(elsewhere) == 0:
		return fault
	case len(about) > 1:
		return fmt.Errorf("%w (%s)", fault, strings.Join(elsewhere, ", "))
	}
	s := about[0]
	return fmt.Errorf("%s: %s", s.Origin.bad(s.Name), strings.TrimPrefix(fault.Error(), "bad --"+s.Name+" "))
}
