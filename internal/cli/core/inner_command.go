package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/taktload/takt/pkg/takt"
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

// WholeLoad refuses a shard that the environment or a configuration file sets: each run would then be a
// part of its rate.
func WholeLoad(rows []SettingRow) error {
	for _, r := range rows {
		if elsewhere := r.Origin == FromEnvironment || r.Origin == FromFile; elsewhere && r.Name == "shard" && r.Value != takt.WholeShard {
			return fmt.Errorf("shard is %s by %s, so each run would be a part of its rate; leave it out", r.Value, r.At)
		}
	}
	return nil
}
