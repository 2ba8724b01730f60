package value

import (
	"strings"
	"testing"
)

func TestParseHostPort(t *testing.T) {
	for text, want := range map[string]HostPort{
		"127.0.0.1:8400": {"127.0.0.1", "8400"}, "gen0:1": {"gen0", "1"}, ":8400": {"", "8400"}, "[::1]:8400": {"::1", "8400"},
		"[fe80::1%eth0]:65535": {"fe80::1%eth0", "65535"}, "shop.example:https": {"shop.example", "https"},
	} {
		if a, err := ParseHostPort(text); err != nil || a != want || a.String() != text {
			t.Errorf("%s: %+v, %v", text, a, err)
		}
	}
	for text, want := range map[string]string{
		"http://127.0.0.1:8400":              `"http://127.0.0.1:8400" is a URL; write HOST:PORT: 127.0.0.1:8400`,
		"tcp://ann:hunter2@127.0.0.1:8400/x": `"tcp://ann:xxxxx@127.0.0.1:8400/x" is a URL; write HOST:PORT: 127.0.0.1:8400`,
		"http://gen0":                        `"http://gen0" is a URL; write HOST:PORT`,
		"":                                   `"" is not an address with a port; write HOST:PORT, such as`,
		"gen0":                               "is not an address with a port",
		"a:b:c":                              "is not an address with a port",
		"::1":                                "has no brackets around its IPv6 address",
		"gen0:":                              "has a port that is not from 1 to 65535",
		"gen0:0":                             "has a port that is not from 1 to 65535",
		"gen0:99999":                         "has a port that is not from 1 to 65535",
		"gen0:htpp":                          "has a port that is not from 1 to 65535",
		"gen 0:1":                            "has a host that cannot be a name",
		"ann@gen0:1":                         "has a host that cannot be a name",
		"gen0/x:1":                           "has a host that cannot be a name",
	} {
		if a, err := ParseHostPort(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %s", text, a, err, want)
		}
	}
}

// The flag shows what it was given, and keeps its value when it refuses a text.
func TestAddress(t *testing.T) {
	a := HostPort{"127.0.0.1", "8400"}
	f := Address(&a)
	if err := f.Set("gen0"); err == nil || f.String() != "127.0.0.1:8400" {
		t.Errorf("%v, %s", err, f)
	}
	if err := f.Set("gen0:8401"); err != nil || a != (HostPort{"gen0", "8401"}) || f.String() != "gen0:8401" {
		t.Errorf("%v, %s", err, f)
	}
	if names := f.Names("gen0:8401"); len(names) != 1 || names[0] != (Name{Loads, "gen0:8401"}) {
		t.Error(names)
	}
}
