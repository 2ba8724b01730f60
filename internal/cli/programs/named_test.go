package programs

import (
	"strings"
	"testing"
)

// The command of takt judge is another load generator, which takt must not start and ask what it is.
func TestJudgedProgramsAreNotAsked(t *testing.T) {
	for line, want := range map[string]string{
		"judge -- ./mine http://h/":                  "",
		"--rate 5/s judge -- ./mine":                 "",
		"capacity --slo x -- ./mine":                 "./mine",
		"verify --pairs 3 --label judge -- ./mine":   "./mine",
		"verify --pairs 3 --label=judge -- ./mine":   "./mine",
		"judge --only stop -- /usr/bin/wrk {{.URL}}": "",
	} {
		if got := strings.Join(named(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
