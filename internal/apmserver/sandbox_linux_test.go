package apmserver

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/process"
	"github.com/taktload/takt/internal/sandbox"
)

// A checkout in a sandbox is fetched, checked out, made, started, loaded and measured as without
// one.
func TestSandboxed(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	clone := newClone(t)
	o := sandbox.Options{Program: program, Home: filepath.Join(t.TempDir(), "homes"), See: []string{binaries}} // make copies the server from there
	box, err := sandbox.New(o)
	if err != nil {
		t.Skip("this machine has no sandbox: ", err)
	}
	defer box.Close()
	c, err := NewCheckout(clone, box)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(binaries, 0o755); err != nil { // as root: programs in a sandbox are other users
		t.Fatal(err)
	}
	bare, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	remote := httptest.NewServer(http.FileServer(http.Dir(bare)))
	defer remote.Close()
	shell(t, `git -C "$1" update-server-info; git -C "$2" remote set-url origin "$3"`, bare, clone, remote.URL)
	shell(t, `printf '#!/bin/sh\ntouch hooked\n' >"$1/.git/hooks/post-checkout"; chmod +x "$1/.git/hooks/post-checkout"`, clone)
	r, err := c.Switch(t.Context(), Switch{Branch: "origin/other", Fetch: true, Checkout: true, MakeUpdate: true, Make: true, Verbose: true}, t.Output())
	if err != nil || r.Branch != "other" || r.Hash == "" || r.Unstaged {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(clone, "hooked")); err != nil {
		t.Error("a hook of the owner did not run:", err)
	}
	log := process.NewLog()
	server, err := c.Start(t.Context(), Options{Log: log, Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	report, err := post(20)(t.Context(), server.URLs...)
	if err != nil || report.Counts.OK != 20 {
		t.Errorf("%+v, %v", report, err)
	}
	if name, err := os.ReadFile("/proc/" + strconv.Itoa(server.pid) + "/comm"); err != nil || strings.TrimSpace(string(name)) != "apm-server" {
		t.Errorf("takt measures the process %s, %v", name, err)
	}
	if u := process.Watch(server.pid).Usage(); u.MaxRSS == 0 {
		t.Error("the memory is unknown")
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	<-server.Done()
}
