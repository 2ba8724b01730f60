package core

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taktload/takt/internal/flaghelp"
)

// fewExamples is how many examples --help shows.
const fewExamples = 2

// AddHelpFlags adds --help and --help-all.
func AddHelpFlags(cmd *cobra.Command) { flaghelp.Add(cmd.Flags()) }

// ShowHelp writes the help of a command. It is the help function of the root command.
func ShowHelp(cmd *cobra.Command, _ []string) {
	AddHelpFlags(cmd)
	all, _ := cmd.Flags().GetBool(flaghelp.All)
	h := help{cmd: cmd, flags: flaghelp.Of(cmd.Flags())}
	h.all = all || h.flags.Short()
	h.write(cmd.OutOrStdout())
}

// help is the text of --help, or of --help-all.
type help struct {
	cmd   *cobra.Command
	flags flaghelp.List
	all   bool
}

func (h help) write(w io.Writer) {
	c := h.cmd
	if c.Long != "" {
		fmt.Fprintln(w, c.Long)
	} else {
		flaghelp.Columns(w, "", c.Short, 0)
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
	h.flags.Write(w, c.CommandPath(), h.all)
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
			flaghelp.Columns(w, "  "+c.Name(), c.Short, c.NamePadding()+len("   "))
		}
	}
}
