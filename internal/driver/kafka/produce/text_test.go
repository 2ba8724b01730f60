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

// The longest message counts also if it is a tombstone in the first turn.
func TestLongestBesideTombstones(t *testing.T) {
	o := New()
	o.Messages, o.Key, o.Tombstones = []string{"a", "bb", "cccc", "ddd"}, "k", 1
	all, err := o.readText(1)
	if err != nil {
		t.Fatal(err)
	}
	if all.longest() != 4 || all.size(2) != -1 || len(all.append(nil, -1, 2)) != 0 {
		t.Errorf("longest %d, size %d", all.longest(), all.size(2))
	}
}
