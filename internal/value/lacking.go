package value

import (
	"fmt"
	"strings"
)

// IsFlag reports whether a word of a command line cannot be the value of the flag before it, because it
// is a flag itself. Negative numbers and - are values.
func IsFlag(word string) bool { return strings.HasPrefix(word, "--") }

// Lacking is the fault of a flag, as the user wrote it, that another flag follows in place of its value.
func Lacking(flag, next string) error {
	return fmt.Errorf("flag %s needs a value before %s; if the value begins with --, write %s=VALUE", flag, next, flag)
}
