package sandbox

import (
	"slices"
	"testing"
)

// Variables that name folders outside do not come in, and git reads no settings that a program has
// left in the home.
func TestEnviron(t *testing.T) {
	got := environ([]string{"PATH=/bin", "HOME=/root", "GOPATH=/root/go", "SSH_AUTH_SOCK=/s", "XDG_CACHE_HOME=/c", "LANG=C", "HOMES=1"})
	want := []string{"PATH=/bin", "LANG=C", "HOMES=1", "HOME=/home/sandbox", "USER=sandbox", "LOGNAME=sandbox", "GIT_CONFIG_GLOBAL=/dev/null"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Without a sandbox, nothing is confined and nothing fails.
func TestNil(t *testing.T) {
	var s *Sandbox
	if err := s.Confine(nil, Folder{}); err != nil {
		t.Error(err)
	}
	if s.Guard("", nil) != nil || s.Close() != nil {
		t.Error("a sandbox that is not there does something")
	}
}
