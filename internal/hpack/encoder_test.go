package hpack

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

// hexField is a field of its own block, in hex.
func hexField(e *Encoder, name, value string, keep bool) string {
	return hex.EncodeToString(e.Field(e.Begin(nil), []byte(name), []byte(value), keep))
}

func TestField(t *testing.T) {
	e := NewEncoder()
	for i, tt := range []struct {
		name, value string
		keep        bool
		want        string
		changes     uint64
	}{
		{":method", "GET", true, "82", 0},
		{":status", "500", false, "8e", 0},
		{"www-authenticate", "", true, "bd", 0},
		{":path", "/!", false, "04022f21", 0}, // Huffman code is not shorter
		{":path", "/!", false, "04022f21", 0},
		{"x", "!", false, "0001780121", 0},
		{"x", "!", true, "4001780121", 1},
		{"x", "!", true, "be", 0},
		{"x", "!", false, "be", 0},
		{"x", "#", false, "0f2f0123", 0}, // 62: the name of the entry
		{":path", "/#", true, "44022f23", 1},
		{":path", "/#", true, "be", 0},
		{"x", "!", true, "bf", 0},
		{":path", "/$", true, "44022f24", 1}, // a static name is shorter
		{"x", "#", true, "7f01" + "0123", 1}, // 64
		{"x", "+", false, "0f2f012b", 0},     // 62: the newest of the name
		{"", "", true, "400000", 1},
		{"", "", true, "be", 0},
	} {
		before := e.Changes()
		if got := hexField(e, tt.name, tt.value, tt.keep); got != tt.want {
			t.Errorf("%d: %s: %s: %s, want %s", i, tt.name, tt.value, got, tt.want)
		}
		if n := e.Changes() - before; n != tt.changes {
			t.Errorf("%d: %s: %s: %d changes, want %d", i, tt.name, tt.value, n, tt.changes)
		}
	}
}

// Fields with the same fingerprint are different fields.
func TestSimilarFields(t *testing.T) {
	e := NewEncoder()
	hexField(e, "a-12345678", "a-12345678", true)
	for _, f := range []pair{{"a-12345678", "b-12345678"}, {"b-12345678", "a-12345678"}} {
		if fingerprint([]byte(f.name), []byte(f.value)) != e.table.entry(1).print {
			t.Errorf("%s: %s: another fingerprint", f.name, f.value)
		}
		if got := e.Field(nil, []byte(f.name), []byte(f.value), false); len(got) < 9 {
			t.Errorf("%s: %s: %x, want a literal", f.name, f.value, got)
		}
	}
}

func TestSensitive(t *testing.T) {
	e := NewEncoder()
	before := e.Changes()
	for _, tt := range []struct{ name, value, want string }{
		{"authorization", "!", "1f080121"},
		{"authorization", "", "1f0800"}, // not the static entry
		{"proxy-authorization", "!", "1f220121"},
		{"cookie", strings.Repeat("!", 19), "1f1113" + strings.Repeat("21", 19)},
	} {
		for _, keep := range []bool{true, false} {
			if got := hexField(e, tt.name, tt.value, keep); got != tt.want {
				t.Errorf("%s: %s: %s, want %s", tt.name, tt.value, got, tt.want)
			}
		}
	}
	if n := e.Changes() - before; n != 0 {
		t.Errorf("%d changes", n)
	}
	if got := hexField(e, "cookie", strings.Repeat("!", 20), true); !strings.HasPrefix(got, "60") {
		t.Errorf("a long cookie: %s, want it added", got)
	}
}

func TestLargeField(t *testing.T) {
	e := NewEncoder()
	hexField(e, "x", "!", true)
	before := e.Changes()
	if got := hexField(e, "y", strings.Repeat("!", 4096-33+1), true); !strings.HasPrefix(got, "000179") || e.Changes() != before {
		t.Errorf("a field over the table: %.20s, %d changes; want a literal", got, e.Changes()-before)
	}
	if got := hexField(e, "y", strings.Repeat("!", 4096-33), true); !strings.HasPrefix(got, "400179") || e.Changes() != before+2 {
		t.Errorf("a field as large as the table: %.20s, %d changes; want it added, and another one evicted", got, e.Changes()-before)
	}
	if got := hexField(e, "x", "!", false); got != "0001780121" {
		t.Errorf("an evicted field: %s", got)
	}
}

func TestSizeUpdates(t *testing.T) {
	for _, tt := range []struct {
		name  string
		sizes []uint32
		want  string
	}{
		{"none", nil, ""},
		{"the default", []uint32{4096}, ""},
		{"over the default", []uint32{65536, 1 << 31}, ""},
		{"lowered", []uint32{100}, "3f45"},
		{"no table", []uint32{0}, "20"},
		{"lowered twice", []uint32{200, 100}, "3f45"},
		{"lowered and raised", []uint32{100, 4096}, "203fe11f"},
		{"lowered and raised a little", []uint32{100, 30, 200}, "203fa901"},
	} {
		e := NewEncoder()
		before := e.Changes()
		for _, n := range tt.sizes {
			e.SetTableSize(n)
		}
		settled := e.Changes()
		if got := hex.EncodeToString(e.Begin(nil)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if settled > before != (tt.want != "") || e.Changes() > settled != (tt.want != "") {
			t.Errorf("%s: changes %d, %d, %d", tt.name, before, settled, e.Changes())
		}
		if got := e.Begin(nil); len(got) != 0 {
			t.Errorf("%s: %x again", tt.name, got)
		}
	}
}

// After a lower size only a higher one has to be signaled, and not what was between.
func TestSizeRaised(t *testing.T) {
	e := NewEncoder()
	e.SetTableSize(100)
	e.Begin(nil)
	e.SetTableSize(200)
	e.SetTableSize(4096)
	if got := hex.EncodeToString(e.Begin(nil)); got != "3fe11f" {
		t.Errorf("%s, want only 4096", got)
	}
	e.SetTableSize(200)
	e.SetTableSize(4096)
	e.Reset()
	if got := e.Begin(nil); len(got) != 0 {
		t.Errorf("%x after Reset", got)
	}
}

// A size that was lowered and raised again is told as 0 and the present one: Go's decoder refuses a
// second update after a first that leaves entries.
func TestLoweredSizeEvicts(t *testing.T) {
	e := NewEncoder()
	hexField(e, "x", "1", true)
	e.SetTableSize(34)
	e.SetTableSize(4096)
	if got := hex.EncodeToString(e.Begin(nil)); got != "203fe11f" {
		t.Errorf("size updates %s, want 0 and 4096", got)
	}
	if got := hexField(e, "x", "1", false); got != "0001780131" {
		t.Errorf("the evicted field: %s, want a literal", got)
	}
}

func TestResetEncoder(t *testing.T) {
	e := NewEncoder()
	want := hexField(e, "x", "!", true)
	before := e.Changes()
	e.Reset()
	if e.Changes() == before {
		t.Error("Reset is not a change")
	}
	if got := hexField(e, "x", "!", true); got != want {
		t.Errorf("%s after Reset, want %s", got, want)
	}
}

// Both sides find every static field. The encoder does not confuse a field with one that has
// another byte.
func TestStaticFields(t *testing.T) {
	e, d := NewEncoder(), NewDecoder(4096, 1000)
	for i := 1; i < len(static); i++ {
		f := static[i]
		if got, err := decode(d, []byte{indexed | byte(i)}); err != nil || !slices.Equal(got, []pair{{string(f.name), string(f.value)}}) {
			t.Errorf("index %d: %q, %v", i, got, err)
		}
		first := staticName(f.name)
		if !bytes.Equal(static[first].name, f.name) || bytes.Equal(static[first-1].name, f.name) {
			t.Errorf("%s: entry %d", f.name, first)
		}
		if got := staticField(first, f.name, f.value); got != i {
			t.Errorf("%s: %s: entry %d, want %d", f.name, f.value, got, i)
		}
		if got := staticName(append(bytes.Clone(f.name), 'x')); got != 0 {
			t.Errorf("%sx: entry %d", f.name, got)
		}
		if got := e.Field(nil, f.name, f.value, true); len(got) != 1 && !isSensitive(i, f.value) || len(got) == 1 && got[0] != indexed|byte(i) {
			t.Errorf("%s: %s: %x", f.name, f.value, got)
		}
		block := e.Field(nil, f.name, append(bytes.Clone(f.value), 'x'), false)
		if block[0]&^neverMask != plain && block[0]&^neverMask != never {
			t.Errorf("%s: %sx: %x", f.name, f.value, block)
		}
	}
}
