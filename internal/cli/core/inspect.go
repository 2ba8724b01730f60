package core

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/value"
)

// Inspected is a command line that takt has read, and not run.
type Inspected struct {
	Command *cobra.Command // with its flags set
	Words   []string       // arguments that are not flags
	Given   []Setting
}

// Inspect reads and checks a command line without running it. The error contains every fault.
func (e Env) Inspect(args []string) (Inspected, error) {
	e.Stdin, e.Stdout, e.Stderr = strings.NewReader(""), io.Discard, io.Discard
	e.Args, e.Settings, e.Promises = args, &Settings{}, nil
	root := e.Root(e)
	parsed, err := ParseFlags(e, root, args)
	_, cmd, depth := read(root, args)
	i := Inspected{Command: cmd, Given: e.Settings.Given}
	if err == nil {
		i.Words = parsed[min(depth+1, len(parsed)):] // the first is --, or --help
		err = Usage(cmd, MoreFaults(cmd, i.Words))
	}
	var all *UsageError
	if errors.As(err, &all) {
		err = errors.Join(all.Faults...)
	}
	return i, err
}

// Names is what a command line names outside of takt.
type Names struct {
	Reads, Writes []string // files
	Secrets       []string // names of the flags whose values are secrets
}

// Names are those of the flags, by their types, of the arguments, and of a command after --.
func (e Env) Names(args []string) (n Names) {
	i, err := e.Inspect(args)
	if err != nil {
		return n
	}
	for _, s := range i.Given {
		n.add(i.Command.Flags().Lookup(s.Name), s)
	}
	if f := i.Command.Flags().Lookup(ConfigFlag); f != nil && f.Changed {
		n.add(f, Setting{Value: f.Value.String()})
	}
	for k, word := range i.Words {
		if IsLog(i.Command, k, len(i.Words)) {
			n.Reads = append(n.Reads, strings.Split(word, ",")...)
		}
		n.addAll(payload.Names(word)) // a URL may have placeholders
	}
	if RunsAnother(i.Command) && len(i.Words) > 0 {
		inner := e.Names(i.Words)
		n.Reads, n.Writes, n.Secrets = append(n.Reads, inner.Reads...), append(n.Writes, inner.Writes...), append(n.Secrets, inner.Secrets...)
	}
	slices.Sort(n.Reads)
	n.Reads = slices.Compact(n.Reads)
	return n
}

// add adds what the flag f with the value of s names.
func (n *Names) add(f *pflag.Flag, s Setting) {
	if s.Origin.Kind == FromFlag && HoldsSecret(f) {
		n.Secrets = append(n.Secrets, f.Name)
	}
	if v, ok := f.Value.(value.Flag); ok {
		n.addAll(v.Names(s.Value))
	}
}

func (n *Names) addAll(names []value.Name) {
	for _, name := range names {
		switch name.Kind {
		case value.Reads:
			n.Reads = append(n.Reads, name.Text)
		case value.Writes:
			n.Writes = append(n.Writes, name.Text)
		}
	}
}

// IsLog reports whether the i-th of so many arguments of a command is a log, or several with commas
// between them.
func IsLog(cmd *cobra.Command, i, of int) bool { return cmd.Name() == "replay" && i < of-1 }

// RunsAnother reports whether a command runs another command, given after --.
func RunsAnother(cmd *cobra.Command) bool {
	return slices.Contains([]string{"capacity", "verify"}, cmd.Name())
}

// forgottenDashes is the fault of a command line without the -- before the command that another
// command is to run; nil: this is not what is wrong.
func forgottenDashes(root, cmd *cobra.Command, words []string) error {
	within := cmd.Name() == "fleet" || cmd.HasParent() && cmd.Parent().Name() == "manifest"
	if !within && !RunsAnother(cmd) || slices.Contains(words, "--") {
		return nil
	}
	for _, word := range words {
		inner := Subcommand(root, word)
		if inner != nil && (RunsAnother(inner) || IsLoad(inner) || inner.HasSubCommands() && inner.Name() != "fleet") {
			return fmt.Errorf("the command to run comes after --, so write -- before %q", word)
		}
	}
	return nil
}
