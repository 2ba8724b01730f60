package payload

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// FuzzParse: no text makes Parse panic or Append more than MaxLen, and what stands
// before the first and after the last braces is appended as it is.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "plain", "{{.Seq}}", everything, `{{"{{"}} }} {`, "{{`a`}}", "a{{", "{{{{", "{{}}", "{{ }}", `{{"}}"`, `{{"\x`,
		"{{now}}-{{unixMilli}}", "{{randInt -5 5}}", "{{randString 3}}}}", `{{file "users.csv" 9}}`, `{{file "none"}}`, "{{a b c d e f g h i j}}",
		"{{\xff}}", "ü{{.Seq}}ü",
	} {
		f.Add(seed, uint64(7))
	}
	f.Fuzz(func(t *testing.T, text string, seq uint64) {
		tmpl, err := inMemory(1).Parse("fuzz", text)
		if err != nil {
			return
		}
		got := string(tmpl.Append(nil, seq))
		before, _, found := strings.Cut(text, "{{")
		after := text[strings.LastIndex(text, "}}")+1:]
		if !found && got != text || !strings.HasPrefix(got, before) || found && !strings.HasSuffix(got, after[1:]) {
			t.Errorf("%q became %q", text, got)
		}
		if len(got) > tmpl.MaxLen() || tmpl.Fixed() && len(got) != tmpl.MaxLen() {
			t.Errorf("%q: %d bytes, at most %d were announced", text, len(got), tmpl.MaxLen())
		}
	})
}

// FuzzText: text between placeholders comes out as it went in, whatever it is, if
// its opening braces are written as literals, and quoted text likewise.
func FuzzText(f *testing.F) {
	f.Add("a", "b", "c", uint64(3))
	f.Add("{{", "}}", "{", uint64(0))
	f.Add("\x00\xff", "", "\"`", uint64(1)<<63)
	f.Fuzz(func(t *testing.T, a, b, c string, seq uint64) {
		escape := strings.NewReplacer("{", `{{"{"}}`)
		text := escape.Replace(a) + "{{.Seq}}" + escape.Replace(b) + "{{ " + strconv.Quote(c) + " }}{{.Seq}}"
		tmpl, err := new(Env).Parse("fuzz", text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		n := strconv.FormatUint(seq, 10)
		if got, want := string(tmpl.Append(nil, seq)), a+n+b+c+n; got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	})
}

// FuzzColumn: for a line alone column agrees with encoding/csv, and for several
// it gives as many fields as there are lines or names the line that is at fault.
func FuzzColumn(f *testing.F) {
	for _, seed := range []string{"a,b", "a,\"b,\"\"c\"\r\n", "\n\na", "a,\"b\nc\"", "\"", "a\"b", ",,\r\r\n", "\xef\xbb\xbfa,b"} {
		f.Add(seed, uint8(1))
	}
	f.Fuzz(func(t *testing.T, text string, field uint8) {
		n := int(field) + 1
		l, err := ReadLines("f", strings.NewReader(text))
		if err != nil {
			return
		}
		col, err := l.column(n)
		if err == nil && col.Len() != l.Len() {
			t.Fatalf("%d lines became %d fields", l.Len(), col.Len())
		}
		if err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Fatalf("no place in %q", err)
		}
		for i := range l.Len() {
			want, wrong := soleField(string(l.At(uint64(i))), n)
			if err == nil && wrong == nil && string(col.At(uint64(i))) != want {
				t.Errorf("line %d: %q, want %q", i+1, col.At(uint64(i)), want)
			}
			if err == nil && wrong != nil {
				t.Errorf("line %d of %q is taken, but alone it is refused: %v", i+1, text, wrong)
			}
		}
	})
}

// soleField is field n of a line by encoding/csv.
func soleField(line string, n int) (string, error) {
	in := csv.NewReader(strings.NewReader(line + "\n"))
	in.FieldsPerRecord = -1
	record, err := in.Read()
	if err != nil {
		return "", err
	}
	if _, err := in.Read(); err != io.EOF || slices.ContainsFunc(record, func(s string) bool { return strings.Contains(s, "\n") }) {
		return "", errors.New("more than a record")
	}
	if len(record) < n {
		return "", errors.New("too short")
	}
	return record[n-1], nil
}
