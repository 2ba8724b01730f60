package cli

import (
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
)

// A line without a command means http if it has a URL; others stay as they are.
func TestMeant(t *testing.T) {
	root := newRoot(core.Env{})
	for line, want := range map[string]string{
		"":                                   "",
		"http://h/":                          "http http://h/",
		"https://h/ -n 5":                    "http https://h/ -n 5",
		"h:8080 -n 5":                        "http h:8080 -n 5",
		"localhost/a -n 5":                   "http localhost/a -n 5",
		"-n 5 127.0.0.1:80/a?b":              "http -n 5 127.0.0.1:80/a?b",
		"[::1]:80":                           "http [::1]:80",
		"example.com":                        "example.com",
		"access.log":                         "access.log",
		"-n 5 -c 2 http://h/":                "http -n 5 -c 2 http://h/",
		"--rate 5/s http http://h/":          "--rate 5/s http http://h/",
		"http http://h/":                     "http http://h/",
		"replya log http://h/":               "replya log http://h/",
		"--version":                          "version",
		"-V --json":                          "version --json",
		"-version":                           "version",
		"-v":                                 "-v",
		"-server --addr none":                "server --addr none",
		"--server http://h/":                 "server http://h/",
		"-n 5":                               "-n 5",
		"--help":                             "--help",
		"help http":                          "help http",
		"capacity --slo x -- http http://h/": "capacity --slo x -- http http://h/",
	} {
		if got := strings.Join(core.Meant(root, strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// Without the --, the flags of the load are read as those of verify: the fault is the missing --, not what
// they mean there.
func TestVerifyWithoutDashes(t *testing.T) {
	words := strings.Fields("verify --git HEAD~1..HEAD --build true --run true http -n 100 http://127.0.0.1:1/")
	var said strings.Builder
	env := core.Env{Stdout: &said, Stderr: &said, Getenv: func(string) string { return "" }, Interrupt: t.Context()}
	if code := Main(env, words); code != core.ExitUsage || !strings.Contains(said.String(), `write -- before "http"`) {
		t.Errorf("exit code %d: %s", code, said.String())
	}
}
