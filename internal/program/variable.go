package program

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// DefaultWorkers is the number of workers of a closed loop without --connections.
const DefaultWorkers = 10

// Variable is the name of a flag in the report, where "name" is what was measured.
func Variable(flag string) string {
	if flag == "name" {
		return "flag_name"
	}
	return flag
}

// Value is what the report has for a flag with this text. Numbers and truth values have their types;
// durations and others are texts. The passwords of URLs are hidden.
func (f Flag) Value(text string) any {
	if v, ok := f.typed(text); ok {
		return v
	}
	return value.HidePassword(text)
}

// typed is the value of a number or truth value that JSON can have.
func (f Flag) typed(text string) (v any, ok bool) {
	var err error
	switch {
	case f.Bool:
		v, err = strconv.ParseBool(text)
	case f.Type == "int", f.Type == "int64":
		v, err = strconv.ParseInt(text, 0, 64)
	case f.Type == "uint", f.Type == "uint64":
		v, err = strconv.ParseUint(text, 0, 64)
	case f.Type == "float64":
		var x float64
		x, err = strconv.ParseFloat(text, 64)
		return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
	default:
		return nil, false
	}
	return v, err == nil
}

// Misuse is an error whose cause are the arguments or flags of a program.
type Misuse struct{ Err error }

// Error implements error.
func (m *Misuse) Error() string { return m.Err.Error() }

// Unwrap returns the cause.
func (m *Misuse) Unwrap() error { return m.Err }

// DescribeArgs adds the arguments of a program to the variables of its report. The first one is where the target is, in
// which the sides of a comparison may differ.
func DescribeArgs(v map[string]any, args []string) {
	for i, arg := range args {
		u, err := url.Parse(arg)
		switch {
		case i > 0:
			v[fmt.Sprintf("arg_%d", i+1)] = value.HidePassword(arg)
		case err == nil && u.Host != "":
			v["scheme"], v["host"], v["path"] = u.Scheme, u.Host, u.Path
		default:
			v["host"] = value.HidePassword(arg)
		}
	}
}

// Command is a command line of the program as its report has it: without the values of secret flags and the passwords of URLs.
func Command(words []string) []string {
	shown := make([]string, len(words))
	secret := false // the word is the value of a secret flag
	for i, w := range words {
		shown[i] = value.HidePassword(w)
		flag, _, joined := strings.Cut(w, "=")
		named := strings.HasPrefix(w, "--") && Secret(flag)
		switch {
		case secret:
			shown[i] = takt.Redacted
		case named && joined:
			shown[i] = flag + "=" + takt.Redacted
		}
		secret = named && !joined && !secret
	}
	return shown
}
