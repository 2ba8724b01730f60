package shell

import (
	"strings"
	"testing"
)

func TestAllow(t *testing.T) {
	list, err := parseTargets([]string{"example.com", "other.com:81", "10.0.0.0/8", "::1", "fd00::/8"})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{
		"example.com": true, "Example.com:8080": true, "sub.example.com": false, "other.com:81": true, "other.com:82": false, "other.com": false,
		"10.1.2.3": true, "10.1.2.3:80": true, "11.1.2.3": false, "::1": true, "[::1]:80": true, "[fd00::2]:1": true, "::ffff:10.0.0.1": true, "": false,
	} {
		if list.allows(target) != want {
			t.Errorf("%s: %v", target, !want)
		}
	}
	for _, bad := range []string{"", "http://h/", "*.com", "a b", "10.0.0.0/99"} {
		if _, err := parseTargets([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		o      Options
		faults string
	}{
		{Options{Addr: defaultAddr}, ""},
		{Options{Addr: "localhost:0"}, ""},
		{Options{Addr: "[::1]:1"}, ""},
		{Options{Addr: "none", Unix: "/x"}, ""},
		{Options{Addr: "none"}, "leaves nothing"},
		{Options{Addr: "8234"}, "bad --addr"},
		{Options{Addr: ":8234"}, "give --token-file|without TLS"},
		{Options{Addr: "0.0.0.0:1", TokenFile: "t"}, "without TLS"},
		{Options{Addr: "0.0.0.0:1", TokenFile: "t", Insecure: true}, ""},
		{Options{Addr: "0.0.0.0:1", Insecure: true}, "give --token-file"},
		{Options{Addr: "0.0.0.0:1", TokenFile: "t", Cert: "c", Key: "k"}, ""},
		{Options{Addr: defaultAddr, HTTP: "127.0.0.1:0"}, ""},
		{Options{Addr: "none", HTTP: "127.0.0.1:0"}, ""},
		{Options{Addr: defaultAddr, HTTP: "8235"}, "bad --http"},
		{Options{Addr: defaultAddr, HTTP: "0.0.0.0:1"}, "--http 0.0.0.0:1 can be reached|without TLS"},
		{Options{Addr: defaultAddr, HTTP: "0.0.0.0:1", TokenFile: "t"}, "without TLS"},
		{Options{Addr: defaultAddr, HTTP: "0.0.0.0:1", TokenFile: "t", Insecure: true}, ""},
		{Options{Addr: defaultAddr, Cert: "c", Permits: Permits{Allow: []string{"/"}}}, "belong together|bad --allow-target"},
	} {
		faults := c.o.Validate()
		var want []string
		if c.faults != "" {
			want = strings.Split(c.faults, "|")
		}
		if len(faults) != len(want) {
			t.Errorf("%+v: %v", c.o, faults)
			continue
		}
		for i, f := range faults {
			if !strings.Contains(f.Error(), want[i]) {
				t.Errorf("%+v: %v, want %s", c.o, f, want[i])
			}
		}
	}
}
