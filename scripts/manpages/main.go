// Command manpages writes a man page for every command of takt into a folder:
// go run ./scripts/manpages FOLDER [VERSION]. The generator of cobra would add two modules to takt.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/flaghelp"
	"github.com/taktload/takt/internal/value"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manpages:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return errors.New("give the folder, and the version")
	}
	version := "takt"
	if len(args) == 2 {
		version += " " + args[1]
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return err
	}
	for name, text := range pages(root(), version) {
		if err := os.WriteFile(filepath.Join(args[0], name+".1"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// root is the tree of commands of a process without variables: a page does not depend on who
// writes it.
func root() *cobra.Command {
	return cli.Root(core.Env{Stdout: os.Stdout, Stderr: os.Stderr, Stdin: strings.NewReader(""), Getenv: func(string) string { return "" }})
}

// pages are the pages of a command and of the commands below it, by name.
func pages(c *cobra.Command, version string) map[string]string {
	all := map[string]string{nameOf(c): page(c, version)}
	for _, sub := range c.Commands() {
		if !shown(sub) {
			continue
		}
		for name, text := range pages(sub, version) {
			all[name] = text
		}
	}
	return all
}

// shown reports whether a command has a page. help is what --help prints.
func shown(c *cobra.Command) bool { return !c.Hidden && c.Name() != "help" }

func nameOf(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page has no date: the same source results in the same page.
func page(c *cobra.Command, version string) string {
	var m manual
	m.line(`.TH "%s" 1 "" "%s" "takt"`, strings.ToUpper(nameOf(c)), version)
	m.section("NAME")
	m.line(`%s \- %s`, text(nameOf(c)), text(c.Short))
	m.section("SYNOPSIS")
	m.line(`\fB%s\fR`, text(c.UseLine()))
	if c.Long != "" {
		m.section("DESCRIPTION")
		m.verbatim(c.Long)
	}
	m.commands(c)
	m.options(c)
	if c.Example != "" {
		m.section("EXAMPLES")
		m.verbatim(c.Example)
	}
	m.environment(c)
	m.section("EXIT STATUS")
	for _, e := range exits {
		m.line(".TP\n%s\n%s", e[0], text(e[1]))
	}
	m.seeAlso(c)
	return m.String()
}

// exits is docs/exit-codes.md in short.
var exits = [][2]string{
	{"0", "success"},
	{"1", "the run could not be made, nothing succeeded, or a report could not be written"},
	{"2", "a flag, a setting or an argument is wrong"},
	{"3", "an assertion failed, --abort-on ended the run, or no rate met the SLO"},
	{"4", "takt verify: head is worse than base"},
	{"5", "takt verify or takt capacity: not enough data to decide"},
	{"6", "a judgement was asked for, but a run is invalid"},
	{"129, 130, 131, 143", "stopped by SIGHUP, SIGINT, SIGQUIT or SIGTERM"},
}

// manual is a page in the language of man(7).
type manual struct{ strings.Builder }

func (m *manual) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }
func (m *manual) section(title string)            { m.line(".SH %s", title) }

// verbatim keeps the lines of a text, as --help does.
func (m *manual) verbatim(s string) {
	m.line(".nf")
	for line := range strings.SplitSeq(s, "\n") {
		m.line("%s", text(line))
	}
	m.line(".fi")
}

func (m *manual) commands(c *cobra.Command) {
	begun := false
	for _, sub := range c.Commands() {
		if !shown(sub) {
			continue
		}
		if !begun {
			m.section("COMMANDS")
			begun = true
		}
		m.line(".TP\n\\fB%s\\fR\n%s", text(sub.Name()), text(sub.Short))
	}
}

func (m *manual) options(c *cobra.Command) {
	core.AddHelpFlags(c)
	m.section("OPTIONS")
	for _, group := range value.Groups() {
		begun := false
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || value.GroupOf(f) != group {
				return
			}
			if !begun {
				m.line(".SS %s", text(string(group)))
				begun = true
			}
			m.option(f)
		})
	}
}

func (m *manual) option(f *pflag.Flag) {
	word, usage := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if word != "" {
		word = ` \fI` + text(word) + `\fR`
	}
	m.line(".TP\n\\fB%s\\fR%s\n%s", text(name), word, text(usage+flaghelp.Default(f)))
}

func (m *manual) environment(c *cobra.Command) {
	if core.IsConfigurable(c) {
		m.section("ENVIRONMENT")
		m.line("%s", text("Every option that takt config prints is also a variable: --rate is TAKT_RATE. An option of the command line comes before a variable, and a variable before the file of --config."))
	}
}

func (m *manual) seeAlso(c *cobra.Command) {
	var others []string
	if c.HasParent() {
		others = append(others, nameOf(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if shown(sub) {
			others = append(others, nameOf(sub))
		}
	}
	m.section("SEE ALSO")
	for i, name := range others {
		comma := ","
		if i == len(others)-1 {
			comma = ""
		}
		m.line(`.BR %s (1)%s`, text(name), comma)
	}
}

// text is s without a meaning for roff, which takes a point or an apostrophe at the start of a line
// for a request, and a hyphen for one that may become another character.
func text(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	var ascii strings.Builder // not every roff reads UTF-8
	for _, c := range s {
		if c < utf8.RuneSelf {
			ascii.WriteRune(c)
		} else {
			fmt.Fprintf(&ascii, `\[u%04X]`, c)
		}
	}
	return ascii.String()
}
