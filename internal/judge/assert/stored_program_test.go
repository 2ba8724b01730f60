package assert_test

import "testing"

import "github.com/taktload/takt/internal/judge/stored"

func TestProgram(t *testing.T) {
	for name, want := range map[any]string{
		nil: "", "": "", "example.org/mybench": "mybench", "mybench": "mybench", "command-line-arguments": "", "GET /a of the shop": "GET /a of the shop",
	} {
		if got := stored.Program(map[string]any{"name": name}); got != want {
			t.Errorf("%v: %q, want %q", name, got, want)
		}
	}
}
