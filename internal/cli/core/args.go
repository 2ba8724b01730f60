package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/flaghelp"
	"github.com/taktload/takt/internal/value"
)

// LegacyFlags is the annotation of a command that lists the long flags allowed with one dash,
// as takt's predecessors wrote them. takt refuses any other long flag with one dash and shows
// its -- spelling: pflag alone would read -disable-compression as -d with a body.
const LegacyFlags = "takt-legacy-flags"

// JudgeCommand is the command that runs other load generators.
const JudgeCommand = "judge"

// ParseFlags sets the flags of the command that args name, from args, the environment and a
// config file. It reports every fault at once, and returns what cobra needs: the command and
// its arguments.
func ParseFlags(env Env, root *cobra.Command, args []string) ([]string, error) {
	if len(args) > 0 && strings.HasPrefix(args[0], "__complete") && env.Vet == nil {
		completeFlags(env, root)
		return args, nil
	}
	args, cmd, depth := read(root, args)
	if depth < len(args) && cmd.HasSubCommands() && !strings.HasPrefix(args[depth], "-") {
		if err := forgottenDashes(root, cmd, args[depth:]); err != nil {
			return nil, Usage(cmd, []error{err})
		}
		return nil, Usage(cmd, []error{cmp.Or(OtherToolsFile(args[depth:]), UnknownCommand(cmd, args[depth]))})
	}
	if err := OtherToolsFile(args); cmd == root && err != nil { // jmeter -n -t plan.jmx
		return nil, Usage(cmd, []error{err})
	}
	if cmd.Name() == "help" && env.Vet == nil {
		return helpOf(root, args[depth:])
	}
	p := NewFlagParser(cmd, args[depth:])
	p.Parse()
	if env.Vet != nil {
		if err := env.Vet(cmd, p.Given); err != nil {
			return nil, ExitWith(ExitUsage, err)
		}
	}
	if p.Help {
		return helpWords(args[:depth:depth], p.HelpAll), nil
	}
	if IsConfigurable(cmd) {
		p.Fill(env, cmd)
		cmd.Args = p.withOrigins(cmd.Args)
		env.Settings.Given, env.Settings.Legacy = p.Given, p.old
	}
	if err := forgottenDashes(root, cmd, args[depth:]); err != nil && (len(p.Faults) > 0 || cmd.Name() == "verify" && forgottenDashes(root, cmd, p.Positional) != nil) { // no filter is a command
		return nil, Usage(cmd, []error{err})
	}
	if len(p.Faults) > 0 {
		p.Faults = append(p.Faults, MoreFaults(cmd, p.Positional)...)
		return nil, Usage(cmd, p.Faults)
	}
	return append(append(args[:depth:depth], "--"), p.Positional...), nil
}

// read returns the words of a command line as takt means them, their command, and how many of them name it.
func read(root *cobra.Command, args []string) ([]string, *cobra.Command, int) {
	args = commandFirst(Meant(root, args))
	cmd, depth := FindCommand(root, args)
	return args, cmd, depth
}

// helpOf returns the words that show the help of the command that topic names: help http, or
// help http all. cobra's own help command exits with 0 for an unknown topic.
func helpOf(root *cobra.Command, topic []string) ([]string, error) {
	cmd, n := FindCommand(root, topic)
	rest := slices.DeleteFunc(slices.Clone(topic[n:]), func(word string) bool { return word == "-h" || word == "--help" })
	all := len(rest) == 1 && (rest[0] == "all" || rest[0] == "--"+flaghelp.All)
	if len(rest) > 0 && !all {
		return nil, Usage(cmd, []error{UnknownCommand(cmd, rest[0])})
	}
	AddHelpFlags(cmd)
	return helpWords(topic[:n:n], all), nil
}

// helpWords are the words with which cobra shows the help of a command.
func helpWords(command []string, all bool) []string {
	if all {
		command = append(command, "--"+flaghelp.All)
	}
	return append(command, "--help")
}

// FindCommand follows the leading words of args down the tree of commands.
func FindCommand(cmd *cobra.Command, args []string) (*cobra.Command, int) {
	for depth, arg := range args {
		next := Subcommand(cmd, arg)
		if next == nil {
			return cmd, depth
		}
		cmd = next
	}
	return cmd, len(args)
}

// UnknownCommand returns an error with the known command nearest to name, or with all commands
// if none is near.
func UnknownCommand(cmd *cobra.Command, name string) error {
	var all, known []string
	for _, c := range cmd.Commands() {
		all = append(all, c.Name())
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	if best := otherToolsCommands()[name]; best != "" && !cmd.HasParent() {
		return fmt.Errorf("unknown command %q; did you mean %s %s?", name, cmd.CommandPath(), best)
	}
	if best := value.Nearest(name, all, 2); best != "" {
		return fmt.Errorf("unknown command %q; did you mean %s %s?", name, cmd.CommandPath(), best)
	}
	if !cmd.HasParent() && strings.Contains(name, ".") {
		return fmt.Errorf("unknown command %q; a URL begins with http:// or https://, a log is for takt replay", name)
	}
	return fmt.Errorf("unknown command %q; use one of %s", name, strings.Join(known, ", "))
}

// Subcommand returns the command below cmd with this name or alias; nil: there is none.
func Subcommand(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			return c
		}
	}
	return nil
}

// MoreFaults returns the faults that the command's own check finds.
func MoreFaults(cmd *cobra.Command, args []string) []error {
	if cmd.Args == nil {
		return nil
	}
	err := cmd.Args(cmd, args)
	var all *UsageError
	if errors.As(err, &all) {
		return all.Faults
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// FlagParser parses a command line by pflag's rules, with two exceptions: it continues after a
// fault, and it refuses long names with one dash.
type FlagParser struct {
	flags      *pflag.FlagSet
	Rest       []string
	Positional []string
	Given      []Setting
	Refused    []string // flags whose value was refused
	Faults     []error
	Help       bool
	HelpAll    bool
	legacy     []string // long names allowed with one dash
	otherTools map[string]string
	old        bool // a legacy name was written with one dash

	Seen func(f *pflag.Flag, value string) // called for each flag; value is the end of the last word read; may be nil
}

// NewFlagParser returns the parser of the words after the name of cmd.
func NewFlagParser(cmd *cobra.Command, words []string) *FlagParser {
	AddHelpFlags(cmd)
	return &FlagParser{flags: cmd.Flags(), Rest: words, legacy: strings.Fields(cmd.Annotations[LegacyFlags]), otherTools: cmd.Annotations}
}

func (p *FlagParser) fault(format string, args ...any) {
	p.Faults = append(p.Faults, fmt.Errorf(format, args...))
}

func (p *FlagParser) next() string {
	arg := p.Rest[0]
	p.Rest = p.Rest[1:]
	return arg
}

// Parse reads the words, and sets the flags.
func (p *FlagParser) Parse() {
	for len(p.Rest) > 0 {
		switch arg := p.next(); {
		case arg == "--":
			p.Positional = append(p.Positional, p.Rest...)
			return
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			p.Positional = append(p.Positional, arg)
		case arg == "-h" || arg == "--help" || arg == "-help":
			p.Help = true
		case arg == "--"+flaghelp.All || arg == "-"+flaghelp.All:
			p.Help, p.HelpAll = true, true
		case strings.HasPrefix(arg, "--"):
			p.long(arg[2:], "--")
		default:
			p.short(arg[1:])
		}
	}
}

// long handles name or name=value.
func (p *FlagParser) long(arg, dashes string) {
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
	case len(p.Rest) == 0:
		p.fault("flag --%s needs a value", name)
	default:
		p.setNext(f, "--"+name)
	}
}

// short handles one letter, one letter with its value, a bundle of booleans, and
// the long names of the predecessors.
func (p *FlagParser) short(arg string) {
	name, _, _ := strings.Cut(arg, "=")
	f := p.flags.ShorthandLookup(arg[:1])
	switch {
	case p.flags.Lookup(name) == nil && len(name) > 1 && p.explains(name):
		p.unknown("-", arg)
	case slices.Contains(p.legacy, name) && p.flags.Lookup(name) != nil:
		p.old = true
		p.long(arg, "-")
	case len(name) > 1 && p.flags.Lookup(name) != nil:
		p.fault("flag -%s is written --%s", name, name)
		p.long(arg, "-") // consume the value, which may be wrong too
	case f == nil && len(arg) > 1 && !isLetter(arg[1]) && p.explains(arg[:1]):
		p.unknown("-", arg[:1]+"="+strings.TrimPrefix(arg[1:], "=")) // -R100
	case f == nil:
		p.unknown("-", arg)
	case f.NoOptDefVal != "":
		p.bundle(arg)
	case len(arg) == 1 && len(p.Rest) == 0:
		p.fault("flag -%s needs a value", arg)
	case len(arg) == 1:
		p.setNext(f, "-"+arg)
	case arg[1] != '=' && isLetter(arg[1]) && IsSecret(f):
		p.fault("the value of -%s is a separate word: -%s VALUE", arg[:1], arg[:1])
	case arg[1] == '=' || !isLetter(arg[1]):
		p.set(f, "-"+arg[:1], strings.TrimPrefix(arg[1:], "="))
	default:
		p.fault("%w -%s; a long flag is written --%s, a short one and its value are separate words: -%s %s", value.ErrUnknownFlag, name, name, arg[:1], arg[1:])
	}
}

func (p *FlagParser) bundle(arg string) {
	for i := range arg {
		f := p.flags.ShorthandLookup(arg[i : i+1])
		if f == nil || f.NoOptDefVal == "" {
			p.fault("%w -%s; a long flag is written --%s", value.ErrUnknownFlag, arg, arg)
			return
		}
		p.set(f, "-"+arg[i:i+1], f.NoOptDefVal)
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// valueFollows reports whether the next word can be the value of a flag: another flag cannot.
func (p *FlagParser) valueFollows() bool {
	return len(p.Rest) > 0 && !value.IsFlag(p.Rest[0])
}

// setNext sets f to the next word. Another flag there means that f has no value, and so does a URL that
// f refuses, which is the argument behind it.
func (p *FlagParser) setNext(f *pflag.Flag, shown string) {
	if !p.valueFollows() {
		next, _, _ := strings.Cut(p.Rest[0], "=")
		if known := next == "--" || p.flags.Lookup(next[2:]) != nil; !known {
			p.next() // it would be a second fault
			if IsSecret(f) {
				next = "a word with --"
			}
		}
		p.Faults = append(p.Faults, value.Lacking(shown, value.HidePassword(next)))
		return
	}
	if word := p.Rest[0]; !IsRepeatable(f) && !IsSecret(f) && strings.Contains(word, "://") && f.Value.Set(word) != nil {
		p.fault("flag %s needs a value before %.60q", shown, value.HidePassword(word))
		return
	}
	p.set(f, shown, p.next())
}

func (p *FlagParser) set(f *pflag.Flag, shown, text string) {
	f, text = value.Meant(f, text)
	p.twice(f, shown, text)
	p.put(f, text, Origin{FromFlag, shown})
	if p.Seen != nil {
		p.Seen(f, text)
	}
}

// twice refuses a flag that is given by two names, such as --rate 100/s -q 10: who writes that takes
// them for two flags. By one name the last value wins, so that a script can append one.
func (p *FlagParser) twice(f *pflag.Flag, shown, value string) {
	i := slices.IndexFunc(p.Given, func(s Setting) bool { return s.Name == f.Name && s.Origin.at != shown })
	if i < 0 || IsRepeatable(f) || f.NoOptDefVal != "" {
		return
	}
	fault := fmt.Sprintf("both %s %s and %s %s are given, and they are one flag; keep one", p.Given[i].Origin.at, Hidden(f.Value, p.Given[i].Value), shown, Hidden(f.Value, value))
	if advice, ok := p.otherTools[otherToolsMark+f.Shorthand]; ok {
		fault += ": " + strings.TrimPrefix(advice, valueMark)
	}
	p.fault("%s", fault)
}

// unknown refuses a flag and names the nearest known flag. It also consumes the value that the
// known flag needs: as an argument, the value would cause a second fault.
func (p *FlagParser) unknown(dashes, arg string) {
	name, _, given := strings.Cut(arg, "=")
	if advice, ok := p.otherTools[otherToolsMark+name]; ok {
		p.fault("%w %s%s; %s", value.ErrUnknownFlag, dashes, name, strings.TrimPrefix(advice, valueMark))
		if !given && strings.HasPrefix(advice, valueMark) && p.valueFollows() && !IsURL(p.Rest[0]) {
			p.next()
		}
		return
	}
	f := p.nearest(name)
	if f == nil {
		p.fault("%w %s%s; the flags are listed by --help-all", value.ErrUnknownFlag, dashes, name)
		if !given && p.looksLikeValue() {
			p.next()
		}
		return
	}
	p.fault("%w %s%s; did you mean --%s?", value.ErrUnknownFlag, dashes, name, f.Name)
	if !given && f.NoOptDefVal == "" && p.valueFollows() {
		p.next()
	}
}

// looksLikeValue reports whether the next word may be the value of an unknown flag: a word follows
// it, and it is neither a flag nor a URL.
func (p *FlagParser) looksLikeValue() bool {
	return len(p.Rest) > 1 && !strings.HasPrefix(p.Rest[0], "-") && !IsURL(p.Rest[0])
}

// The annotations of a command for flags of other programs: the advice, after a mark if the flag
// has a value.
const (
	otherToolsMark = "takt-other-tool "
	valueMark      = "VALUE "
)

// ExplainFlags lets a command say, for unknown flags of other programs, what to write instead.
func ExplainFlags(cmd *cobra.Command, names []string, hasValue bool, advice string) {
	if hasValue {
		advice = valueMark + advice
	}
	for _, name := range names {
		cmd.Annotations[otherToolsMark+name] = advice
	}
}

// explains reports whether the name is that of a flag of another program.
func (p *FlagParser) explains(name string) bool {
	_, ok := p.otherTools[otherToolsMark+name]
	return ok
}

// nearest returns the known flag whose name is nearest to name; nil: none is within 2 letters.
func (p *FlagParser) nearest(name string) *pflag.Flag {
	var names []string
	p.flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return p.flags.Lookup(value.Nearest(name, names, 2))
}

// Alias gives flags of a command other names, by the other name.
func Alias(cmd *cobra.Command, names map[string]string) {
	if len(names) == 0 {
		return
	}
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(names[name], name))
	})
}

// AddFlags adds flags to a command, in the order of their declaration.
func AddFlags(cmd *cobra.Command, declare func(*pflag.FlagSet)) *pflag.FlagSet {
	fs := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	fs.SortFlags = false
	declare(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		_ = fs.SetAnnotation(f.Name, settingMark, nil) // cannot fail: the flag exists
		cmd.Flags().AddFlag(f)
	})
	cmd.Flags().SortFlags = false
	return fs
}
