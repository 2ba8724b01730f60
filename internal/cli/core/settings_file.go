package core

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

// config reads the file that --config or TAKT_CONFIG names, and returns its settings for the
// command, by flag, and who else decides what they are.
func (p *FlagParser) config(env Env, known CommandFlags, command string) (mine map[string][]Setting, o others) {
	path, from := env.Getenv(value.Variable(ConfigFlag)), value.Variable(ConfigFlag)
	f := p.flags.Lookup(ConfigFlag)
	if f.Changed {
		path, from = f.Value.String(), "--"+ConfigFlag
	} else {
		env.trust(f, path)
	}
	if path == "" {
		return nil, others{}
	}
	text, o, err := readConfig(path, env.Stdin)
	if errors.Is(err, fs.ErrNotExist) && p.IsGiven("allowMissingConfig") {
		return nil, others{}
	}
	if err != nil {
		p.fault("cannot read the settings: %w; check %s", err, from)
		return nil, others{}
	}
	if f.Changed {
		env.Settings.Config = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		if env.Session && !slices.Contains(env.Configs, env.Settings.Config) { // a job before this one may have written it
			p.fault("the settings in %s have changed since the server checked them; give the command again", path)
			return nil, others{}
		}
	}
	if path == configStdin {
		path, env.Settings.Stdin = stdinName, from
	}
	lines, faults := ParseConfig(path, text)
	c := &configFile{path: path, command: command, flags: p.flags, known: known, faults: faults}
	mine = c.sort(lines)
	if p.IsGiven("allowUnknownFlags") {
		c.faults = faults // only syntax faults count
	}
	p.Faults = append(p.Faults, c.faults...)
	return mine, o
}

// configFile is a config file as one command reads it.
type configFile struct {
	path    string
	command string
	flags   *pflag.FlagSet
	known   CommandFlags
	faults  []error
}

func (c *configFile) fault(l configLine, format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("%s:%d: %w", c.path, l.number, fmt.Errorf(format, args...)))
}

// sort returns the lines for the command, by flag. For a flag that is not repeatable, the line
// in the command's section replaces the one above all sections.
func (c *configFile) sort(lines []configLine) map[string][]Setting {
	mine, first := map[string][]Setting{}, map[configLine]int{}
	for _, l := range lines {
		f := c.flagOf(l)
		if f == nil {
			continue
		}
		l.name = f.Name // the file may have another name of the flag
		if !IsRepeatable(f) {
			mine[l.name] = nil
			where := configLine{section: l.section, name: l.name}
			if before := first[where]; before > 0 {
				c.fault(l, "%s is in line %d already; keep one", l.name, before)
			}
			first[where] = l.number
		}
		if l.bare {
			l.Value = f.NoOptDefVal
		}
		mine[l.name] = append(mine[l.name], Setting{Name: l.name, Value: l.Value, Origin: Origin{FromFile, fmt.Sprintf("%s:%d", c.path, l.number)}})
	}
	return mine
}

// flagOf is the flag of the command that l sets; nil: l sets none.
func (c *configFile) flagOf(l configLine) *pflag.Flag {
	if l.name == "" {
		c.checkSection(l)
		return nil
	}
	if !c.isKnown(l) || l.section != "" && l.section != c.command {
		return nil
	}
	f := c.flags.Lookup(l.name)
	if f != nil && l.bare && f.NoOptDefVal == "" {
		c.fault(l, "%s has no value; write %s = VALUE", l.name, l.name)
		return nil
	}
	return f
}

func (c *configFile) checkSection(l configLine) {
	if c.known[l.section] == nil {
		all := slices.Sorted(maps.Keys(c.known))
		c.fault(l, "%s", unknown("section", l.section, all, value.Nearest(l.section, all, 2)))
	}
}

// isKnown reports whether l names a setting: of the command of its section, or above all
// sections, of any command. It adds a fault if not, except in an unknown section, whose head is
// a fault already.
func (c *configFile) isKnown(l configLine) bool {
	commands := slices.Sorted(maps.Keys(c.known))
	if l.section != "" {
		commands = slices.DeleteFunc(commands, func(name string) bool { return name != l.section })
	} else if i := slices.Index(commands, c.command); i > 0 {
		commands = append([]string{c.command}, slices.Delete(commands, i, i+1)...) // its short flags first
	}
	var names []string
	for _, command := range commands {
		f := c.known[command].Lookup(l.name)
		if f != nil && !IsSetting(f) {
			c.fault(l, "%s cannot be in a config file; give it on the command line", l.name)
		}
		if f != nil {
			return IsSetting(f)
		}
		if f = c.known[command].ShorthandLookup(l.name[:1]); f != nil && len(l.name) == 1 {
			c.fault(l, "%s", unknown("setting", l.name, nil, f.Name))
			return false
		}
		names = append(names, settingNames(c.known[command])...)
	}
	if len(names) > 0 {
		c.fault(l, "%s", c.stranger(l, names))
	}
	return false
}

// stranger is the fault of a line whose name is unknown, or belongs to another command.
func (c *configFile) stranger(l configLine, names []string) string {
	for _, command := range slices.Sorted(maps.Keys(c.known)) {
		if f := c.known[command].Lookup(l.name); f != nil && IsSetting(f) {
			return fmt.Sprintf("%s is a setting of takt %s, not of takt %s; put it above all sections or below [%s]", l.name, command, l.section, command)
		}
	}
	meant := strings.ReplaceAll(strings.TrimLeft(l.name, "-"), "_", "-")
	return unknown("setting", l.name, nil, value.Nearest(meant, names, 2))
}

// unknown is the fault of an unknown name of that kind. It names near if there is one, else all
// known names.
func unknown(kind, name string, all []string, near string) string {
	switch {
	case near != "":
		return fmt.Sprintf("unknown %s %s; did you mean %s?", kind, name, near)
	case all != nil:
		return fmt.Sprintf("unknown %s %s; use one of %s", kind, name, strings.Join(all, ", "))
	default:
		return fmt.Sprintf("unknown %s %s; settings have the long names of flags, which --help-all lists", kind, name)
	}
}

// settingNames returns the flags that may be in a config file.
func settingNames(flags *pflag.FlagSet) (names []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if IsSetting(f) {
			names = append(names, f.Name)
		}
	})
	return names
}
