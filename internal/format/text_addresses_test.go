package format_test

import (
	"strings"
	"testing"

	"github.com/taktload/takt/internal/format"
)

// Addresses have a line of their own, and escape sequences in them do no harm.
func TestTextOfAddresses(t *testing.T) {
	r := base()
	r.Extra = map[string]any{"addresses": []any{"192.0.2.1:443", "[2001:db8::1]:443", "\x1b[2J"}}
	var out strings.Builder
	if err := format.Replay(format.Text(false), &out, r); err != nil {
		t.Fatal(err)
	}
	if want := "\naddresses    192.0.2.1:443, [2001:db8::1]:443, ·[2J\n"; !strings.Contains(out.String(), want) {
		t.Errorf("%s\nwant in it:%s", &out, want)
	}
}
