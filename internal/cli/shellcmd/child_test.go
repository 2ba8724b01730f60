package shellcmd

import (
	"io"
	"slices"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/shell"
)

// Neither the arguments nor the environment of a job show its command line, which may
// have secrets.
func TestChildHidesItsCommandLine(t *testing.T) {
	env := core.Env{Executable: func() (string, error) { return "/bin/takt", nil }, Environ: func() []string { return []string{"A=1"} }}
	cmd, err := host{env}.child(shell.Call{Args: []string{"http", "-a", "ann:tigerlily"}, Configs: []string{"aa"}, Reaches: []string{"*"}, Env: []string{"TAKT_STORE=x"}, Dir: "/d", Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(cmd.Args, []string{"takt", JobCommand}) || !slices.Equal(cmd.Env, []string{"A=1", "TAKT_STORE=x"}) || cmd.Dir != "/d" {
		t.Errorf("%q %q %q", cmd.Args, cmd.Env, cmd.Dir)
	}
	said, err := io.ReadAll(cmd.Stdin)
	if string(said) != `{"args":["http","-a","ann:tigerlily"],"owner":true,"configs":["aa"],"reaches":["*"]}` || err != nil {
		t.Errorf("%s, %v", said, err)
	}
}

// A job of somebody who is not the server's own user sees none of its credentials but
// those of the store, and its git looks for no repository above its folder.
func TestChildOfSomebodyElse(t *testing.T) {
	environ := []string{"PATH=/bin", "TAKT_BEARER=tigerlily", "TAKT_CONFIG=/etc/takt.conf", "TAKT_STORE_PASSWORD=storepw", "TAKT_STORE_LIMIT=9", "GITHUB_TOKEN=tigerlily", "XDG_DATA_HOME=/data"}
	env := core.Env{Executable: func() (string, error) { return "/bin/takt", nil }, Environ: func() []string { return environ }}
	cmd, err := host{env}.child(shell.Call{Args: []string{"runs"}, Env: []string{"TAKT_STORE=x"}, Dir: "/data/dumps", Out: io.Discard, Plain: true})
	want := []string{"PATH=/bin", "TAKT_STORE_PASSWORD=storepw", "TAKT_STORE_LIMIT=9", "XDG_DATA_HOME=/data", "GIT_CEILING_DIRECTORIES=/data", "TAKT_STORE=x"}
	if err != nil || !slices.Equal(cmd.Env, want) {
		t.Errorf("%q, %v", cmd.Env, err)
	}
}
