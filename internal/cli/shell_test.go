package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/shell"
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
		"targets = mine":                           "--targets leads to targets that --allow-target",
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

// Every flag that names a file, a folder or another machine is known as one to the
// shell, by what its help calls the value. A new flag that is one belongs in these lists.
func TestFlagsOfSessions(t *testing.T) {
	var files, targets []string
	for name, flags := range (commandFlags{}).collect(newRoot(Env{})) {
		if slices.Contains([]string{"target", "server"}, name) || strings.HasPrefix(name, "config") || strings.HasPrefix(name, "store") {
			continue
		}
		flags.VisitAll(func(f *pflag.Flag) {
			_, ok := pathIn(f, "json=a/b")
			if _, alone := pathIn(f, "a/b"); ok || alone {
				files = append(files, f.Name)
			}
			if kind, _ := pflag.UnquoteUsage(f); targetKind.MatchString(kind) || slices.Contains([]string{"brokers", "targets", "redirects", "unix-socket", "acceptor"}, f.Name) {
				targets = append(targets, f.Name)
			}
		})
	}
	slices.Sort(files)
	slices.Sort(targets)
	wantFiles := "api-key-file auth-file base bearer-file body-file cacert cert config data from git hdr head json key output root sasl-password-file secret-file store targets tls-ca-cert tls-cert-file tls-key-file unix-socket"
	wantTargets := "acceptor base base-url brokers connect-to consumer-url graphite-ip head proxy redirects store targets unix-socket url"
	if got := strings.Join(slices.Compact(files), " "); got != wantFiles {
		t.Errorf("files\n%s\nwant\n%s", got, wantFiles)
	}
	if got := strings.Join(slices.Compact(targets), " "); got != wantTargets {
		t.Errorf("targets\n%s\nwant\n%s", got, wantTargets)
	}
}
