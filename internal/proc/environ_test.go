package proc

import (
	"slices"
	"testing"
)

// Of an environment with secrets only what is known to hold none is left.
func TestPlainEnvironment(t *testing.T) {
	environ := []string{
		"PATH=/bin", "HOME=/root", "LC_ALL=C", "GOCACHE=/c", "EMPTY", "PATHS=/x", "TAKT_BEARER=s", "TAKT_STORE_PASSWORD=s", "AWS_SECRET_ACCESS_KEY=s",
		"GOOGLE_APPLICATION_CREDENTIALS=s", "GITHUB_TOKEN=s", "SSH_AUTH_SOCK=/s", "GOAUTH=s", "LD_PRELOAD=x", "MAKEFLAGS=x", "GIT_DIR=x", "NOTIFY_SOCKET=x",
		"HTTPS_PROXY=http://ann:secret@proxy:1", "https_proxy=http://proxy:1", "GOPROXY=https://ann@proxy,direct", "JAVA_HOME=/j",
	}
	want := []string{"PATH=/bin", "HOME=/root", "LC_ALL=C", "GOCACHE=/c", "https_proxy=http://proxy:1"}
	if got := PlainEnvironment(environ); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	also := []string{"PATH=/bin", "HOME=/root", "LC_ALL=C", "GOCACHE=/c", "HTTPS_PROXY=http://ann:secret@proxy:1", "https_proxy=http://proxy:1", "JAVA_HOME=/j"}
	if got := PlainEnvironment(environ, "JAVA_HOME", "HTTPS_PROXY", "ABSENT"); !slices.Equal(got, also) {
		t.Errorf("%q", got)
	}
}
