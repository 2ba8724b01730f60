package core

import (
	"bytes"
	"errors"
	"testing"
)

// An error may quote a server or a host of another: on the terminal it is one line that does nothing.
func TestErrorsQuoteOthers(t *testing.T) {
	said := errors.Join(errors.New("shard 1/2 (\x1b]0;owned\a\u009b2J\u202egnp) was lost"), errors.New("takt: \rfake"))
	const shown = "shard 1/2 (·]0;owned··2J·gnp) was lost; takt:  fake\n"
	for name, err := range map[string]error{"plain": said, "with a code": ExitWith(ExitFailed, said)} {
		var out bytes.Buffer
		if code := (Env{Stderr: &out}).Exit(err); code != ExitFailed || out.String() != "takt: "+shown {
			t.Errorf("%s: exit code %d, %q", name, code, out.String())
		}
	}
	var out bytes.Buffer
	if code := (Env{Stderr: &out}).Exit(&UsageError{"takt http", []error{said}}); code != ExitUsage || out.String() != "takt: "+shown+"see 'takt http --help'\n" {
		t.Errorf("usage: exit code %d, %q", code, out.String())
	}
}
