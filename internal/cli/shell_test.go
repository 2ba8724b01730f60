package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/shellcmd"
	"github.com/taktload/takt/internal/shell"
	"github.com/taktload/takt/internal/value"
)

// What a config file says is held to the same rules as what is typed: sessions can write
// files.
func TestConfigOfSessions(t *testing.T) {
	dir := t.TempDir()
	confine(t, dir)
	env := core.Env{Getenv: func(string) string { return "" }}
	only := func(host string) bool { return host == "127.0.0.1:1" }
	for text, fault := range map[string]string{
		"rate = 5/s":                               "",
		"body-file = mine":                         "",
		"body-file = /etc/passwd":                  "--body-file /etc/passwd: a session can use only files",
		"[http]\ncacert = ../x":                    "--cacert ../x: a session can use only files",
		"output = json=/tmp/x":                     "--output json=/tmp/x: a session can use only files",
		"body = {{file \"/etc/passwd\"}}":          "--body {{file \"/etc/passwd\"}}: a session can use only files",
		"store = elasticsearch://127.0.0.1:1":      "a session chooses a cluster with elasticsearch use",
		"connect-to = 127.0.0.1:1:10.0.0.1:2":      "10.0.0.1:2 may not be loaded",
		"raet = 5/s":                               "unknown setting raet",
		"[kafka produce]\ndata = /etc/passwd":      "", // of another command
		"[http]\nunix-socket = /run/docker.sock":   "--unix-socket /run/docker.sock: a session can use only files",
		"proxy = http://ann:tigerlily@10.0.0.1:80": "10.0.0.1:80 may not be loaded",
	} {
		for _, name := range []string{"c", "mine"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := ShellHost(env).Plan([]string{"http", "-n", "1", "--config", "c", "http://127.0.0.1:1"}, shell.Rules{Allow: only})
		if fault == "" && err != nil && !strings.Contains(err.Error(), "mine") || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
			t.Errorf("%q: %v, want %q", text, err, fault)
		}
		if err != nil && strings.Contains(err.Error(), "tigerlily") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Properties of Kafka's clients name files and machines of their own, and a sample of sizes is a file.
func TestKafkaOfSessions(t *testing.T) {
	env := core.Env{Getenv: func(string) string { return "" }}
	only := func(host string) bool { return host == "127.0.0.1:1" }
	for words, fault := range map[string]string{
		"--properties mine":                 "a session gives the flags themselves",
		"--producer.config mine":            "a session gives the flags themselves",
		"--message-size file:/etc/passwd":   "--message-size file:/etc/passwd: a session can use only files",
		"--message-size file:../x":          "a session can use only files",
		"--message-size lognormal:300,2KiB": "",
	} {
		line := strings.Fields("kafka produce -n 1 --brokers 127.0.0.1:1 --topic t " + words)
		_, err := ShellHost(env).Plan(line, shell.Rules{Allow: only})
		if (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v, want %q", words, err, fault)
		}
	}
}

// Runs of a group, and filters, name no file outside of the folder of sessions.
func TestGroupsOfSessions(t *testing.T) {
	env := core.Env{Getenv: func(string) string { return "" }}
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
		_, err := ShellHost(env).Plan(strings.Fields(line), shell.Rules{Allow: func(string) bool { return false }})
		if denied := err != nil && strings.Contains(err.Error(), "a session can use only files"); denied != fault || err != nil && !fault {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// A job runs what stands on its standard input, and has the exit code of that.
func TestJob(t *testing.T) {
	for in, want := range map[string]int{`{"args":["version"]}`: core.ExitOK, `{"args":["htpp"]}`: core.ExitUsage, `x`: core.ExitFailed, ``: core.ExitFailed} {
		var out bytes.Buffer
		env := core.Env{Stdin: strings.NewReader(in), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Interrupt: t.Context()}
		confined := ""
		env.Confine = func(dir string, _ func(error)) (func(), error) { confined = dir; return nil, nil }
		env.Restrict = func([]string, func(error)) (func(), error) { return nil, nil }
		if got := Main(env, []string{shellcmd.JobCommand}); got != want {
			t.Errorf("%s: exit code %d, want %d: %s", in, got, want, &out)
		}
		if confined != "." {
			t.Errorf("%s: confined to %q", in, confined)
		}
		env.Confine, env.Stdin = nil, strings.NewReader(in)
		if got := Main(env, []string{shellcmd.JobCommand}); got != core.ExitFailed {
			t.Errorf("%s, in a process that cannot be confined: exit code %d", in, got)
		}
	}
}

// Every flag of the commands that sessions have says what it names.
func TestFlagsOfSessions(t *testing.T) {
	for name, flags := range (core.CommandFlags{}).Collect(newRoot(core.Env{})) {
		flags.VisitAll(func(f *pflag.Flag) {
			if _, ok := f.Value.(value.Flag); !ok && !value.IsNumber(f.Value) {
				t.Errorf("takt %s --%s is a %T, which does not say what it names; declare it with package value", name, f.Name, f.Value)
			}
			if said := strings.Contains(f.Usage, "repeatable"); said != core.IsRepeatable(f) {
				t.Errorf("takt %s --%s is a %T: repeatable is %v, the help says %v", name, f.Name, f.Value, core.IsRepeatable(f), said)
			}
		})
	}
}

// The log of --arrivals like:LOG is a file, which must be in the folder of the session.
func TestArrivalsOfSessions(t *testing.T) {
	env := core.Env{Getenv: func(string) string { return "" }}
	for name, denied := range map[string]bool{"/etc/passwd": true, "../access.log": true, "a/../../access.log": true, "access.log": false, "a:b/access.log": false} {
		_, err := ShellHost(env).Plan(strings.Fields("http --rate 5/s -z 1s --arrivals like:"+name+" http://127.0.0.1:1/"), shell.Rules{})
		if is := err != nil && strings.Contains(err.Error(), "can use only files in the server's folder"); is != denied || !denied && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each server of apm may be named by a flag, too.
func TestServersOfApmInSessions(t *testing.T) {
	env := core.Env{Getenv: func(string) string { return "" }}
	only := func(host string) bool { return host == "127.0.0.1:1" }
	for _, words := range []string{"apm --base-url http://192.0.2.1:1 -n 1", "apm --base-url http://127.0.0.1:1 --base-url http://192.0.2.1:1 -n 1"} {
		_, err := ShellHost(env).Plan(strings.Fields(words), shell.Rules{Allow: only})
		if err == nil || !strings.Contains(err.Error(), "192.0.2.1:1 may not be loaded") {
			t.Errorf("%s: %v", words, err)
		}
	}
	if _, err := ShellHost(env).Plan(strings.Fields("apm --base-url http://127.0.0.1:1 -n 1"), shell.Rules{Allow: only}); err != nil {
		t.Error(err)
	}
}
