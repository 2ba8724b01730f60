package shell

import (
	"strings"
	"testing"
)

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
		{Options{Addr: defaultAddr, Cert: "c", Permits: Permits{Allow: []string{"/"}}}, "belong together|bad --allow-target: \"/\" is not a machine"},
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
