package reach

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/permanent"
)

func TestHas(t *testing.T) {
	list, err := Parse([]string{"example.com", "other.com:81", "10.0.0.0/8", "::1", "[::2]", "fd00::/8"})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{
		"example.com": true, "Example.com:8080": true, "sub.example.com": false, "other.com:81": true, "other.com:82": false, "other.com": false,
		"10.1.2.3": true, "10.1.2.3:80": true, "11.1.2.3": false, "::1": true, "[::1]:80": true, "[::2]:80": true, "[::2]": true, "::2": true, "[::3]": false, "[fd00::2]:1": true, "::ffff:10.0.0.1": true, "": false,
	} {
		if list.Has(target) != want {
			t.Errorf("%s: %v", target, !want)
		}
	}
	for _, bad := range []string{"", "http://h/", "*.com", "a b", "10.0.0.0/99"} {
		if _, err := Parse([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// A confined process connects only to the machines of its list and to those of its owner, and tells of
// each other one.
func TestConfine(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here, port := l.Addr().String(), strings.TrimPrefix(l.Addr().String(), "127.0.0.1")
	dialled := func(address string) error {
		c, err := Dial(context.Background(), "tcp", address)
		if err == nil {
			c.Close()
		}
		return err
	}
	if err := dialled("localhost" + port); err != nil || IsConfined() {
		t.Error(err)
	}
	var told []string
	free, err := Confine([]string{here}, func(err error) { told = append(told, err.Error()) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
	if _, err := Confine(Everywhere(), nil); err != nil || !IsConfined() {
		t.Errorf("a second list: %v", err)
	}
	if _, err := Confine([]string{"10.0.0.1"}, nil); err == nil {
		t.Error("the process was confined again")
	}
	if err := dialled(here); err != nil {
		t.Error(err)
	}
	for _, address := range []string{"localhost" + port, "[::ffff:127.0.0.1]" + port, "127.0.0.2" + port, port, "127.0.0.1:1", ""} {
		err := dialled(address)
		var op *net.OpError
		if refused := (*Refused)(nil); !errors.As(err, &refused) || !errors.As(err, &op) || !permanent.Is(err) || refused.Machine != address {
			t.Errorf("%s: %v", address, err)
		}
	}
	if len(told) != 6 || told[0] != "localhost"+port+" may not be loaded; the server allows what --allow-target lists" {
		t.Errorf("%q", told)
	}
	if err := Check("unix", here); err == nil {
		t.Error("a path is a machine")
	}
	Trust("http://localhost" + port + "/x")
	if err := dialled("localhost" + port); err != nil {
		t.Error(err)
	}
	if err := Check("tcp", "localhost:1"); err == nil {
		t.Error("trusted is one port")
	}
}

// What connects without this package is refused to a confined process, which tells of it.
func TestBypassed(t *testing.T) {
	if err := Bypassed("--contrast"); err != nil {
		t.Error(err)
	}
	var told error
	free, err := Confine([]string{"10.0.0.1"}, func(err error) { told = err })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
	if err := Bypassed("--contrast"); err == nil || told != err {
		t.Errorf("%v, told %v", err, told)
	}
}
