package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/value"
)

// Variable is the environment variable of a flag: TAKT_MAX_IN_FLIGHT of max-in-flight.
func Variable(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// warnNearMisses warns of variables that look like misspelt settings. A TAKT_… variable that is
// not near any setting probably belongs to another program.
func (e Env) warnNearMisses(known CommandFlags) {
	if e.Environ == nil {
		return
	}
	names := append([]string{Variable(ConfigFlag), engine.ShardsVariable}, StoreVariables()...)
	for _, command := range slices.Sorted(maps.Keys(known)) {
		for _, name := range settingNames(known[command]) {
			names = append(names, Variable(name))
		}
	}
	for _, v := range e.Environ() {
		name, text, _ := strings.Cut(v, "=")
		upper := strings.ReplaceAll(strings.ToUpper(name), "-", "_")
		if text == "" || !strings.HasPrefix(upper, envPrefix) || slices.Contains(names, name) {
			continue
		}
		far := 2
		if len(upper) <= len(envPrefix)+5 {
			far = 1 // in short names, two letters are too many: TAKT_HOME is not meant as TAKT_HOST
		}
		if near := value.Nearest(upper, names, far); near != "" {
			fmt.Fprintf(e.Stderr, "takt: warning: %s is not a setting, so takt ignores it; did you mean %s?\n", name, near)
		}
	}
}

// StoreVariables are the environment variables for a cluster's credentials, which should not be
// on a command line.
func StoreVariables() []string {
	return []string{"TAKT_STORE_USER", "TAKT_STORE_PASSWORD", "TAKT_STORE_API_KEY", "TAKT_STORE_CA"}
}
