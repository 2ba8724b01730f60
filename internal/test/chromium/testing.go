package chromium

import (
	"os"
	"testing"
)

// ForTest starts the browser that TAKT_CHROMIUM names, for one test, with further flags. Without that variable the test is
// skipped.
func ForTest(t testing.TB, flags ...string) *Browser {
	t.Helper()
	program := os.Getenv("TAKT_CHROMIUM")
	if program == "" {
		t.Skip("TAKT_CHROMIUM names no browser; scripts/servers start chromium prints one")
	}
	b, err := Start(program, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// Eval is the value of an expression in a page; a page that cannot evaluate it fails the test.
func Eval[T any](t testing.TB, p *Page, expression string) (v T) {
	t.Helper()
	if err := p.Eval(expression, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
