package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
)

// Another name of a flag means the flag, on the command line and in a config file.
func TestAliases(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "conf")
	if err := os.WriteFile(conf, []byte("producer.config = /no/such/file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"produce", "consume", "e2e"} {
		for _, args := range []string{"--properties /no/such/file", "--producer.config /no/such/file", "--consumer.config=/no/such/file", "--command-config /no/such/file", "--command.config /no/such/file", "--config " + conf} {
			var said strings.Builder
			env := core.Env{Stdout: &said, Stderr: &said, Getenv: func(string) string { return "" }, Interrupt: t.Context()}
			code := Main(env, append([]string{"kafka", command}, strings.Fields(args)...))
			if code != core.ExitUsage || !strings.Contains(said.String(), "cannot read --properties: open /no/such/file") {
				t.Errorf("%s %s: exit code %d, %s", command, args, code, said.String())
			}
		}
	}
	var help strings.Builder
	Main(core.Env{Stdout: &help, Stderr: &help, Getenv: func(string) string { return "" }, Interrupt: t.Context()}, []string{"kafka", "produce", "--help-all"})
	if !strings.Contains(help.String(), "--properties FILE") || strings.Contains(help.String(), "--producer.config FILE") {
		t.Error(help.String())
	}
}

// Every way of writing a flag that is right, and what is said of those that are not.
func TestFlags(t *testing.T) {
	const url = "http://127.0.0.1:1/"
	for args, want := range map[string]string{
		"--rate 5/s":                    "",
		"--rate=5/s":                    "",
		"-q 5/s":                        "",
		"-q5/s":                         "",
		"-q=5/s":                        "",
		"-n 5 -c 5":                     "",
		"-n5 -c5":                       "",
		"-host example.org":             "",
		"-disable-compression":          "",
		"--disable-keepalive=no":        `bad --disable-keepalive: `,
		"-cpus 2":                       "",
		"-rate 5/s":                     "flag -rate is written --rate",
		"-rate=5/s":                     "flag -rate is written --rate",
		"-duration 3":                   "flag -duration is written --duration",
		"--conections 3":                "unknown flag --conections; did you mean --connections?",
		"-conections=3":                 "unknown flag -conections; a long flag is written --conections",
		"--frobnicate-all":              "unknown flag --frobnicate-all; the flags are listed by --help-all",
		"-y":                            "unknown flag -y",
		"--n 5":                         "flag --n is written -n",
		"-dbody":                        "unknown flag -dbody; a long flag is written --dbody, a short one and its value are separate words: -d body",
		"--rate 5/h/s":                  "bad --rate: rate ",
		"--rate -5/s":                   "bad --rate: rate ",
		"--rate 5/s..9/s -n 5":          "--rate 5/s..9/s is a ramp without an end",
		"-z 1x":                         `bad -z: duration "1x"`,
		"-n -1":                         "bad -n: ",
		"-c many":                       "bad -c: ",
		"--stages 5s@":                  "bad --stages: stage 1: ",
		"--start-at tomorrow":           `bad --start-at: not an instant: "tomorrow"; use RFC 3339`,
		"--max-in-flight 0":             "--max-in-flight is 0",
		"--overflow leak":               `bad --overflow: "leak" is unknown; use queue or drop`,
		"--client curl":                 `bad --client: "curl" is unknown; use auto, own or net`,
		"--timeout 0":                   "--timeout and --connect-timeout must be above 0",
		"-o json":                       "",
		"-o report.json":                `unknown format "report.json"`,
		"--assert p99<250":              `assertion "p99<250": "250" cannot be the bound of p99`,
		"--assert tiger<1":              `assertion "tiger<1": unknown metric "tiger"`,
		"--header :x":                   `bad --header: not a header`,
		"--fail-on 404,6xx":             `bad --fail-on: bad status "6xx"`,
		"--stages 1s@5/s -z 5":          "both --stages and --duration are given",
		"--label =x":                    `bad --label: label "=x" has no name`,
		"--body x --body-file /x":       "both -d and -D are given",
		"--rate --strict":               "flag --rate needs a value before --strict; if the value begins with --, write --rate=VALUE",
		"-q --strict":                   "flag -q needs a value before --strict; if the value begins with --, write -q=VALUE",
		"--label --frobnicate":          "flag --label needs a value before --frobnicate;",
		"--rate --":                     "flag --rate needs a value before --;",
		"--label --x=y":                 "flag --label needs a value before --x;",
		"--label --disable-compression": "flag --label needs a value before --disable-compression;",
		"--body=--x":                    "",
		"-d=--x":                        "",
		"--body -":                      "",
		"--body -5":                     "",
		"-a --hunter2":                  "flag -a needs a value before a word with --;",
		"--conections --strict":         "unknown flag --conections; did you mean --connections?",
	} {
		env := core.Env{Stdout: &strings.Builder{}, Stderr: &strings.Builder{}, Getenv: func(string) string { return "" }, Settings: &core.Settings{}}
		root := newRoot(env)
		rest, err := core.ParseFlags(env, root, append(append([]string{"http"}, strings.Fields(args)...), url))
		if err == nil {
			cmd := core.Subcommand(root, "http")
			err = cmd.Args(cmd, rest[2:]) // without http and --
		}
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", args, err)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
			t.Errorf("%s: %v, want %s…", args, err, want)
		case want != "" && strings.Contains(err.Error(), "\n"):
			t.Errorf("%s has two faults: %v", args, err)
		}
	}
}
