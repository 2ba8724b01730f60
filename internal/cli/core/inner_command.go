package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
)

// LoadSettings lets takt config read the load command that another command got after --, and
// returns its settings. A fault begins with "after --".
func (e Env) LoadSettings(command []string) ([]SettingRow, error) {
	var stdout, stderr bytes.Buffer
	e.Stdin, e.Stdout, e.Stderr = strings.NewReader(""), &stdout, &stderr
	if code := e.Main(e, slices.Concat([]string{ConfigCommand, "--" + JSONFlag}, command)); code != ExitOK {
		return nil, fmt.Errorf("after --: %s", strings.TrimPrefix(strings.TrimSpace(stderr.String()), "takt: "))
	}
	var shown struct {
		Settings []SettingRow `json:"settings"`
	}
	err := json.Unmarshal(stdout.Bytes(), &shown) // fails for --help, for example
	if err != nil || !slices.ContainsFunc(shown.Settings, func(s SettingRow) bool { return s.Name == "rate" }) {
		return nil, fmt.Errorf("%q is not a load command; give one such as http, as in -- http http://127.0.0.1:8080/", command[0])
	}
	return shown.Settings, nil
}

// FlagNames are the names of the settings that come from the command line.
func FlagNames(rows []SettingRow) (given []string) {
	for _, s := range rows {
		if s.Origin == FromFlag {
			given = append(given, s.Name)
		}
	}
	return given
}

// LoadFiles are the files that a load command reads and writes, by the types of its flags. rows are
// its settings.
func (e Env) LoadFiles(command []string, rows []SettingRow) (reads, writes []string) {
	cmd, depth := FindCommand(e.Root(e), command)
	for _, row := range rows {
		f := cmd.Flags().Lookup(row.Name)
		if f == nil || row.Origin == fromDefault {
			continue
		}
		r, w := filesOf(f, row.Value)
		reads, writes = append(reads, r...), append(writes, w...)
	}
	p := NewFlagParser(cmd, command[depth:])
	p.Parse()
	if f := cmd.Flags().Lookup(ConfigFlag); f != nil {
		r, _ := filesOf(f, f.Value.String())
		reads = append(reads, r...)
	}
	for i, word := range p.Positional {
		if IsLog(cmd, i, len(p.Positional)) {
			reads = append(reads, strings.Split(word, ",")...)
		}
	}
	for _, found := range fileTemplate.FindAllStringSubmatch(strings.Join(command, "\n"), -1) {
		reads = append(reads, found[1])
	}
	return slices.Compact(reads), writes
}

// fileTemplate matches a placeholder of a text that reads a file.
var fileTemplate = regexp.MustCompile("\\{\\{\\s*file\\s*[\"`]([^\"`]*)[\"`]")

// filesOf are the files that a flag with this value reads and writes.
func filesOf(f *pflag.Flag, text string) (reads, writes []string) {
	v, ok := f.Value.(value.Flag)
	if !ok {
		return nil, nil
	}
	for _, name := range v.Names(text) {
		switch name.Kind {
		case value.Reads:
			reads = append(reads, name.Text)
		case value.Writes:
			writes = append(writes, name.Text)
		}
	}
	return reads, writes
}

// IsLog reports whether the i-th of so many arguments of a command is a log, or several with commas
// between them.
func IsLog(cmd *cobra.Command, i, of int) bool { return cmd.Name() == "replay" && i < of-1 }
