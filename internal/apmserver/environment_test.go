package apmserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/process"
)

// make, git's hooks and the program of a clone were written by others: none of them sees
// a secret of this process, whatever its name. What is named besides they see.
func TestNoSecretsForOthers(t *testing.T) {
	for _, name := range []string{"TAKT_BEARER", "TAKT_STORE_PASSWORD", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "LD_LIBRARY_PATH"} {
		t.Setenv(name, "tigerlily")
	}
	t.Setenv("BUILD_NUMBER", "4711")
	t.Setenv("JAVA_HOME", "/opt/java")
	clone := newClone(t)
	for name, text := range map[string]string{
		"Makefile":                 "apm-server:\n\tenv\n",
		"apm-server":               "#!/bin/sh\nenv\nexit 1\n",
		".git/hooks/post-checkout": "#!/bin/sh\nenv >&2\n",
	} {
		if err := os.WriteFile(filepath.Join(clone, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	shell(t, `git -C "$1" update-index --assume-unchanged Makefile; touch -d 2000-01-01 "$1/apm-server"; printf '.PHONY: apm-server\n' >>"$1/Makefile"`, clone)
	c, err := NewCheckout(clone, nil, "JAVA_HOME")
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if _, err := c.Switch(t.Context(), Switch{Branch: "main", Checkout: true, Make: true, Verbose: true}, &said); err != nil {
		t.Fatal(err, said.String())
	}
	log := process.NewLog()
	if _, err := c.Start(t.Context(), Options{Log: log, Patience: time.Minute, Flags: []string{"-E", "apm-server.secret_token=mine"}}); err == nil {
		t.Error("a program that ends was started")
	}
	process.Print(&said, log.Tail(1000, ""), false)
	if text := said.String(); strings.Count(text, "\nPATH=") != 3 || strings.Count(text, "JAVA_HOME=/opt/java\n") != 3 || !strings.Contains(text, "TAKT_SECRET_1=mine\n") {
		t.Errorf("some of the three did not show their environment:\n%s", text)
	}
	for _, secret := range []string{"tigerlily", "4711"} {
		if strings.Contains(said.String(), secret) {
			t.Errorf("%s is seen:\n%s", secret, said.String())
		}
	}
}

// What is not a repository is given to no git: it might be an option of git's, or a program.
func TestRepositories(t *testing.T) {
	for repository, good := range map[string]bool{
		"":                                     true,
		"https://github.com/axw/apm-server":    true,
		"ssh://git@example.com:2222/a/b.git":   true,
		"git@example.com:a/b.git":              true,
		"file:///srv/apm-server.git":           true,
		"/srv/apm-server.git":                  true,
		"--upload-pack=touch /tmp/pwned":       false,
		"-u":                                   false,
		"ext::sh -c id":                        false,
		"ssh://-oProxyCommand=id/x":            false,
		"relative/path":                        false,
		"https://example.com/a --upload-pack=": false,
	} {
		if _, err := NewDocker(Location{Repository: repository}, ""); (err == nil) != good {
			t.Errorf("%s: %v", repository, err)
		}
	}
}

// The folder of a Dockerfile is sent to the engine, so a file that is none is refused.
func TestDockerfiles(t *testing.T) {
	dir := t.TempDir()
	for text, good := range map[string]bool{
		"FROM scratch\n": true,
		"# syntax=docker/dockerfile:1\nARG go\n  from golang:${go} AS build\n": true,
		"root:x:0:0:root:/root:/bin/bash\n":                                    false,
		"":                                                                     false,
	} {
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := NewDocker(Location{Dockerfile: path}, ""); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := NewDocker(Location{Dockerfile: "/etc/passwd"}, ""); err == nil || !strings.Contains(err.Error(), "/etc/passwd is not a Dockerfile") {
		t.Error(err)
	}
}
