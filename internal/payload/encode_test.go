package payload

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// What an encoder makes is read back as it was, whatever the value, and the value may stand anywhere.
func FuzzEncoders(f *testing.F) {
	for _, v := range []string{
		"", "a", "ab", "abc", "abcd", `Anna "Ann" O'Neill`, `back\slash`, "tab\tand\nline", "\x00\x1f\x7f", "a&b=c+d?e#f%41/;", "größe 日本 \U0001F600",
		"\xff\xfe", "a\xc3", "tok+en/with==", strings.Repeat(`"`, 100), strings.Repeat("\x01", 33), "\u2028",
	} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		env := Env{Values: []string{"v"}}
		fill := func(text string) string {
			tmpl, err := env.Parse("body", text)
			if err != nil {
				t.Fatal(err)
			}
			b, missing := tmpl.Fill([]byte("<"), 0, 0, func(string) []byte { return []byte(v) }, nil)
			if missing != "" || b[0] != '<' {
				t.Fatalf("%q, %q is missing", b, missing)
			}
			return string(b[1:])
		}
		if got, err := url.QueryUnescape(fill(`{{url v}}`)); got != v || err != nil {
			t.Errorf("url: %q of %q, %v", got, v, err)
		}
		if got, err := url.PathUnescape(fill(`{{url v}}`)); got != v || err != nil {
			t.Errorf("path: %q of %q, %v", got, v, err)
		}
		if got, err := base64.StdEncoding.DecodeString(fill(`{{base64 v}}`)); string(got) != v || err != nil {
			t.Errorf("base64: %q of %q, %v", got, v, err)
		}
		var got struct{ A, B string }
		if err := json.Unmarshal([]byte(fill(`{"a":"{{json v}}","b":"x{{json v}}"}`)), &got); err != nil || utf8.ValidString(v) && (got.A != v || got.B != "x"+v) {
			t.Errorf("json: %q of %q, %v", got, v, err)
		}
		if got, err := url.QueryUnescape(fill(`{{url json v}}`)); got != fill(`{{json v}}`) || err != nil {
			t.Errorf("url json: %q, %v", got, err)
		}
	})
}

// Lines of a file, random values and texts are encoded, too, without an allocation where there is room; a template
// says how long they can become, and checks them as they are sent.
func TestEncodedParts(t *testing.T) {
	env := envOf("a&b\n\"c d\"\n")
	tmpl, err := env.Parse("url", `/{{url file "f"}}/{{json file "f"}}/{{base64 "user:password"}}/{{url uuid}}/{{base64 url file "f" 1}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := `/a%26b/a&b/dXNlcjpwYXNzd29yZA==/`
	if got := string(tmpl.Append(nil, 0)); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "/YSUyNmI=") || len(got) > tmpl.MaxLen() {
		t.Errorf("%q of at most %d bytes", got, tmpl.MaxLen())
	}
	if got := string(tmpl.Append(nil, 1)); !strings.HasPrefix(got, `/%22c%20d%22/\"c d\"/`) || !strings.HasSuffix(got, "/YyUyMGQ=") {
		t.Errorf("%q", got)
	}
	if !tmpl.Random() || tmpl.Fixed() {
		t.Error("a random value is not seen behind its encoder")
	}
	b := make([]byte, 0, tmpl.MaxLen())
	if n := testing.AllocsPerRun(100, func() { b = tmpl.Append(b[:0], 1) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	var lines []string
	_ = tmpl.Check(func(line []byte) error { lines = append(lines, string(line)); return nil })
	if got := strings.Join(lines, " | "); got != `a%26b | %22c%20d%22 | a&b | \"c d\" | YSUyNmI= | YyUyMGQ=` {
		t.Errorf("checked are %s", got)
	}
	odd := func(line []byte) bool { return strings.Contains(string(line), "&") }
	if n, name := tmpl.Count(odd); n != 0 {
		t.Errorf("%d lines of %s are odd, and all are encoded", n, name)
	}
	plain, err := env.Parse("url", `/{{url file "f"}}/{{file "f"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if n, name := plain.Count(odd); n != 1 || name != "f" {
		t.Errorf("%d lines of %s are odd", n, name)
	}
	for text, want := range map[string]string{
		`{{url}}`: "wrong arguments", `{{json nothing}}`: "unknown placeholder", `{{url file}}`: "wrong arguments", `{{base64 "a" "b"}}`: "unknown placeholder",
	} {
		if _, err := env.Parse("url", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
