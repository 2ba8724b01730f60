package shell

import "testing"

// Users with a token see names instead of paths; the owner's own sessions see paths.
func TestSeen(t *testing.T) {
	s := &Server{options: Options{DumpDir: "/srv/dumps", StateDir: "/srv/state", Store: "/srv/dumps2/takt.db"}}
	s.options.Folders = folders{"main": "/src/apm", "old": "/src/apm/old"}
	c := &session{server: s}
	for text, want := range map[string]string{
		"":                                         "",
		"/src/apm is at 1234":                      "main is at 1234",
		"open /src/apm/x: no":                      "open main/x: no",
		"/src/apm/old is not a git clone":          "old is not a git clone",
		"/src/apm-server /x/src/apm /src/apm.":     "/src/apm-server /x/src/apm main.",
		"open /srv/dumps/a/b: no such file":        "open a/b: no such file",
		"--config=/srv/dumps/a, --out=/srv/dumps":  "--config=a, --out=(the folder of files)",
		"/srv/state/jobs.json /srv/dumps2/takt.db": "(the server's state)/jobs.json (the server's store)",
	} {
		if got := c.seen(text); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	c.own = true
	if got := c.seen("/src/apm"); got != "/src/apm" {
		t.Error(got)
	}
}
