package core

import (
	"errors"
	"testing"
)

func TestUnderHome(t *testing.T) {
	for _, c := range []struct{ data, home, profile, want string }{
		{"/d", "/h", "", "/d/takt/x"},
		{"", "/h", "/p", "/h/.local/share/takt/x"},
		{"relative", "/h", "", "/h/.local/share/takt/x"},
		{"", "", "/p", "/p/.local/share/takt/x"}, // Windows
		{"", "", "", ""},
		{"", "relative", "", ""},
	} {
		variables := map[string]string{"XDG_DATA_HOME": c.data, "HOME": c.home, "USERPROFILE": c.profile}
		got, err := Env{Getenv: func(name string) string { return variables[name] }}.UnderHome(DataHome, "x")
		homeless := (*NoHomeError)(nil)
		if got != c.want || errors.As(err, &homeless) != (c.want == "") {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}
