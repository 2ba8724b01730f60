package http

import (
	"strings"
	"testing"

	"github.com/taktload/takt/internal/scene"
)

// hostile are texts that a scenario file could take for something else.
var hostile = []string{
	"plain", "", "{", "{{", "{{{", "{{uuid}}", `{"a":{"b":{{`, `{{"}}`, "}}", "a\nGET /other\n", "\r\n\r\n", " around ", "\u00a0x\u2028",
	"@/etc/passwd", "# no comment", "\x00\xff\xfe\x01", "/path", "a: b", `"\`, "ü 東京", "\t\ttab", "{\n  \"a\": 1\n}", "{\x00{", strings.Repeat("{", 100), "\ufeffmark",
}

// What is written is read as what it was, whatever its texts are.
func TestSceneIsReadBack(t *testing.T) {
	for _, text := range hostile {
		s := scene.Step{Comment: text, Name: text, Method: "POST", URL: "/a?q=" + scene.Query(text) + "&v=" + scene.Value("token"), Body: scene.Literal(text) + scene.Value("token")}
		if err := s.AddHeader("X-Value", scene.Literal(text)); err == nil == strings.ContainsAny(text, "\r\n\x00\t\ufeff\u2028") {
			t.Errorf("%q as the value of a header: %v", text, err)
		}
		if len(s.Header) > 0 {
			s.Header[0].Value += scene.Value("token")
		}
		first := scene.Step{Method: "POST", URL: "http://one.example?a", Lines: []string{
			scene.Capture("token", "json "+text+"a"), scene.Check("body", "==", scene.Literal(text)), scene.Check("json a", "!=", scene.Literal(text))}}
		for _, name := range []string{"f", "g"} {
			if err := first.AddField(scene.Field{Name: name, Value: scene.Literal(text)}); err != nil {
				t.Error(err)
			}
		}
		for _, one := range []*scene.Step{&first, &s} {
			_ = one.AddHeader("X-All", scene.Literal(text)) // told above
		}
		f := scene.File{Notes: []string{text}, Steps: []scene.Step{first, s, s}}
		f.ShareHeads()
		file := string(f.Text())
		o := New()
		o.Scenario = scenarioFile(t, file)
		if faults := o.Validate([]string{f.Home()}); len(faults) > 0 {
			t.Errorf("%q: %v\n%s", text, faults, file)
			continue
		}
		read := o.requests.(*scenario)
		v := read.visit(0)
		v.session.Set("token", []byte("T"))
		if len(read.Steps) != 3 {
			t.Fatalf("%q: %d steps\n%s", text, len(read.Steps), file)
		}
		if got := read.fill(v, read.Steps[1].Body); got != text+"T" {
			t.Errorf("the body %q is read as %q\n%s", text, got, file)
		}
		if got, want := read.fill(v, read.Steps[1].Target), "/a?q="+string(scene.Query(text))+"&v=T"; got != want {
			t.Errorf("the target is read as %q, want %q", got, want)
		}
		for i, h := range read.Steps[2].Text.Header {
			if got := read.fill(v, read.Steps[2].Header[i]); h.Name == "X-All" && got != strings.TrimSpace(text) && got != text {
				t.Errorf("the header %q of all steps is read as %q", text, got)
			}
		}
		if len(f.Heads) != len(s.Header)-min(1, len(s.Header)) {
			t.Errorf("%q: %d headers of all steps", text, len(f.Heads))
		}
		for i, h := range read.Steps[1].Text.Header {
			if got := read.fill(v, read.Steps[1].Header[i]); h.Name == "X-Value" && got != strings.TrimSpace(text)+"T" && got != strings.TrimLeft(text, " \u00a0")+"T" {
				t.Errorf("the header %q is read as %q", text, got)
			}
		}
		if got, want := read.fill(v, read.Steps[0].Body), strings.ReplaceAll("f="+string(scene.Query(text))+"&g="+string(scene.Query(text)), "+", "%20"); got != want {
			t.Errorf("the form is read as %q, want %q", got, want)
		}
		if check := read.Steps[0].Checks[0]; text != "" && read.fill(v, check.Want) != text {
			t.Errorf("the check of %q is read as %q", text, read.fill(v, check.Want))
		}
	}
}

func TestSceneWrites(t *testing.T) {
	f := scene.File{Notes: []string{"made of two lines\nof notes"}, Steps: []scene.Step{
		{Comment: "line 3", Name: "log in", Journey: "buy", Weight: 30, Method: "POST", URL: scene.URLText("https://Shop.example:443/log in#top"),
			Form: []scene.Field{{Name: "user", Value: scene.Column("users.csv", 1, "header")}}, Lines: []string{scene.Capture(scene.Name("my-token"), "json a.b")}},
		{Name: "log in", Method: "GET", URL: scene.URLText("https://shop.example") + "/a/" + scene.Value("my_token").In("url")},
		{Method: "GET", URL: "https://cdn.example/x?y", Lines: []string{scene.Check("json a", "==", "")}},
	}}
	if err := f.Steps[1].AddHeader("Content-Length", "3"); err != nil || f.Steps[1].Header != nil {
		t.Error("a header that takt makes itself was kept")
	}
	for name, value := range map[string]scene.Text{"#a": "b", "a b": "c", "": "d", "X": scene.Literal("a\r\nb")} {
		if f.Steps[1].AddHeader(name, value) == nil {
			t.Errorf("the header %q with %q was accepted", name, value)
		}
	}
	want := `# made of two lines
# of notes

# line 3
POST /log%20in
@name log in
@journey buy 30
@form user {{file "users.csv" 1 header}}
@capture my_token json a.b

GET /a/{{url my_token}}
@name log in (2)

GET https://cdn.example/x?y
@check json a matches ^$
`
	if got := string(f.Text()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if home := f.Home(); home != "https://shop.example" {
		t.Error(home)
	}
	for name, want := range map[string]string{"uuid": "_uuid", "": "_", "1a": "_1a", "a.b": "a_b", "ok": "ok", "ü": "__"} {
		if got := scene.Name(name); got != want {
			t.Errorf("%q is the name %q, want %q", name, got, want)
		}
	}
}
