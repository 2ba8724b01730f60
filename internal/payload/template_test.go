package payload

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

// inMemory is an Env whose feeders are in memory.
func inMemory(seed uint64) *Env {
	dir := fstest.MapFS{
		"key.txt":    {Data: []byte("Jefe")},
		"ids.txt":    {Data: []byte("a1\r\nb2\nc3")},
		"users.csv":  {Data: []byte("ann,secret\nbob,\"x,y\"\n")},
		"orders.csv": {Data: []byte("name,number\nann,7\n")},
		"short.csv":  {Data: []byte("a,b\nc\n")},
		"empty.txt":  {},
		"long.txt":   {Data: bytes.Repeat([]byte("x"), 1<<20)},
	}
	return &Env{Seed: seed, Traces: new(Traces), Run: new(Run), Open: func(path string) (io.ReadCloser, error) { return dir.Open(path) }}
}

func parse(t testing.TB, text string) *Template {
	t.Helper()
	tmpl, err := inMemory(1).Parse("body", text)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// What does not depend on the random functions is exact.
func TestAppend(t *testing.T) {
	tests := []struct {
		text, want string // of operation 4
		fixed      bool
	}{
		{"", "", true},
		{"plain } }} { text", "plain } }} { text", true},
		{`{{"{{"}}`, "{{", true},
		{`a{{ "}}" }}b{{"{"}}{{.Seq}}`, "a}}b{4", false},
		{"{{`raw \\`}}", `raw \`, true},
		{`{{"ü\n\""}}`, "ü\n\"", true},
		{"{{.Seq}}", "4", false},
		{"{{ \t\r\n.Seq\n}}", "4", false},
		{`{"a":{"n":{{.Seq}}}}`, `{"a":{"n":4}}`, false},
		{`/{{file "ids.txt"}}/{{ file  "ids.txt" }}{{.Seq}}`, "/b2/b24", false},
		{"{{file`ids.txt`}}", "b2", false},
		{`{{file "users.csv"}}`, "ann,secret", false},
		{`{{file "users.csv" 1}}:{{file "users.csv" 2}}`, "ann:secret", false},
		{"{{randInt -7 -7}}", "-7", false},
		{"{{randInt 9223372036854775807 9223372036854775807}}", "9223372036854775807", false},
		{"{{randInt -9223372036854775808 -9223372036854775808}}", "-9223372036854775808", false},
	}
	for _, tt := range tests {
		tmpl := parse(t, tt.text)
		if got := string(tmpl.Append([]byte("> "), 4)); got != "> "+tt.want || tmpl.Fixed() != tt.fixed {
			t.Errorf("%q: %q, fixed %v; want %q, %v", tt.text, got, tmpl.Fixed(), tt.want, tt.fixed)
		}
	}
}

func TestQuotedFieldInTemplate(t *testing.T) {
	if got := parse(t, `{{file "users.csv" 2}}`).Append(nil, 1); string(got) != "x,y" {
		t.Errorf("%q", got)
	}
}

// Fake time begins with the year 2000. The nine digits stay when they are zeros.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tmpl := parse(t, "{{now}} {{unixMilli}}")
		for _, want := range []string{"2000-01-01T00:00:00.000000000Z 946684800000", "2000-01-01T00:00:01.500000001Z 946684801500"} {
			if got := string(tmpl.Append(nil, 0)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			if _, err := time.Parse(time.RFC3339Nano, want[:len(instant)]); err != nil {
				t.Error(err)
			}
			time.Sleep(1500*time.Millisecond + 1)
		}
	})
}

func TestParseErrors(t *testing.T) {
	const (
		unknown = `unknown placeholder; known are {{.Seq}} {{.Run}} {{uuid}} {{randInt 1 100}} {{zipf 1000}} {{zipf 1000 1.2}} {{randString 16}} {{randHex 32}} {{now}} {{unixMilli}} {{traceparent}} {{date "%Y-%m-%d"}} {{date "%FT%TZ" +24h}} ` +
			`{{file "ids.txt"}} {{file "users.csv" 2}} {{file "orders.csv" 2 header random}} {{env "NAME"}} {{url file "ids.txt"}} {{json file "ids.txt"}} {{base64 "user:password"}} {{hmac sha256 "key.txt" .Seq}}; literal braces are {{"{{"}}`
		unclosed = `the braces are not closed; write }} at the end, or {{"{{"}} for literal braces`
		quotes   = `cannot read the quoted text; write "…" on one line, with \" for quotes and \\ for a backslash within`
		usage    = "wrong arguments; write "
		feeder   = usage + `{{file "ids.txt"}} or {{file "users.csv" 2}} or {{file "orders.csv" 2 header random}}`
		length   = "a random string has 1 to 65536 characters, not "
	)
	tests := []struct{ text, want string }{
		{"{{foo}}", "{{foo}}: " + unknown},
		{"{{}}", "{{}}: " + unknown},
		{"{{ .seq }}", "{{ .seq }}: " + unknown},
		{`{{"a" 1}}`, `{{"a" 1}}: ` + unknown},
		{`{{"uuid" 1}}`, `{{"uuid" 1}}: ` + unknown},
		{"{{{.Seq}}", "{{{.Seq}}: " + unknown},
		{"a{{.Seq", "{{.Seq: " + unclosed},
		{"a{{", "{{: " + unclosed},
		{`{{"}}"`, `{{"}}": ` + unclosed},
		{`{{file "ids.txt}}`, `{{file "ids.txt}}: ` + quotes},
		{`{{file "C:\users"}}`, `{{file "C:\users"}}: ` + quotes},
		{"{{ a b c d e f g h i }}", `{{ a b c d e f g h i }}: too many words between the braces; close them earlier, or write {{"{{"}} for literal braces`},
		{"{{" + strings.Repeat("é", 100) + "}}", "{{" + strings.Repeat("é", 29) + "…: " + unknown},
		{"{{.Seq 1}}", "{{.Seq 1}}: " + usage + "{{.Seq}}"},
		{"{{uuid 4}}", "{{uuid 4}}: " + usage + "{{uuid}}"},
		{"{{now 4}}", "{{now 4}}: " + usage + "{{now}}"},
		{"{{randInt}}", "{{randInt}}: " + usage + "{{randInt 1 100}}"},
		{"{{randInt 1}}", "{{randInt 1}}: " + usage + "{{randInt 1 100}}"},
		{"{{randInt 1 2 3}}", "{{randInt 1 2 3}}: " + usage + "{{randInt 1 100}}"},
		{"{{randInt 1 1e3}}", "{{randInt 1 1e3}}: " + usage + "{{randInt 1 100}}"},
		{`{{randInt "1" 2}}`, `{{randInt "1" 2}}: ` + usage + "{{randInt 1 100}}"},
		{"{{randInt 0 9223372036854775808}}", "{{randInt 0 9223372036854775808}}: " + usage + "{{randInt 1 100}}"},
		{"{{randInt 2 1}}", "{{randInt 2 1}}: 2 is greater than 1; write the smaller number first"},
		{"{{randString}}", "{{randString}}: " + usage + "{{randString 16}}"},
		{"{{randString x}}", "{{randString x}}: " + usage + "{{randString 16}}"},
		{`{{env "TAKT_NONE"}}`, `{{env "TAKT_NONE"}}: the environment has no variable TAKT_NONE; set it, as in TAKT_NONE=VALUE takt …`},
		{"{{env HOME}}", `{{env HOME}}: wrong arguments; write {{env "NAME"}}`},
		{"{{randString 0}}", "{{randString 0}}: " + length + "0; choose a length within"},
		{"{{randString 65537}}", "{{randString 65537}}: " + length + "65537; choose a length within"},
		{"{{file}}", "{{file}}: " + feeder},
		{"{{file ids.txt}}", "{{file ids.txt}}: " + feeder},
		{`{{file ""}}`, `{{file ""}}: ` + feeder},
		{`{{file "users.csv" 0}}`, `{{file "users.csv" 0}}: ` + feeder},
		{`{{file "users.csv" x}}`, `{{file "users.csv" x}}: ` + feeder},
		{`{{file "users.csv" 1 2}}`, `{{file "users.csv" 1 2}}: ` + feeder},
		{`{{file "none"}}`, `{{file "none"}}: cannot open the feeder: open none: file does not exist; check the path, a relative one starts at the working directory`},
		{`{{file "none" 2}}`, `{{file "none" 2}}: cannot open the feeder: open none: file does not exist; check the path, a relative one starts at the working directory`},
		{`{{file "empty.txt"}}`, `{{file "empty.txt"}}: empty.txt is empty; give it at least one line`},
		{`{{file "short.csv" 2}}`, `{{file "short.csv" 2}}: short.csv:2: no field 2 in a line of 1; fields are counted from 1 and separated by commas`},
		{strings.Repeat(`{{file "long.txt"}}`, 257), "can become longer than 268435456 bytes; shorten it, or the lines of its feeders"},
	}
	for _, tt := range tests {
		if _, err := inMemory(1).Parse("URL", tt.text); err == nil || err.Error() != "URL: "+tt.want {
			t.Errorf("%v\nwant URL: %s", err, tt.want)
		}
	}
}

func TestParseReportsEveryFault(t *testing.T) {
	_, err := inMemory(1).Parse("body", `{{foo}} {{uuid}} {{randString 0}} {{file "none}} {{.Seq`)
	for i, want := range []string{"{{foo}}: unknown", "{{randString 0}}: a random", `{{file "none}}: cannot read`, "{{.Seq: the braces"} {
		if lines := strings.Split(err.Error(), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[i], "body: "+want) {
			t.Errorf("fault %d of %q, want %q", i, lines, want)
		}
	}
	_, err = inMemory(1).Parse("body", strings.Repeat("{{foo}}", 1000))
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 11 || lines[10] != "body: the text after these 10 faults was not read" {
		t.Errorf("%q", lines)
	}
}

func TestEveryPlaceholderParses(t *testing.T) {
	t.Setenv("NAME", "stage")
	text := strings.Join(placeholders(), "")
	if got := parse(t, text).Append(nil, 0); !bytes.HasSuffix(got, []byte("a1secret7stagea1a1dXNlcjpwYXNzd29yZA==0cfb14084faad90bc41dc1e7eef25fcea1b0f01b47bfae68b3778ffd77b48814{{")) {
		t.Errorf("%q", got)
	}
}

func TestFilesAreReadOnceAndClosed(t *testing.T) {
	opened, closed := 0, 0
	e := &Env{Open: func(path string) (io.ReadCloser, error) {
		opened++
		return closer{strings.NewReader("a,b\n"), &closed}, nil
	}}
	for _, name := range []string{"URL", "body"} {
		if _, err := e.Parse(name, `{{file "f" 2}}{{file "f"}}{{file "f" 1}}{{file "f" 2}}`); err != nil {
			t.Fatal(err)
		}
	}
	if opened != 1 || closed != 1 {
		t.Errorf("opened %d times and closed %d times", opened, closed)
	}
}

type closer struct {
	io.Reader
	n *int
}

func (c closer) Close() error { *c.n++; return nil }

func TestZeroEnvOpensFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.txt")
	text := `{{file "` + filepath.ToSlash(path) + `"}}`
	if _, err := new(Env).Parse("URL", text); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tmpl, err := new(Env).Parse("URL", text)
	if err != nil || string(tmpl.Append(nil, 9)) != "x" {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	noBlank := func(line []byte) error {
		if bytes.ContainsAny(line, " ,") {
			return errors.New("has a blank or comma")
		}
		return nil
	}
	tests := []struct{ text, want string }{
		{"a b {{uuid}}", ""},
		{`{{file "ids.txt"}}`, ""},
		{`{{file "users.csv" 1}}`, ""},
		{`{{file "users.csv"}}`, "users.csv:1: has a blank or comma; 1 more lines of the file are refused"},
		{`{{file "users.csv" 2}}{{file "users.csv" 2}}`, "users.csv:2: field 2: has a blank or comma"},
		{`{{file "users.csv" 2}}{{file "short.csv"}}`, "users.csv:2: field 2: has a blank or comma\nshort.csv:1: has a blank or comma"},
	}
	for _, tt := range tests {
		err := parse(t, tt.text).Check(noBlank)
		if err == nil && tt.want != "" || err != nil && err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
		}
	}
}

// A literal is sent as it stands.
func TestLiteral(t *testing.T) {
	tmpl := Literal("a{{.Seq}}")
	if got := string(tmpl.Append(nil, 1)); got != "a{{.Seq}}" || !tmpl.Fixed() || tmpl.MaxLen() != len(got) {
		t.Errorf("%q, fixed %v, at most %d bytes", got, tmpl.Fixed(), tmpl.MaxLen())
	}
}

func TestMaxLen(t *testing.T) {
	for text, want := range map[string]int{
		"":                         0,
		"ü":                        2,
		`{{file "ids.txt"}}`:       2,
		`{{file "users.csv" 2}}`:   6,
		"{{uuid}}{{randString 9}}": 45, "{{randHex 17}}": 17,
		"{{.Seq}}{{randInt 1 2}}": 40,
		"{{now}}{{unixMilli}}":    50,
	} {
		if got := parse(t, text).MaxLen(); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	longest := parse(t, "{{.Seq}} {{randInt -9223372036854775808 -9223372036854775808}}")
	if got := len(longest.Append(nil, 1<<64-1)); got != longest.MaxLen() {
		t.Errorf("%d bytes, but at most %d were announced", got, longest.MaxLen())
	}
}

// With -race: workers share templates and the block.
func TestConcurrentUse(t *testing.T) {
	tmpl, random := parse(t, everything), NewRandom(1)
	want := string(tmpl.Append(nil, 3)) + string(random.Append(nil, 100, 3))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				if got := string(random.Append(tmpl.Append(nil, 3), 100, 3)); got != want {
					t.Errorf("%q, want %q", got, want)
				}
			}
		})
	}
	wg.Wait()
}

// An operation that is performed again has other random values, and the same lines of files, number and time of an earlier
// operation.
func TestFillAgain(t *testing.T) {
	env := envOf("a\nb\nc\nd\ne\nf\ng\nh\n")
	text := `{{uuid}} {{randInt 1 1000000000}} {{hmac sha256 "k" randString 9}}`
	same := `{{.Seq}} {{file "f"}} {{url file "r" random}}`
	for want, text := range map[bool]string{false: text, true: same} {
		tmpl, err := env.Parse("body", text)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for again := range uint64(50) {
			b, _ := tmpl.Fill(nil, 3, again, nil, nil)
			seen[string(b)] = true
			if again == 0 && string(b) != string(tmpl.Append(nil, 3)) {
				t.Errorf("%q, not %q", b, tmpl.Append(nil, 3))
			}
		}
		if same := len(seen) == 1; same != want || !same && len(seen) != 50 {
			t.Errorf("%s: %d texts", text, len(seen))
		}
	}
}
