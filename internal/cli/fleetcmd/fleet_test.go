package fleetcmd

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/fleet"
	"github.com/taktload/takt/pkg/takt"
)

// A fleet has a token wherever users do not keep it apart from others.
func TestTokenFor(t *testing.T) {
	own := fleet.NewToken()
	for _, c := range []struct {
		token fleet.Token
		at    net.IP
		tells bool
		made  bool
		want  string // error
	}{
		{"", net.IPv4(127, 0, 0, 1), true, false, ""},
		{"", net.IPv6loopback, true, false, ""},
		{"", net.IPv4(127, 0, 0, 1), false, false, "needs a token; give the gatherer and its shards the same token, as with: export TAKT_FLEET_TOKEN="},
		{"", net.IPv6unspecified, true, true, ""},
		{"", net.IPv4(192, 0, 2, 1), false, true, ""},
		{own, net.IPv4(127, 0, 0, 1), false, false, ""},
		{own, net.IPv6unspecified, true, false, ""},
	} {
		token, made, err := tokenFor(c.token, &net.TCPAddr{IP: c.at, Port: 8400}, c.tells)
		if made != c.made || (token != "") != (made || c.token != "") || c.token != "" && token != c.token {
			t.Errorf("%v: token %q, made %v", c, token, made)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c, err, c.want)
		}
	}
}

// The advice of a shard is that for a fleet.
func TestShardsAdviseShards(t *testing.T) {
	var p engine.Plan
	new(side).Join(&p, core.Known{})
	r := takt.Report{Words: p.Words}
	r.Warn("a", "lower the rate, or %s", takt.SpreadLoad)
	if r.Warnings[0].Message != "lower the rate, or spread the run over more shards" {
		t.Errorf("%+v", r.Warnings)
	}
}

// A file that others can change is not the secret of a fleet.
func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	for mode, want := range map[fs.FileMode]string{0o600: "", 0o666: "can be changed by others"} {
		if err := errors.Join(os.WriteFile(path, []byte(fleet.NewToken()), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		_, err := (&secret{file: path}).read()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", mode, err, want)
		}
	}
}
