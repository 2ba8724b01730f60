package fleetcmd_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/fleet/manifest"
	"github.com/taktload/takt/internal/test/clitest"
)

func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return clitest.Call(t.Context(), cli.Main, append([]string{"fleet", "manifest"}, args...)...)
}

// write writes files into a new folder, which is the current one until the end of the test.
func write(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		if err := os.WriteFile(name, []byte("127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.0\" 200 5\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The command after -- is checked as the gatherer would, with every fault, and nothing is printed.
func TestManifestChecksTheCommand(t *testing.T) {
	write(t, "body.json", "access.log", "takt.conf")
	if err := os.WriteFile("takt.conf", []byte("rate = 5/s\nduration = 1s\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command string
		want    []string
	}{
		{"", []string{"takt fleet needs a command after --"}},
		{"version", []string{`"version" makes no run`}},
		{"http --rate 5/s -z 1s", []string{"after --: no url is given"}},
		{"http --rate x -z 1s --nosuch http://a/", []string{"after --: bad --rate", "after --: unknown flag --nosuch"}},
		{"http --rate 5/s -z 1s --shard 1/2 http://a/", []string{"after --: --shard is given"}},
		{"http -n 5 http://a/", []string{"such as --deadline 1h"}},
		{"capacity --slo p95<1s -- http http://a/", []string{"such as --deadline 1h"}},
		{"http --rate 5/s -z 1s --body-file body.json http://a/", []string{`reads "body.json", and no container has this file`}},
		{`http --rate 5/s -z 1s --body-template --body {{file"body.json"}} http://a/`, []string{`reads "body.json"`}},
		{"http --config takt.conf http://a/", []string{`reads "takt.conf"`}},
		{"http --rate 5/s -z 1s --bearer-file body.json http://a/", []string{`reads "body.json"`}},
		{"http --rate 5/s -z 1s -o json=r.json http://a/", []string{`would write "r.json"`}},
	} {
		code, out, errs := call(t, slices.Concat([]string{"kubernetes", "--shards", "2", "--"}, strings.Fields(c.command))...)
		for _, want := range c.want {
			if code != core.ExitUsage || out != "" || !strings.Contains(errs, want) {
				t.Errorf("-- %s: exit code %d, want %q:\n%s%s", c.command, code, want, out, errs)
			}
		}
		if got := strings.Count(errs, "takt: "); got != len(c.want) {
			t.Errorf("-- %s: %d faults, want %d:\n%s", c.command, got, len(c.want), errs)
		}
	}
}

// The files of a command may be in a ConfigMap; each is named in the text once.
func TestManifestOfFiles(t *testing.T) {
	write(t, "body.json", "access.log")
	code, out, errs := call(t, "kubernetes", "--shards", "2", "--config-map", "files", "--", "http", "--rate", "5/s", "-z", "1s", "--body-file", "body.json", "http://a/")
	if code != 0 || errs != "" || strings.Count(out, "--from-file=body.json") != 1 || !strings.Contains(out, "workingDir: /files") {
		t.Errorf("exit code %d: %s%s", code, errs, out)
	}
	code, out, errs = call(t, "kubernetes", "--shards", "2", "--deadline", "1h", "--volume-claim", "logs", "--", "replay", "access.log", "http://a/")
	if code != 0 || errs != "" || !strings.Contains(out, "claimName: logs") {
		t.Errorf("exit code %d: %s%s", code, errs, out)
	}
	if code, _, errs = call(t, "kubernetes", "--shards", "2", "--deadline", "1h", "--", "replay", "access.log", "http://a/"); code != core.ExitUsage || !strings.Contains(errs, `reads "access.log"`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// What the text shows and what no machine but this one reaches are named.
func TestManifestWarns(t *testing.T) {
	code, out, errs := call(t, "kubernetes", "--shards", "2", "--", "http", "--rate", "5/s", "-z", "1s", "--bearer", "hush", "http://localhost:8080/")
	if code != 0 || !strings.Contains(out, "- hush\n") || strings.Contains(errs, "hush") || strings.Count(errs, "warning") != 2 ||
		!strings.Contains(errs, "set TAKT_BEARER for the gatherer") || !strings.Contains(errs, "http://localhost is the machine") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// Settings of the process that prints the text are not those of the processes that it starts.
func TestManifestIgnoresItsEnvironment(t *testing.T) {
	env := core.Env{Stdin: strings.NewReader(""), Interrupt: t.Context(), Getenv: func(name string) string {
		return map[string]string{"TAKT_RATE": "5/s", "TAKT_DURATION": "1s", "TAKT_SHARDS": "3"}[name]
	}}
	var out, errs strings.Builder
	env.Stdout, env.Stderr = &out, &errs
	code := cli.Main(env, []string{"fleet", "manifest", "kubernetes", "--", "http", "http://a/"})
	if code != core.ExitUsage || strings.Contains(errs.String(), "--shards") || !strings.Contains(errs.String(), "--deadline 1h") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

// Each text has a token of its own, if it has one at all.
func TestManifestHasAFreshToken(t *testing.T) {
	token := regexp.MustCompile(`TAKT_FLEET_TOKEN: "?([0-9a-zA-Z_-]{32,})"?\n`)
	seen := map[string]bool{}
	for range 2 {
		_, out, _ := call(t, "kubernetes", "--shards", "2", "--", "http", "--rate", "5/s", "-z", "1s", "http://a/")
		found := token.FindStringSubmatch(out)
		if found == nil || seen[found[1]] {
			t.Fatalf("no token, or an old one: %q", found)
		}
		seen[found[1]] = true
	}
	_, out, _ := call(t, "kubernetes", "--shards", "2", "--secret", "mine", "--", "http", "--rate", "5/s", "-z", "1s", "http://a/")
	if strings.Contains(out, "kind: Secret") || !strings.Contains(out, "name: mine") {
		t.Error(out)
	}
}

// Each engine is a command.
func TestEngines(t *testing.T) {
	_, help, _ := call(t, "--help")
	for _, engine := range manifest.Engines() {
		if !strings.Contains(help, "\n  "+engine.Name) {
			t.Errorf("the help has no line for %s:\n%s", engine.Name, help)
		}
		if code, out, _ := call(t, engine.Name, "--help"); code != 0 || !strings.Contains(out, "--shards") {
			t.Errorf("%s --help: exit code %d\n%s", engine.Name, code, out)
		}
	}
	if code, _, errs := call(t, "kubernets"); code != core.ExitUsage || !strings.Contains(errs, "did you mean takt fleet manifest kubernetes?") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
