package core

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/value"
)

// others is the group of flags that were declared in no group.
const others value.Group = ""

// helpAllFlag shows all flags of a command with many.
const helpAllFlag = "help-all"

const (
	fewFlags    = 15 // a command with so many flags shows all of them in --help
	fewExamples = 2  // examples in --help
	helpUsage   = 24 // column of the descriptions of flags
)

// AddHelpFlags adds --help and --help-all.
func AddHelpFlags(cmd *cobra.Command) {
	if cmd.Flags().Lookup(helpAllFlag) != nil {
		return
	}
	value.Declare(cmd.Flags(), value.GroupGeneral, func(fs *pflag.FlagSet) {
		fs.BoolP("help", "h", false, "show the flags that matter first")
		fs.Bool(helpAllFlag, false, "show all flags, in groups")
	})
}

// ShowHelp writes the help of a command. It is the help function of the root command.
func ShowHelp(cmd *cobra.Command, _ []string) {
	AddHelpFlags(cmd)
	all, _ := cmd.Flags().GetBool(helpAllFlag)
	h := help{cmd: cmd, flags: shownFlags(cmd.Flags())}
	h.all = all || len(h.flags) <= fewFlags || len(h.first()) == 0
	h.write(cmd.OutOrStdout())
}

// shownFlags lists the flags that are not hidden, in the order of their declaration.
func shownFlags(fs *pflag.FlagSet) (list []*pflag.Flag) {
	fs.SortFlags = false
	fs.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			list = append(list, f)
		}
	})
	return list
}

// help is the text of --help, or of --help-all.
type help struct {
	cmd   *cobra.Command
	flags []*pflag.Flag
	all   bool
}

func (h help) write(w io.Writer) {
	c := h.cmd
	if c.Long != "" {
		fmt.Fprintln(w, c.Long)
	} else {
		writeColumns(w, "", c.Short, 0)
	}
	fmt.Fprintf(w, "\nUsage:\n")
	if c.Runnable() {
		fmt.Fprintf(w, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s [command]\n", c.CommandPath())
	}
	h.examples(w)
	h.commands(w)
	h.list(w)
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nUse \"%s [command] --help\" for more information about a command.\n", c.CommandPath())
	}
}

func (h help) examples(w io.Writer) {
	if h.cmd.Example == "" {
		return
	}
	lines := strings.Split(h.cmd.Example, "\n")
	if !h.all {
		lines = lines[:min(len(lines), fewExamples)]
	}
	fmt.Fprintf(w, "\nExamples:\n%s\n", strings.Join(lines, "\n"))
}

func (h help) commands(w io.Writer) {
	if !h.cmd.HasAvailableSubCommands() {
		return
	}
	fmt.Fprintf(w, "\nAvailable Commands:\n")
	for _, c := range h.cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			writeColumns(w, "  "+c.Name(), c.Short, c.NamePadding()+len("   "))
		}
	}
}

// list writes the flags: all of them in groups, or those that matter first.
func (h help) list(w io.Writer) {
	if !h.all {
		fmt.Fprintf(w, "\nFlags:\n")
		for _, f := range h.first() {
			writeFlag(w, f)
		}
		fmt.Fprintf(w, "\n%s --%s lists all %d flags.\n", h.cmd.CommandPath(), helpAllFlag, len(h.flags))
		return
	}
	for _, group := range append(value.Groups(), others) {
		members := slices.DeleteFunc(slices.Clone(h.flags), func(f *pflag.Flag) bool { return value.GroupOf(f) != group })
		if len(members) > 0 {
			fmt.Fprintf(w, "\n%s:\n", cmp.Or(group, "Others"))
		}
		for _, f := range members {
			writeFlag(w, f)
		}
	}
}

// first lists the flags that matter first, in the order of their groups.
func (h help) first() (list []*pflag.Flag) {
	for _, group := range value.Groups() {
		for _, f := range h.flags {
			if value.IsFirst(f) && value.GroupOf(f) == group {
				list = append(list, f)
			}
		}
	}
	return list
}

func writeFlag(w io.Writer, f *pflag.Flag) {
	name, usage := pflag.UnquoteUsage(f)
	left := "      --" + f.Name
	if f.Shorthand != "" {
		left = "  -" + f.Shorthand + ", --" + f.Name
	}
	if name != "" {
		left += " " + name
	}
	writeColumns(w, left, usage+ShownDefault(f), helpUsage)
}

// writeColumns writes a name, and its description beside it from a column on. A long name has a
// line of its own.
func writeColumns(w io.Writer, left, text string, column int) {
	if left != "" && utf8.RuneCountInString(left) > column-2 {
		fmt.Fprintln(w, left)
		left = ""
	}
	for _, line := range page.Wrap(text, page.Width-column) {
		fmt.Fprintf(w, "%-*s%s\n", column, left, line)
		left = ""
	}
}

// ShownDefault is the default in help. A flag whose default is nothing has no text for it; what
// zero means, and a default that depends on something else, is in the description of the flag.
func ShownDefault(f *pflag.Flag) string {
	if slices.Contains([]string{"", "0", "0s", "false", "[]", "<nil>"}, f.DefValue) || strings.Contains(f.Usage, "(default") {
		return ""
	}
	text := f.DefValue
	if v, ok := f.Value.(value.Shower); ok && text == f.Value.String() { // else the command line has set it
		text = v.Shown()
	}
	if f.Value.Type() == "string" {
		text = fmt.Sprintf("%q", text)
	}
	return " (default " + strings.ReplaceAll(text, " ", page.NoBreak) + ")"
}
