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

// configCommand is takt config. Each command with settings is also its subcommand, which checks
// the flags as usual, and prints them instead of running.
const (
	configCommand = "config"
	jsonFlag      = "json"
)

// dumpFlag is a predecessor's flag: the command prints its settings and ends.
const dumpFlag = "dumpflags"

// commandFirst changes takt config --json COMMAND to takt config COMMAND --json, because the
// command is found by the leading words of args.
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

// settingRow is a setting as takt config prints it.
type settingRow struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"`           // default, environment, file or flag
	At     string `json:"at,omitempty"`     // --rate, TAKT_RATE or takt.conf:7
	Secret bool   `json:"secret,omitempty"` // Value is redacted
}

// effective returns the settings in effect, in the order of --help: a row for each setting, or
// for each value of a repeatable one.
func (s *settings) effective(flags *pflag.FlagSet) (rows []settingRow) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !isSetting(f) || f.Hidden {
			return
		}
		given := s.of(f)
		if len(given) == 0 { // the command may have set it
			given = []setting{{name: f.Name, value: f.Value.String(), origin: origin{kind: fromDefault}}}
		}
		for _, g := range given {
			rows = append(rows, newRow(f, g))
		}
	})
	return rows
}

// of returns the values of f that apply, as the user wrote them: takt is certain to accept that
// text again.
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

// writeSettings writes a config file. A redacted secret and a default without a value become
// comments: read again, the secret would be wrong, and an empty value is not a default.
func writeSettings(w io.Writer, rows []settingRow) error {
	var b strings.Builder
	for _, r := range rows {
		where := r.Origin
		if r.Origin == fromFile {
			where += " " + strings.ReplaceAll(r.At, "\n", " ") // a path may contain a line break
		}
		switch {
		case r.Secret:
			fmt.Fprintf(&b, "; %s = %s  # %s; a secret, set it again\n", r.Name, r.Value, where)
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
