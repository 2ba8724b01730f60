package produce

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMessages(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, []byte("first\nsecond line\r\n\nlast"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := New()
	o.Data = file
	lines, err := o.readText(1)
	if err != nil {
		t.Fatal(err)
	}
	for seq, want := range []string{"first", "second line", "", "last", "first"} {
		if got := string(lines.append(nil, len(want), uint64(seq))); got != want || lines.size(uint64(seq)) != len(want) {
			t.Errorf("message %d is %q, want %q", seq, got, want)
		}
	}
	if lines.longest() != len("second line") {
		t.Errorf("the longest has %d bytes", lines.longest())
	}
}
