package cli

import (
	"testing"

	"github.com/taktload/takt/internal/cli/core"
)

// The words of each demo are a command line of takt.
func TestDemosAreCommands(t *testing.T) {
	s := stage{takt: "takt", meant: []string{"{page}", "p.html", "{takt}", "takt", "{1}", "http://127.0.0.1:1", "{2}", "http://127.0.0.1:2", "{port}", "3"}}
	env := whole(core.Env{Getenv: func(string) string { return "" }})
	for _, d := range demos {
		if _, err := env.Inspect(s.words(d.run)); err != nil {
			t.Errorf("takt demo %s: %v", d.name, err)
		}
	}
}
