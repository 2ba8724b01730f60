package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/shell"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// Neither the arguments nor the environment of a job show its command line, which may
// have secrets.
func TestChildHidesItsCommandLine(t *testing.T) {
	env := Env{Executable: func() (string, error) { return "/bin/takt", nil }, Environ: func() []string { return []string{"A=1"} }}
	cmd, err := env.child(shell.Call{Args: []string{"http", "-a", "ann:tigerlily"}, Env: []string{"TAKT_STORE=x"}, Dir: "/d", Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(cmd.Args, []string{"takt", jobCommand}) || !slices.Equal(cmd.Env, []string{"A=1", "TAKT_STORE=x"}) || cmd.Dir != "/d" {
		t.Errorf("%q %q %q", cmd.Args, cmd.Env, cmd.Dir)
	}
	said, err := io.ReadAll(cmd.Stdin)
	if string(said) != `["http","-a","ann:tigerlily"]` || err != nil {
		t.Errorf("%s, %v", said, err)
	}
}

// A job of somebody who is not the server's own user sees none of its credentials but
// those of the store, and its git looks for no repository above its folder.
func TestChildOfSomebodyElse(t *testing.T) {
	environ := []string{"PATH=/bin", "TAKT_BEARER=tigerlily", "TAKT_CONFIG=/etc/takt.conf", "TAKT_STORE_PASSWORD=storepw", "GITHUB_TOKEN=tigerlily", "XDG_DATA_HOME=/data"}
	env := Env{Executable: func() (string, error) { return "/bin/takt", nil }, Environ: func() []string { return environ }}
	cmd, err := env.child(shell.Call{Args: []string{"runs"}, Env: []string{"TAKT_STORE=x"}, Dir: "/data/dumps", Out: io.Discard, Plain: true})
	want := []string{"PATH=/bin", "TAKT_STORE_PASSWORD=storepw", "XDG_DATA_HOME=/data", "GIT_CEILING_DIRECTORIES=/data", "TAKT_STORE=x"}
	if err != nil || !slices.Equal(cmd.Env, want) {
		t.Errorf("%q, %v", cmd.Env, err)
	}
}

// What a config file says is held to the same rules as what is typed: sessions can write
// files.
func TestConfigOfSessions(t *testing.T) {
	dir := t.TempDir()
	env := Env{Getenv: func(string) string { return "" }}
	only := func(host string) bool { return host == "127.0.0.1:1" }
	for text, fault := range map[string]string{
		"rate = 5/s":                               "",
		"body-file = mine":                         "",
		"body-file = /etc/passwd":                  "--body-file /etc/passwd: sessions have files below",
		"[http]\ncacert = ../x":                    "--cacert ../x: sessions have files below",
		"output = json=/tmp/x":                     "--output json=/tmp/x: sessions have files below",
		"body = {{file \"/etc/passwd\"}}":          "reads a file of the server's",
		"store = elasticsearch://127.0.0.1:1":      "a session chooses a cluster with elasticsearch use",
		"connect-to = 127.0.0.1:1:10.0.0.1:2":      "10.0.0.1 may not be loaded",
		"targets = mine":                           "--targets leads to targets that the server cannot check",
		"raet = 5/s":                               "unknown setting raet",
		"[kafka produce]\ndata = /etc/passwd":      "", // of another command
		"[http]\nunix-socket = /run/docker.sock":   "--unix-socket /run/docker.sock: sessions have files below",
		"proxy = http://ann:tigerlily@10.0.0.1:80": "10.0.0.1 may not be loaded",
	} {
		for _, name := range []string{"c", "mine"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := env.planCall([]string{"http", "-n", "1", "--config", "c", "http://127.0.0.1:1"}, shell.Rules{Dir: dir, Allow: only})
		if fault == "" && err != nil && !strings.Contains(err.Error(), "mine") || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
			t.Errorf("%q: %v, want %q", text, err, fault)
		}
		if err != nil && strings.Contains(err.Error(), "tigerlily") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Runs of a group, and filters, name no file outside of the folder of sessions.
func TestGroupsOfSessions(t *testing.T) {
	env := Env{Getenv: func(string) string { return "" }}
	for line, fault := range map[string]bool{
		"compare version=1.2 version=1.3,path=/api/v1": false,
		"compare a.json,b.json @-1":                    false,
		"verify --base version=1.2 --head branch=x":    false,
		"runs path=/api":                               false,
		"compare x,../y @-1":                           true,
		"compare version=1,/etc/passwd @-1":            true,
		"compare version=1,../../y @-1":                true,
		"compare a=/../../y @-1":                       true,
		"verify --base a=/../../y --head @-1":          true,
		"verify --base /etc/passwd --head @-1":         true,
	} {
		_, err := env.planCall(strings.Fields(line), shell.Rules{Dir: "/data/dumps", Allow: func(string) bool { return false }})
		if denied := err != nil && strings.Contains(err.Error(), "sessions have files below"); denied != fault || err != nil && !fault {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// A job runs what stands on its standard input, and has the exit code of that.
func TestJob(t *testing.T) {
	for in, want := range map[string]int{`["version"]`: exitOK, `["htpp"]`: exitUsage, `x`: exitFailed, ``: exitFailed} {
		var out bytes.Buffer
		env := Env{Stdin: strings.NewReader(in), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Interrupt: t.Context()}
		if got := Main(env, []string{jobCommand}); got != want {
			t.Errorf("%s: exit code %d, want %d: %s", in, got, want, &out)
		}
	}
}

// Every flag of the commands that sessions have says what it names.
func TestFlagsOfSessions(t *testing.T) {
	for name, flags := range (commandFlags{}).collect(newRoot(Env{})) {
		flags.VisitAll(func(f *pflag.Flag) {
			if _, ok := f.Value.(value.Flag); !ok && !value.IsNumber(f.Value) {
				t.Errorf("takt %s --%s is a %T, which does not say what it names; declare it with package value", name, f.Name, f.Value)
			}
			if said := strings.Contains(f.Usage, "repeatable"); said != isRepeatable(f) {
				t.Errorf("takt %s --%s is a %T: repeatable is %v, the help says %v", name, f.Name, f.Value, isRepeatable(f), said)
			}
		})
	}
}

// A protocol that nobody has thought of yet: what its flags may name in a session follows
// from their types.
func TestSessionsAreHeldByTypes(t *testing.T) {
	var text, other string
	var texts []string
	var number int
	var wait time.Duration
	var password takt.Secret
	declare := map[string]func(fs *pflag.FlagSet){
		"text":         func(fs *pflag.FlagSet) { fs.Var(value.Text(&text), "xx", "") },
		"infile":       func(fs *pflag.FlagSet) { fs.Var(value.InFile(&text), "xx", "") },
		"outfile":      func(fs *pflag.FlagSet) { fs.Var(value.OutFile(&text), "xx", "") },
		"target":       func(fs *pflag.FlagSet) { fs.Var(value.Target(&text), "xx", "") },
		"target or":    func(fs *pflag.FlagSet) { fs.Var(value.TargetOr(&text, "redis://evil:1"), "xx", "") },
		"target file":  func(fs *pflag.FlagSet) { fs.Var(value.TargetFile(&text), "xx", "") },
		"targets":      func(fs *pflag.FlagSet) { fs.Var(value.Targets(&texts), "xx", "") },
		"listen":       func(fs *pflag.FlagSet) { fs.Var(value.Listen(&text), "xx", "") },
		"lookup":       func(fs *pflag.FlagSet) { fs.Var(value.Lookup(&text, "give --y"), "xx", "") },
		"store":        func(fs *pflag.FlagSet) { fs.Var(value.Store(&text), "xx", "") },
		"list":         func(fs *pflag.FlagSet) { fs.Var(value.List(&texts), "xx", "") },
		"outputs":      func(fs *pflag.FlagSet) { fs.Var(value.Outputs(&texts), "xx", "") },
		"runs":         func(fs *pflag.FlagSet) { fs.Var(value.Runs(&texts), "xx", "") },
		"sides":        func(fs *pflag.FlagSet) { fs.Var(value.Sides(&texts, isFilterText), "xx", "") },
		"redirects":    func(fs *pflag.FlagSet) { fs.Var(value.Redirects(&number), "xx", "") },
		"duration":     func(fs *pflag.FlagSet) { fs.Var(value.Duration(&wait), "xx", "") },
		"secret":       func(fs *pflag.FlagSet) { fs.Var(value.Secret(&password), "xx", "") },
		"number":       func(fs *pflag.FlagSet) { fs.IntVar(&number, "xx", 0, "") },
		"pflag's text": func(fs *pflag.FlagSet) { fs.StringVar(&other, "xx", "", "") },
	}
	const (
		outside  = "have files below the server's folder"
		noFiles  = "the role look writes no files"
		evil     = "may not be loaded"
		anywhere = "cannot check"
	)
	for _, c := range []struct{ kind, given, want, runs string }{ // want: of the refusal; "": none
		{"text", "/etc/passwd", "", "/etc/passwd"}, {"list", "/etc/passwd", "", "/etc/passwd"},
		{"infile", "/etc/passwd", outside, ""}, {"infile", "../x", outside, ""}, {"infile", "a/b", "", "/s/a/b"}, {"infile", "-", "", "-"},
		{"outfile", "a", noFiles, ""}, {"outputs", "json=a", noFiles, ""}, {"outputs", "json=/a", outside, ""}, {"outputs", "json=-", "", "json=-"}, {"outputs", "json", "", "json"},
		{"store", "a.db", noFiles, ""}, {"store", "http://good", "elasticsearch use", ""},
		{"target", "http://evil/x", evil, ""}, {"target", "good:1,evil:1", evil, ""}, {"target", "good:1", "", "good:1"}, {"target", "", "", ""},
		{"target or", "", evil, ""}, {"target or", "good:1", "", "good:1"},
		{"targets", "http://evil", evil, ""}, {"targets", "http://good", "", "http://good"},
		{"target file", "a", anywhere, ""}, {"target file", "/a", outside, ""}, {"target file", "-", anywhere, ""},
		{"redirects", "1", anywhere, ""}, {"redirects", "0", "", "0"},
		{"lookup", "a", "give --y", ""}, {"listen", "127.0.0.1:1", "opens no ports", ""},
		{"runs", "@-1", "", "@-1"}, {"runs", "../a.json", outside, ""}, {"runs", "a.json", "", "/s/a.json"},
		{"sides", "branch=main", "", "branch=main"}, {"sides", "p99<1.5", "", "p99<1.5"}, {"sides", "x=/../../a", outside, ""}, {"sides", "http://evil", evil, ""}, {"sides", "a.json", "", "/s/a.json"},
		{"duration", "1s", "", "1s"}, {"secret", "tiger", "", "tiger"}, {"number", "3", "", "3"},
		{"pflag's text", "a", "does not know which files and machines it names", ""},
	} {
		texts, text = nil, ""
		cmd := &cobra.Command{Use: "redis"}
		(&cobra.Command{Use: "takt"}).AddCommand(cmd)
		addFlags(cmd, declare[c.kind])
		words := []string{"redis", "--xx", c.given}
		if c.given == "" {
			words = words[:1]
		}
		k := &confined{
			rules: shell.Rules{Dir: "/s", Look: true, Allow: func(host string) bool { return strings.HasPrefix(host, "good") }},
			cmd:   cmd, words: words, args: slices.Clone(words), shown: slices.Clone(words),
		}
		k.flags(1)
		err := errors.Join(k.faults...)
		switch {
		case c.want == "" && (err != nil || c.given != "" && k.args[2] != c.runs):
			t.Errorf("%s %q: %v, runs %q; want %q", c.kind, c.given, err, k.args, c.runs)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s %q: %v; want %s", c.kind, c.given, err, c.want)
		}
		if shown := strings.Join(k.shown, " "); c.kind == "secret" && strings.Contains(shown, "tiger") {
			t.Errorf("a secret is shown: %s", shown)
		}
	}
}

// Each server of apm may be named by a flag, too.
func TestServersOfApmInSessions(t *testing.T) {
	env := Env{Getenv: func(string) string { return "" }}
	only := func(host string) bool { return host == "127.0.0.1:1" }
	for _, words := range []string{"apm --base-url http://192.0.2.1:1 -n 1", "apm --base-url http://127.0.0.1:1 --base-url http://192.0.2.1:1 -n 1"} {
		_, err := env.planCall(strings.Fields(words), shell.Rules{Dir: t.TempDir(), Allow: only})
		if err == nil || !strings.Contains(err.Error(), "192.0.2.1 may not be loaded") {
			t.Errorf("%s: %v", words, err)
		}
	}
	if _, err := env.planCall(strings.Fields("apm --base-url http://127.0.0.1:1 -n 1"), shell.Rules{Dir: t.TempDir(), Allow: only}); err != nil {
		t.Error(err)
	}
}
