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

// Settings that start programs, write files or open doors, in a file that somebody else can change, are refused; its
// other settings are not, nor those of the command line. Those who are only in the file's group may start no programs.
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
		{mode: 0o666, text: "output = json=r.json", want: ":1: output names a file that takt writes, and ", otherwise: " can be changed by others, its mode is 0666; run chmod 600 FILE, or give --output on the command line"},
		{mode: 0o600, owner: stranger, text: "export = openmetrics=a.prom", want: ":1: export names a file that takt writes, and ", otherwise: " can be changed by the user 65534, to whom it belongs; run chown 0 FILE, or give --export on the command line"},
		{mode: 0o666, text: "export = openmetrics=127.0.0.1:0", variable: true, want: ":1: only you may set export, and ", otherwise: " can be changed by others, its mode is 0666; run chmod 600 FILE, or give --export on the command line"},
		{mode: 0o660, text: "output = json=r.json\nexport = openmetrics=127.0.0.1:0"},
		{mode: 0o666, text: "output = json\nstore = opensearch://127.0.0.1:1"},
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
	for _, c := range []struct {
		command, setting string
		mode             fs.FileMode
		what             string
	}{
		{"verify", "git = HEAD~1", 0o660, "git starts programs"},
		{"verify", "build = make", 0o660, "build starts programs"},
		{"verify", "run = ./server", 0o660, "run starts programs"},
		{"server", "apm-folder = main=/src", 0o660, "apm-folder starts programs"},
		{"shard", "program = ./mine", 0o660, "program starts programs"},
		{"shard", "fleet = 192.0.2.1:8400", 0o666, "only you may set fleet"},
		{"fleet", "fleet-token-file = token", 0o666, "only you may set fleet-token-file"},
		{"server", "audit-log = log", 0o666, "audit-log names a file that takt writes"},
		{"server", "allow-target = *", 0o666, "only you may set allow-target"},
		{"server", "sandbox = off", 0o666, "only you may set sandbox"},
		{"server", "insecure", 0o666, "only you may set insecure"},
		{"ui", "token-file = tokens", 0o666, "only you may set token-file"},
	} {
		path := filepath.Join(t.TempDir(), "takt.conf")
		if err := errors.Join(os.WriteFile(path, []byte("["+c.command+"]\n"+c.setting), 0o600), os.Chmod(path, c.mode)); err != nil {
			t.Fatal(err)
		}
		code, _, errs := callWith(t, nil, "", c.command, "--config", path, "surplus") // an argument too many: nothing begins
		if code != core.ExitUsage || !strings.Contains(errs, path+":2: "+c.what+", and "+path+" can be changed by others") {
			t.Errorf("%s: %s: exit code %d, %s", c.command, c.setting, code, errs)
		}
	}
}
