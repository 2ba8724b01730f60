package value

import (
	"fmt"
	"slices"
	"strings"
)

// prefix is that of takt's variables.
const prefix = "TAKT_"

// Variable is the environment variable of a flag: TAKT_MAX_IN_FLIGHT of max-in-flight.
func Variable(flag string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// InEnvironment is the value of a flag's variable; "": the environment does not set the flag.
func InEnvironment(flag string, getenv func(string) string) (text, variable string) {
	variable = Variable(flag)
	return getenv(variable), variable
}

// Misspelt says which variables look like misspelt ones of known. A TAKT_… variable that is not near any
// of them probably belongs to another program.
func Misspelt(environ, known []string) (warnings []string) {
	for _, v := range environ {
		name, text, _ := strings.Cut(v, "=")
		upper := strings.ReplaceAll(strings.ToUpper(name), "-", "_")
		if text == "" || !strings.HasPrefix(upper, prefix) || slices.Contains(known, name) {
			continue
		}
		far := 2
		if len(upper) <= len(prefix)+5 {
			far = 1 // in short names, two letters are too many: TAKT_HOME is not meant as TAKT_HOST
		}
		if near := Nearest(upper, known, far); near != "" {
			warnings = append(warnings, fmt.Sprintf("%s is not a setting, so takt ignores it; did you mean %s?", name, near))
		}
	}
	return warnings
}
