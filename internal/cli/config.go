package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/pkg/takt"
)

// configCommand is takt config, under which every command with settings stands
// again: its flags are checked as ever, and shown instead of used.
const (
	configCommand = "config"
	jsonFlag      = "json"
)

// dumpFlag is a predecessor's: the command itself shows its settings and ends.
const dumpFlag = "dumpflags"

func newConfig(env Env) *cobra.Command {
	c := &cobra.Command{
		Use:   configCommand + " [--json] COMMAND [flags]",
		Short: "print the settings that a command would run with, as a config file",
		Example: `  takt config http --rate 500/s http://127.0.0.1:8080/ > takt.conf
  takt config --json target --service 1ms`,
	}
	jsonUsage := "as JSON"
	c.Flags().Bool(jsonFlag, false, jsonUsage)
	addLoads(c, env)
	c.AddCommand(newTarget(env), newServer(env))
	for _, sub := range configurables(c) {
		sub.Short = "print the settings of takt " + commandName(sub)
		sub.Long = sub.Short + ", as a config file. Faults are those of the command itself."
		sub.Example = ""                         // those of the command run it
		if sub.Flags().Lookup(jsonFlag) == nil { // takt jms has one, of artemis perf: its settings come as text
			sub.Flags().Bool(jsonFlag, false, jsonUsage)
		}
		sub.RunE = func(cmd *cobra.Command, _ []string) error { return env.printSettings(cmd) }
	}
	c.RunE = func(*cobra.Command, []string) error { return usage(c, []error{missingCommand(c)}) }
	return c
}

// configurables are the commands with settings below c.
func configurables(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		if isConfigurable(sub) {
			all = append(all, sub)
		}
		all = append(all, configurables(sub)...)
	}
	return all
}

func missingCommand(c *cobra.Command) error {
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return fmt.Errorf("no command is given; use one of %s", strings.Join(names, ", "))
}

// commandFirst moves --json behind the command that takt config is asked about,
// which has that flag too: a command is found by the words that args begin with.
func commandFirst(args []string) []string {
	if len(args) < 3 || args[0] != configCommand || args[1] != "--"+jsonFlag {
		return args
	}
	first := []string{configCommand}
	rest := args[2:]
	for len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		first, rest = append(first, rest[0]), rest[1:]
	}
	return append(append(first, args[1]), rest...)
}

func (e Env) printSettings(cmd *cobra.Command) error {
	rows := e.settings.effective(cmd.Flags())
	if f := cmd.Flags().Lookup(jsonFlag); f != nil && f.Changed && !isSetting(f) {
		return writeSettingsJSON(e.Stdout, commandName(cmd), rows)
	}
	return writeSettings(e.Stdout, rows)
}

// settingRow is a setting as it is shown.
type settingRow struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"`           // default, environment, file or flag
	At     string `json:"at,omitempty"`     // --rate, TAKT_RATE or takt.conf:7
	Secret bool   `json:"secret,omitempty"` // the value is not shown
}

// effective are the settings that hold, in the order of --help: a row for each,
// and of a repeatable one for each value.
func (s *settings) effective(flags *pflag.FlagSet) (rows []settingRow) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !isSetting(f) || f.Hidden {
			return
		}
		given := s.of(f)
		if len(given) == 0 { // the command may have filled it in
			given = []setting{{name: f.Name, value: f.Value.String(), origin: origin{kind: fromDefault}}}
		}
		for _, g := range given {
			rows = append(rows, newRow(f, g))
		}
	})
	return rows
}

// of are the values of f that count. They are shown as they were given, which is
// sure to be understood again.
func (s *settings) of(f *pflag.Flag) (list []setting) {
	for _, g := range s.given {
		if g.name == f.Name {
			list = append(list, g)
		}
	}
	if len(list) > 1 && !isRepeatable(f) {
		list = list[len(list)-1:]
	}
	return list
}

func newRow(f *pflag.Flag, s setting) settingRow {
	r := settingRow{Name: s.name, Value: hidePassword(s.value), Origin: s.origin.kind, At: s.origin.at}
	if s.origin.kind != fromDefault && holdsSecret(f) {
		r.Value = takt.Redacted
	}
	r.Secret = r.Value != s.value
	return r
}

// writeSettings writes a config file. A secret and what has no value stand in
// comments: read again, the first would be wrong and the second no value.
func writeSettings(w io.Writer, rows []settingRow) error {
	var b strings.Builder
	for _, r := range rows {
		where := r.Origin
		if r.Origin == fromFile {
			where += " " + strings.ReplaceAll(r.At, "\n", " ") // a path may have anything
		}
		switch {
		case r.Secret:
			fmt.Fprintf(&b, "; %s = %s  # %s; a secret, to be given anew\n", r.Name, r.Value, where)
		case r.Value == "" && r.Origin == fromDefault:
			fmt.Fprintf(&b, "; %s =  # %s\n", r.Name, where)
		default:
			fmt.Fprintf(&b, "%s = %s  # %s\n", r.Name, formatValue(r.Value), where)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeSettingsJSON(w io.Writer, command string, rows []settingRow) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
		Command  string       `json:"command"`
		Settings []settingRow `json:"settings"`
	}{command, rows})
}
