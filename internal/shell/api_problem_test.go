package shell

import "testing"

// A semicolon in what the user wrote ends no cause.
func TestCauseAndRemedy(t *testing.T) {
	for text, want := range map[string][2]string{
		"no job 1 waits; queue lists them":             {"no job 1 waits", "queue lists them"},
		`leave out "; queue clear all"`:                {`leave out "; queue clear all"`, ""},
		`unknown command "a\"; b"; use one of c; or d`: {`unknown command "a\"; b"`, "use one of c; or d"},
		"it accepts no arguments":                      {"it accepts no arguments", ""},
		`a " alone; b`:                                 {`a " alone; b`, ""},
	} {
		if cause, remedy := causeAndRemedy(text); cause != want[0] || remedy != want[1] {
			t.Errorf("%s: %q, %q", text, cause, remedy)
		}
	}
}
