//go:build unix

package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
)

// Settings that start programs, in a file that somebody else can change, are refused; its other settings are not, nor
// those of the command line.
func TestSettingsOfAnotherUser(t *testing.T) {
	const stranger = 65534
	for _, c := range []struct {
		mode      fs.FileMode
		owner     int
		text      string
		args      []string
		variable  bool
		want      string // begins the only fault; "": there is none
		otherwise string // ends it
	}{
		{mode: 0o666, text: "rate = 5/s\nfault = true@1s", want: ":2: fault starts programs, and ", otherwise: " can be changed by others, its mode is 0666; run chmod 600 FILE, or give --fault on the command line"},
		{mode: 0o660, text: "[http]\nfault = true@1s", variable: true, want: ":2: fault starts programs, and ", otherwise: " can be changed by others, its mode is 0660; run chmod 600 FILE, or give --fault on the command line"},
		{mode: 0o600, owner: stranger, text: "git = .", want: ":1: git starts programs, and ", otherwise: " can be changed by the user 65534, to whom it belongs; run chown 0 FILE, or give --git on the command line"},
		{mode: 0o666, text: "rate = 5/s\n[verify]\nrun = true"},
		{mode: 0o666, text: "fault = true@1s", args: []string{"--fault", "false@2s"}},
		{mode: 0o644, text: "fault = true@1s"},
	} {
		if c.owner != 0 && os.Geteuid() != 0 {
			continue // only root can give a file to another user
		}
		path := filepath.Join(t.TempDir(), "takt.conf")
		err := errors.Join(os.WriteFile(path, []byte(c.text), 0o600), os.Chmod(path, c.mode))
		if c.owner != 0 {
			err = errors.Join(err, os.Chown(path, c.owner, -1))
		}
		if err != nil {
			t.Fatal(err)
		}
		args, environ := append([]string{"config", "http", "--config", path}, c.args...), []string(nil)
		if c.variable {
			args, environ = []string{"config", "http"}, []string{"TAKT_CONFIG=" + path}
		}
		code, _, errs := callWith(t, environ, "", append(args, nowhere)...)
		want, head := core.ExitOK, ""
		if c.want != "" {
			want, head = core.ExitUsage, "takt: "+path+c.want+path+strings.ReplaceAll(c.otherwise, "FILE", path)+"\n"
		}
		if code != want || !strings.HasPrefix(errs, head) || c.want == "" && errs != "" {
			t.Errorf("%o %q: exit code %d, %s\nwant %s", c.mode, c.text, code, errs, head)
		}
	}
	for _, setting := range []string{"git = HEAD~1", "build = make", "run = ./server"} {
		path := filepath.Join(t.TempDir(), "takt.conf")
		if err := errors.Join(os.WriteFile(path, []byte("[verify]\n"+setting), 0o600), os.Chmod(path, 0o666)); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := callWith(t, nil, "", "verify", "--config", path); code != core.ExitUsage || !strings.Contains(errs, " starts programs, and "+path+" can be changed by others") {
			t.Errorf("%s: exit code %d, %s", setting, code, errs)
		}
	}
}
