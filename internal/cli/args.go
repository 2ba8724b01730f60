package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// legacyFlags is the annotation of a command that lists the long flags allowed with one dash,
// as takt's predecessors wrote them. takt refuses any other long flag with one dash and shows
// its -- spelling: pflag alone would read -disable-compression as -d with a body.
const legacyFlags = "takt-legacy-flags"

// parseFlags sets the flags of the command that args name, from args, the environment and a
// config file. It reports every fault at once, and returns what cobra needs: the command and
// its arguments.
func parseFlags(env Env, root *cobra.Command, args []string) ([]string, error) {
	if len(args) > 0 && strings.HasPrefix(args[0], "__complete") {
		completeFlags(root)
		return args, nil
	}
	args = commandFirst(meant(root, args))
	cmd, depth := findCommand(root, args)
	if depth < len(args) && cmd.HasSubCommands() && !strings.HasPrefix(args[depth], "-") {
		return nil, usage(cmd, []error{unknownCommand(cmd, args[depth])})
	}
	if cmd.Name() == "help" {
		// cobra's own help command exits with 0 for an unknown topic
		if topic, n := findCommand(root, args[depth:]); depth+n < len(args) {
			return nil, usage(topic, []error{unknownCommand(topic, args[depth+n])})
		}
	}
	cmd.InitDefaultHelpFlag()
	p := &flagParser{flags: cmd.Flags(), rest: args[depth:], legacy: strings.Fields(cmd.Annotations[legacyFlags])}
	p.parse()
	if p.help {
		return append(args[:depth:depth], "--help"), nil
	}
	if isConfigurable(cmd) {
		p.fill(env, cmd)
		cmd.Args = p.withOrigins(cmd.Args)
		env.settings.given, env.settings.legacy = p.given, p.old
	}
	if len(p.faults) > 0 {
		p.faults = append(p.faults, moreFaults(cmd, p.positional)...)
		return nil, usage(cmd, p.faults)
	}
	return append(append(args[:depth:depth], "--"), p.positional...), nil
}

// findCommand follows the leading words of args down the tree of commands.
func findCommand(cmd *cobra.Command, args []string) (*cobra.Command, int) {
	for depth, arg := range args {
		next := subcommand(cmd, arg)
		if next == nil {
			return cmd, depth
		}
		cmd = next
	}
	return cmd, len(args)
}

// unknownCommand returns an error with the known command nearest to name, or with all commands
// if none is near.
func unknownCommand(cmd *cobra.Command, name string) error {
	var known []string
	best, distance := "", 3
	for _, c := range cmd.Commands() {
		if d := editDistance(name, c.Name()); d < distance && d < len(name) {
			best, distance = c.CommandPath(), d
		}
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	if best != "" {
		return fmt.Errorf("unknown command %q; did you mean %s?", name, best)
	}
	return fmt.Errorf("unknown command %q; use one of %s", name, strings.Join(known, ", "))
}

func subcommand(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			return c
		}
	}
	return nil
}

// moreFaults returns the faults that the command's own check finds.
func moreFaults(cmd *cobra.Command, args []string) []error {
	if cmd.Args == nil {
		return nil
	}
	err := cmd.Args(cmd, args)
	var all *usageError
	if errors.As(err, &all) {
		return all.faults
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// flagParser parses a command line by pflag's rules, with two exceptions: it continues after a
// fault, and it refuses long names with one dash.
type flagParser struct {
	flags      *pflag.FlagSet
	rest       []string
	positional []string
	given      []setting
	refused    []string // flags whose value was refused
	faults     []error
	help       bool
	legacy     []string // long names allowed with one dash
	old        bool     // a legacy name was written with one dash

	seen func(f *pflag.Flag, value string) // called for each flag; value is the end of the last word read; may be nil
}

func (p *flagParser) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Errorf(format, args...))
}

func (p *flagParser) next() string {
	arg := p.rest[0]
	p.rest = p.rest[1:]
	return arg
}

func (p *flagParser) parse() {
	for len(p.rest) > 0 {
		switch arg := p.next(); {
		case arg == "--":
			p.positional = append(p.positional, p.rest...)
			return
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			p.positional = append(p.positional, arg)
		case arg == "-h" || arg == "--help" || arg == "-help":
			p.help = true
		case strings.HasPrefix(arg, "--"):
			p.long(arg[2:], "--")
		default:
			p.short(arg[1:])
		}
	}
}

// long handles name or name=value.
func (p *flagParser) long(arg, dashes string) {
	name, value, given := strings.Cut(arg, "=")
	f := p.flags.Lookup(name)
	if len(name) == 1 {
		f = p.flags.ShorthandLookup(name)
	}
	switch {
	case f != nil && len(name) == 1 && !slices.Contains(p.legacy, name):
		p.fault("flag --%s is written -%s", name, name)
		p.short(arg)
	case f == nil:
		p.unknown(dashes, arg)
	case given:
		p.set(f, "--"+name, value)
	case f.NoOptDefVal != "":
		p.set(f, "--"+name, f.NoOptDefVal)
	case len(p.rest) == 0:
		p.fault("flag --%s needs a value", name)
	default:
		p.set(f, "--"+name, p.next())
	}
}

// short handles one letter, one letter with its value, a bundle of booleans, and
// the long names of the predecessors.
func (p *flagParser) short(arg string) {
	name, _, _ := strings.Cut(arg, "=")
	f := p.flags.ShorthandLookup(arg[:1])
	switch {
	case slices.Contains(p.legacy, name) && p.flags.Lookup(name) != nil:
		p.old = true
		p.long(arg, "-")
	case len(name) > 1 && p.flags.Lookup(name) != nil:
		p.fault("flag -%s is written --%s", name, name)
		p.long(arg, "-") // consume the value, which may be wrong too
	case f == nil:
		p.unknown("-", arg)
	case f.NoOptDefVal != "":
		p.bundle(arg)
	case len(arg) == 1 && len(p.rest) == 0:
		p.fault("flag -%s needs a value", arg)
	case len(arg) == 1:
		p.set(f, "-"+arg, p.next())
	case arg[1] != '=' && isLetter(arg[1]) && isSecret(f):
		p.fault("the value of -%s is a separate word: -%s VALUE", arg[:1], arg[:1])
	case arg[1] == '=' || !isLetter(arg[1]):
		p.set(f, "-"+arg[:1], strings.TrimPrefix(arg[1:], "="))
	default:
		p.fault("unknown flag -%s; a long flag is written --%s, a short one and its value are separate words: -%s %s", name, name, arg[:1], arg[1:])
	}
}

func (p *flagParser) bundle(arg string) {
	for i := range arg {
		f := p.flags.ShorthandLookup(arg[i : i+1])
		if f == nil || f.NoOptDefVal == "" {
			p.fault("unknown flag -%s; a long flag is written --%s", arg, arg)
			return
		}
		p.set(f, "-"+arg[i:i+1], f.NoOptDefVal)
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (p *flagParser) set(f *pflag.Flag, shown, value string) {
	p.put(f, value, origin{fromFlag, shown})
	if p.seen != nil {
		p.seen(f, value)
	}
}

// unknown refuses a flag and names the nearest known flag. It also consumes the value that the
// known flag needs: as an argument, the value would cause a second fault.
func (p *flagParser) unknown(dashes, arg string) {
	name, _, given := strings.Cut(arg, "=")
	f := p.nearest(name)
	if f == nil {
		p.fault("unknown flag %s%s; the flags are listed by --help", dashes, name)
		return
	}
	p.fault("unknown flag %s%s; did you mean --%s?", dashes, name, f.Name)
	if !given && f.NoOptDefVal == "" && len(p.rest) > 0 {
		p.next()
	}
}

// nearest returns the known flag whose name is nearest to name; nil: none is within 2 letters.
func (p *flagParser) nearest(name string) *pflag.Flag {
	var names []string
	p.flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return p.flags.Lookup(nearest(name, names, 2))
}

// editDistance is the Levenshtein distance of two short words; swapping two neighbouring
// letters is one step.
func editDistance(a, b string) int {
	var before []int // the row before last
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := append(make([]int, 0, len(b)+1), i+1)
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			cost = min(cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, before[j-1]+1)
			}
			row = append(row, cost)
		}
		before, last = last, row
	}
	return last[len(b)]
}

// addFlags adds flags to a command, sorted by name.
func addFlags(cmd *cobra.Command, declare func(*pflag.FlagSet)) *pflag.FlagSet {
	fs := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	declare(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		_ = fs.SetAnnotation(f.Name, settingMark, nil) // cannot fail: the flag exists
		cmd.Flags().AddFlag(f)
	})
	cmd.Flags().SortFlags = false
	return fs
}
