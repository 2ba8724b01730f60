package stored

import "testing"

func TestProgram(t *testing.T) {
	for name, want := range map[any]string{
		nil: "", "": "", "example.org/mybench": "mybench", "mybench": "mybench", "command-line-arguments": "", "GET /a of the shop": "GET /a of the shop",
	} {
		if got := Program(map[string]any{"name": name}); got != want {
			t.Errorf("%v: %q, want %q", name, got, want)
		}
	}
}
