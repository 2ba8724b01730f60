package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/value"
)

// warnNearMisses warns of variables that look like misspelt settings.
func (e Env) warnNearMisses(known CommandFlags) {
	if e.Environ == nil {
		return
	}
	names := append([]string{value.Variable(ConfigFlag), engine.ShardsVariable}, StoreVariables()...)
	for _, command := range slices.Sorted(maps.Keys(known)) {
		for _, name := range settingNames(known[command]) {
			names = append(names, value.Variable(name))
		}
	}
	for _, text := range value.Misspelt(e.Environ(), names) {
		fmt.Fprintf(e.Stderr, "takt: warning: %s\n", text)
	}
}

// StoreVariables are the environment variables for a cluster's credentials, which should not be
// on a command line.
func StoreVariables() []string {
	return []string{"TAKT_STORE_USER", "TAKT_STORE_PASSWORD", "TAKT_STORE_API_KEY", "TAKT_STORE_CA"}
}
