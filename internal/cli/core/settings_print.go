package core

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// ConfigCommand is takt config. Each command with settings is also its subcommand, which checks
// the flags as usual, and prints them instead of running.
const (
	ConfigCommand = "config"
	JSONFlag      = "json"
)

// DumpFlag is a predecessor's flag: the command prints its settings and ends.
const DumpFlag = "dumpflags"

// commandFirst changes takt config --json COMMAND to takt config COMMAND --json, because the
// command is found by the leading words of args.
func commandFirst(args []string) []string {
	if len(args) < 3 || args[0] != ConfigCommand || args[1] != "--"+JSONFlag {
		return args
	}
	first := []string{ConfigCommand}
	rest := args[2:]
	for len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		first, rest = append(first, rest[0]), rest[1:]
	}
	return append(append(first, args[1]), rest...)
}

// PrintSettings writes the settings in effect as a config file, or with --json as JSON.
func (e Env) PrintSettings(cmd *cobra.Command) error {
	rows := e.Settings.effective(cmd.Flags())
	if f := cmd.Flags().Lookup(JSONFlag); f != nil && f.Changed && !IsSetting(f) {
		return writeSettingsJSON(e.Stdout, CommandName(cmd), rows)
	}
	return writeSettings(e.Stdout, rows)
}

// SettingRow is a setting as takt config prints it.
type SettingRow struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"`           // default, environment, file or flag
	At     string `json:"at,omitempty"`     // --rate, TAKT_RATE or takt.conf:7
	From   string `json:"from,omitempty"`   // variables that the value auto became Value by, such as SLURM_PROCID=1
	Secret bool   `json:"secret,omitempty"` // Value is redacted
}

// effective returns the settings in effect, sorted by name: a row for each setting, or for each
// value of a repeatable one.
func (s *Settings) effective(flags *pflag.FlagSet) (rows []SettingRow) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !IsSetting(f) || f.Hidden {
			return
		}
		given := s.of(f)
		if len(given) == 0 { // the command may have set it
			given = []Setting{{Name: f.Name, Value: f.Value.String(), Origin: Origin{Kind: fromDefault}}}
		}
		for _, g := range given {
			rows = append(rows, resolved(f, newRow(f, g)))
		}
	})
	slices.SortStableFunc(rows, func(a, b SettingRow) int { return cmp.Compare(a.Name, b.Name) })
	return rows
}

// of returns the values of f that apply, as the user wrote them: takt is certain to accept that
// text again.
func (s *Settings) of(f *pflag.Flag) (list []Setting) {
	for _, g := range s.Given {
		if g.Name == f.Name {
			list = append(list, g)
		}
	}
	if len(list) > 1 && !IsRepeatable(f) {
		list = list[len(list)-1:]
	}
	return list
}

func newRow(f *pflag.Flag, s Setting) SettingRow {
	r := SettingRow{Name: s.Name, Value: value.HidePassword(s.Value), Origin: s.Origin.Kind, At: s.Origin.at}
	if s.Origin.Kind != fromDefault && HoldsSecret(f) {
		r.Value = takt.Redacted
	}
	r.Secret = r.Value != s.Value
	return r
}

// resolved is the row of a flag that took its value from variables of another program, such as
// --shard auto: with that value and those variables.
func resolved(f *pflag.Flag, r SettingRow) SettingRow {
	if v, ok := f.Value.(value.Resolver); ok {
		if text, from := v.Resolved(); from != "" {
			r.Value, r.From = text, from
		}
	}
	return r
}

// writeSettings writes a config file. A redacted secret and a default without a value become
// comments: read again, the secret would be wrong, and an empty value is not a default.
func writeSettings(w io.Writer, rows []SettingRow) error {
	var b strings.Builder
	for _, r := range rows {
		where := r.Origin
		if r.Origin == FromFile {
			where += " " + r.At
		}
		if r.From != "" {
			where += ", auto by " + r.From
		}
		where = strings.ReplaceAll(where, "\n", " ") // a path may contain a line break
		switch {
		case r.Secret:
			fmt.Fprintf(&b, "; %s = %s  # %s; a secret, set it again\n", r.Name, r.Value, where)
		case r.Value == "" && r.Origin == fromDefault:
			fmt.Fprintf(&b, "; %s =  # %s\n", r.Name, where)
		default:
			fmt.Fprintf(&b, "%s = %s  # %s\n", r.Name, FormatValue(r.Value), where)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeSettingsJSON(w io.Writer, command string, rows []SettingRow) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
		Command  string       `json:"command"`
		Settings []SettingRow `json:"settings"`
	}{command, rows})
}
