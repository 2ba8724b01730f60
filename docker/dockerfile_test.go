package docker

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// stages are the instructions of a Dockerfile by stage, each in one line.
func stages(t *testing.T, path string) (all [][]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(string(text), "")
	for line := range strings.Lines(strings.ReplaceAll(whole, "\\\n", " ")) {
		line = strings.Join(strings.Fields(line), " ")
		switch {
		case line == "":
		case strings.HasPrefix(line, "FROM "):
			all = append(all, []string{line})
		default:
			all[len(all)-1] = append(all[len(all)-1], line)
		}
	}
	return all
}

// The image is built from a clone: what the first stage copies is in the repository, what
// the last one copies the first has made, or Go's image has.
func TestImageIsBuiltFromAClone(t *testing.T) {
	all := stages(t, "Dockerfile")
	if len(all) != 2 || all[1][0] != "FROM scratch" {
		t.Fatalf("%q", all)
	}
	for _, line := range all[0] {
		words := strings.Fields(line)
		if words[0] != "COPY" {
			continue
		}
		for _, path := range words[1 : len(words)-1] {
			if out, err := exec.Command("git", "ls-files", "--error-unmatch", filepath.Join("..", path)).CombinedOutput(); err != nil && inRepository(t) {
				t.Errorf("%s is not in the repository: %s", path, out)
			}
		}
	}
	makes := strings.Join(all[0], "\n")
	for _, line := range all[1] {
		words := strings.Fields(line)
		if words[0] != "COPY" {
			continue
		}
		from := words[len(words)-2]
		if !slices.Contains(words, "--from=build") || !strings.HasPrefix(from, "/etc/") && !strings.Contains(makes, from) {
			t.Errorf("%s: nothing makes %s", line, from)
		}
	}
	for _, want := range []string{"USER 10001:10001", "ENV HOME=/data XDG_DATA_HOME=/data", "VOLUME /data", "WORKDIR /data", "EXPOSE 8234", `ENTRYPOINT ["/takt"]`} {
		if !slices.Contains(all[1], want) {
			t.Errorf("there is no %s", want)
		}
	}
}

// The labels of the image, which registries show: each has a value, and what depends on the commit
// comes from an argument that make docker sets.
func TestLabels(t *testing.T) {
	all := stages(t, "Dockerfile")
	got := labels(all[len(all)-1])
	rules, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"title": "takt", "description": "load generator that measures from the instant at which an operation was due",
		"source": "https://github.com/taktload/takt", "licenses": "Apache-2.0",
		"version": "$VERSION", "revision": "$REVISION", "created": "$CREATED",
	} {
		if got[name] != want {
			t.Errorf("org.opencontainers.image.%s is %q, want %q", name, got[name], want)
		}
		argument, isOne := strings.CutPrefix(want, "$")
		if isOne && (!slices.ContainsFunc(all[len(all)-1], func(line string) bool { return strings.HasPrefix(line, "ARG "+argument+"=") }) || !strings.Contains(string(rules), "--build-arg "+argument+"=")) {
			t.Errorf("nothing sets the argument %s", argument)
		}
	}
	if len(got) != 7 {
		t.Errorf("%d labels: %v", len(got), got)
	}
}

// labels are the labels of OCI of a stage.
func labels(stage []string) map[string]string {
	all := map[string]string{}
	for _, line := range stage {
		if !strings.HasPrefix(line, "LABEL ") {
			continue
		}
		for _, found := range regexp.MustCompile(`org\.opencontainers\.image\.([a-z]+)="([^"]*)"`).FindAllStringSubmatch(line, -1) {
			all[found[1]] = found[2]
		}
	}
	return all
}

// inRepository reports whether this is a clone, and no tarball.
func inRepository(t *testing.T) bool {
	t.Helper()
	err := exec.Command("git", "rev-parse", "HEAD").Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return err == nil
}

// What is left out of the build is in no commit: else the version would say -dirty.
func TestIgnored(t *testing.T) {
	text, err := os.ReadFile("../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(text)) {
		if out, err := exec.Command("git", "ls-files", "../"+name).Output(); err == nil && len(out) > 0 {
			t.Errorf("%s is in the repository: %s", name, out)
		}
	}
}

// Go's image is of the version that go.mod asks for.
func TestGoOfTheImages(t *testing.T) {
	module, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	for _, path := range []string{"Dockerfile", "apm-server/Dockerfile"} {
		if from := stages(t, path)[0][0]; from != "FROM golang:"+string(version[1])+"-bookworm AS build" {
			t.Errorf("%s: %s", path, from)
		}
	}
}

// make docker takes the last stage as it stands, from files that this machine has made:
// it copies nothing of another stage.
func TestLastStageAlone(t *testing.T) {
	rules, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	filter := regexp.MustCompile(`(?m)^\tsed (.*) docker/Dockerfile \| docker build .* -f - bin/image$`).FindSubmatch(rules)
	if filter == nil {
		t.Fatal("make docker does not filter the Dockerfile")
	}
	out, err := exec.Command("sh", "-c", "sed "+strings.ReplaceAll(string(filter[1]), "$$", "$")+" Dockerfile").CombinedOutput()
	if err != nil {
		t.Fatal(err, string(out))
	}
	path := filepath.Join(t.TempDir(), "Dockerfile")
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
	last, all := stages(t, path), stages(t, "Dockerfile")
	want := strings.ReplaceAll(strings.Join(all[1], "\n"), "--from=build ", "")
	if len(last) != 1 || strings.Join(last[0], "\n") != want {
		t.Errorf("%q\nwant\n%s", last, want)
	}
	for line := range strings.Lines(want) {
		words := strings.Fields(line)
		if from := words[len(words)-2:]; words[0] == "COPY" && !strings.Contains(string(rules), "bin/image"+filepath.Dir(from[0])) {
			t.Errorf("make docker makes no bin/image%s", from[0])
		}
	}
}
