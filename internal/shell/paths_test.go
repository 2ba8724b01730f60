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

// status hints at what the session may use.
func TestFolderHint(t *testing.T) {
	s := &Server{}
	c := &session{server: s}
	if got := c.folderHint(); got != "" {
		t.Error(got)
	}
	s.options.Folders = folders{"main": "/src/apm", "old": "/src/old"}
	if got := c.folderHint(); got != ", apm use main" {
		t.Error(got)
	}
	c.own = true
	if got := c.folderHint(); got != ", apm use <folder of a clone>" {
		t.Error(got)
	}
}

// takt's help names the command that lists all flags, as a session writes it.
func TestHelpAll(t *testing.T) {
	const text = "Flags:\n\ntakt kafka produce --help-all lists all 90 flags.\n"
	if got := helpAll.ReplaceAllString(text, "help $1 all lists"); got != "Flags:\n\nhelp kafka produce all lists all 90 flags.\n" {
		t.Error(got)
	}
}
