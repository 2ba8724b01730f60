package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// envName is the variable of a flag: max-in-flight is TAKT_MAX_IN_FLIGHT.
func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// warnNearMisses says which variables look like settings and are none. A far-off
// TAKT_… belongs to something else.
func (e Env) warnNearMisses(known commandFlags) {
	if e.Environ == nil {
		return
	}
	names := append([]string{envName(configFlag)}, storeVariables()...)
	for _, command := range slices.Sorted(maps.Keys(known)) {
		for _, name := range settingNames(known[command]) {
			names = append(names, envName(name))
		}
	}
	for _, v := range e.Environ() {
		name, value, _ := strings.Cut(v, "=")
		upper := strings.ReplaceAll(strings.ToUpper(name), "-", "_")
		if value == "" || !strings.HasPrefix(upper, envPrefix) || slices.Contains(names, name) {
			continue
		}
		far := 2
		if len(upper) <= len(envPrefix)+5 {
			far = 1 // TAKT_HOME is no TAKT_HOST
		}
		if near := nearest(upper, names, far); near != "" {
			fmt.Fprintf(e.Stderr, "takt: warning: %s is no setting and not read; did you mean %s?\n", name, near)
		}
	}
}
