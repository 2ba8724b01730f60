// Package flaghelp writes the flags of a command for --help and --help-all.
package flaghelp

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/value"
)

// others is the group of flags that were declared in no group.
const others value.Group = ""

// All shows all flags of a command with many.
const All = "help-all"

const (
	few    = 15 // a command with so many flags shows all of them in --help
	column = 24 // of the descriptions
)

// Add adds --help and --help-all.
func Add(fs *pflag.FlagSet) {
	if fs.Lookup(All) != nil {
		return
	}
	value.Declare(fs, value.GroupGeneral, func(fs *pflag.FlagSet) {
		fs.BoolP("help", "h", false, "show the flags that matter first")
		fs.Bool(All, false, "show all flags, in groups")
	})
}

// List is the flags of a command that are not hidden, in the order of their declaration.
type List []*pflag.Flag

// Of are the flags of fs.
func Of(fs *pflag.FlagSet) (list List) {
	fs.SortFlags = false
	fs.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			list = append(list, f)
		}
	})
	return list
}

// Short reports whether --help shows all flags.
func (l List) Short() bool { return len(l) <= few || len(l.first()) == 0 }

// Write writes the flags: all of them in groups, or those that matter first. command has --help-all.
func (l List) Write(w io.Writer, command string, all bool) {
	if !all {
		fmt.Fprintf(w, "\nFlags:\n")
		for _, f := range l.first() {
			writeFlag(w, f)
		}
		fmt.Fprintf(w, "\n%s --%s lists all %d flags.\n", command, All, len(l))
		return
	}
	for _, group := range append(value.Groups(), others) {
		members := slices.DeleteFunc(slices.Clone(l), func(f *pflag.Flag) bool { return value.GroupOf(f) != group })
		if len(members) > 0 {
			fmt.Fprintf(w, "\n%s:\n", cmp.Or(group, "Others"))
		}
		for _, f := range members {
			writeFlag(w, f)
		}
	}
}

// first lists the flags that matter first, in the order of their groups.
func (l List) first() (list []*pflag.Flag) {
	for _, group := range value.Groups() {
		for _, f := range l {
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
	Columns(w, left, usage+Default(f), column)
}

// Columns writes a name, and its description beside it from a column on. A long name has a
// line of its own.
func Columns(w io.Writer, left, text string, column int) {
	if left != "" && utf8.RuneCountInString(left) > column-2 {
		fmt.Fprintln(w, left)
		left = ""
	}
	for _, line := range page.Wrap(text, page.Width-column) {
		fmt.Fprintf(w, "%-*s%s\n", column, left, line)
		left = ""
	}
}

// Default is the default in help. A flag whose default is nothing has no text for it; what
// zero means, and a default that depends on something else, is in the description of the flag.
func Default(f *pflag.Flag) string {
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
