package ci_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// settings reads the settings of an example: each NAME: VALUE whose name has this pattern, as the name of
// its variable.
func settings(t *testing.T, path, names string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^ +(`+names+`): (.*)$`).FindAllStringSubmatch(string(b), -1) {
		all["VERIFY_"+strings.ToUpper(strings.TrimPrefix(m[1], "VERIFY_"))] = strings.ReplaceAll(m[2], "'", "")
	}
	return all
}

// The workflow and the job of an example say the same, and so does the page.
func TestExamplesAgree(t *testing.T) {
	page, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"go", "java", "node"} {
		github := settings(t, filepath.Join("examples", language, "github.yml"), "build|run|load|flags")
		gitlab := settings(t, filepath.Join("examples", language, "gitlab-ci.yml"), `VERIFY_\w+`)
		if len(github) < 3 || len(github) != len(gitlab) {
			t.Errorf("%s: GitHub has %q, GitLab %q", language, github, gitlab)
		}
		for name, value := range github {
			if gitlab[name] != value {
				t.Errorf("%s: %s is %q for GitHub, %q for GitLab", language, name, value, gitlab[name])
			}
			if !strings.Contains(string(page), "`"+value+"`") {
				t.Errorf("%s: docs/ci.md has no %s", language, value)
			}
		}
	}
}

// The job of the Go example: takt itself builds and starts the server, and says why it cannot.
func TestExampleGo(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Skipf("needs go: %v", err)
	}
	for _, c := range []struct {
		name, old, new string
		want           string
	}{
		{"no build", "flag.Parse()", "flag.Parse(", "syntax error"},
		{"no start", "flag.Parse()", "panic(`no database`)", "panic: no database"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := newJob(t).gitlab().set(program, "takt", "GOCACHE", strings.TrimSpace(string(cache)))
			for name, value := range settings(t, "examples/go/gitlab-ci.yml", `VERIFY_\w+`) {
				j.set(name, value)
			}
			if err := os.CopyFS(j.dir, os.DirFS("examples/go")); err != nil {
				t.Fatal(err)
			}
			j.git("add", "-A")
			j.git("commit", "-q", "-m", "a server")
			path := filepath.Join(j.dir, "main.go")
			text := j.read(path)
			if !strings.Contains(text, c.old) {
				t.Fatalf("%s has no %s", path, c.old)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(text, c.old, c.new, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			j.git("commit", "-q", "-a", "-m", "Keep sessions")
			o := j.gitlab().script()
			if o.code != 8 || !strings.Contains(o.out, "### takt verify: head does not run\n") || !strings.Contains(o.errs, c.want) {
				t.Errorf("exit code %d\n%s%s", o.code, o.out, o.errs)
			}
			o.erred(t, "head does not run", "head HEAD (")
		})
	}
}
