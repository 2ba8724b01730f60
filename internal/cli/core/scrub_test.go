package core

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

func scrubberOf(public []string, secrets ...takt.Secret) *Scrubber {
	var holders []any
	for _, s := range secrets {
		holders = append(holders, s)
	}
	return NewScrubber(pflag.NewFlagSet("x", pflag.ContinueOnError), public, holders...)
}

const random = "pL0vQ2zX8mT4nB6wR1yC3sD5fG7hJ9kA_uE-iOqZ" // 40 characters

// A secret is hidden as a whole, where it can stand; ordinary text stays as it is.
func TestScrubber(t *testing.T) {
	for _, c := range []struct{ secret, text, want string }{
		{"t", "cannot reach the target: dial tcp 127.0.0.1:1: connect: connection refused", ""},
		{"a", "a run of a target", ""},
		{"t", "t", "xxxxx"}, // nothing else
		{"t", "unit t is not known", ""},
		{"t", `login failed: password=t`, "login failed: password=xxxxx"},
		{"t", `{"user":"u","password": "t","x":"t"}`, `{"user":"u","password": "xxxxx","x":"t"}`},
		{"t", "sasl.password: 't'", "sasl.password: 'xxxxx'"},
		{"t", "password=tiger", ""}, // another one
		{"t", "Authorization: Bearer t", "Authorization: Bearer xxxxx"},
		{"t", "?api_key=t&x=t", "?api_key=xxxxx&x=t"},
		{"a", "basic a, bearer a.", "basic xxxxx, bearer xxxxx."},
		{"pass", "the password of the passenger passes", ""},
		{"pass", "bypass; pass_1; compass", ""},
		{"pass", "refused: pass (user u)", "refused: xxxxx (user u)"},
		{"pass", "é is a letter: épass, passé", ""},
		{"password", "passwords; the password is wrong", "passwords; the xxxxx is wrong"},
		{"tiger", `body "a\ntiger\n"`, `body "a\nxxxxx\n"`},
		{"tiger", "/?next=u%3Atiger", "/?next=u%3Axxxxx"},
		{random, "x" + random + "y", "x" + "xxxxx" + "y"},
		{random, "token " + random, "token xxxxx"},
		{random, random[:39], ""}, // not whole
		{`q"u\o`, fmt.Sprintf("%q", `q"u\o`), `"xxxxx"`},
		{"a&b/c@d", "pw a&b/c@d.", "pw xxxxx."},
	} {
		want := c.want
		if want == "" {
			want = c.text
		}
		if got := scrubberOf(nil, takt.Secret(c.secret)).Replace(c.text); got != want {
			t.Errorf("%q: %q became %q, want %q", c.secret, c.text, got, want)
		}
	}
}

// Every way in which a program writes a secret is known.
func TestScrubberForms(t *testing.T) {
	for _, secret := range []string{"pass", "pa ss&/é?@:", random, `back\slash"quote`} {
		s := scrubberOf(nil, takt.Secret(secret))
		inJSON, err := json.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"plain": secret, "Go": fmt.Sprintf("%q", secret), "JSON": string(inJSON),
			"path": url.PathEscape(secret), "query": url.QueryEscape(secret), "lower": lowerEscapes(url.QueryEscape(secret)),
			"URL":    (&url.URL{Scheme: "http", Host: "h", User: url.UserPassword("u", secret)}).String(),
			"base64": base64.StdEncoding.EncodeToString([]byte(secret)),
		} {
			if got := s.Replace("<" + text + ">"); !strings.Contains(got, takt.Redacted) || strings.Contains(got, text) {
				t.Errorf("%s as %s: %s", secret, name, got)
			}
		}
	}
}

// The longest one first: the end of a secret that begins with another must not be left.
func TestScrubberOfSeveral(t *testing.T) {
	s := scrubberOf(nil, "tige", "tiger-lily", "tiger", "t", "")
	if got := s.Replace("tiger-lily, tiger and tige: not t"); got != "xxxxx, xxxxx and xxxxx: not t" {
		t.Error(got)
	}
	if got := scrubberOf(nil, "").Replace("10 of 20"); got != "10 of 20" {
		t.Error(got)
	}
}

// What everybody sees on the command line is no secret, but a password beside its name is.
func TestScrubberOfPublicWords(t *testing.T) {
	s := scrubberOf([]string{"--user", "artemis", "amqp://artemis:61616", "--label", random}, "artemis", random)
	text := "cannot reach artemis:61616 as artemis, password=artemis, token " + random
	if got := s.Replace(text); got != "cannot reach artemis:61616 as artemis, password=xxxxx, token xxxxx" {
		t.Error(got)
	}
}

// Long secrets are hidden in all values of a report, and the driver's own values stay as they are.
func TestHideIn(t *testing.T) {
	const long, short = "abcdefghijklmnopqrstuvwxyz12", "kafka"
	type row struct {
		Name string
		n    string
	}
	list, rows := []string{"/" + long}, []row{{long, long}}
	r := takt.Report{
		Labels: map[string]string{"l": long, "host": short}, Warnings: []takt.Warning{{Code: "x", Message: "not " + long}},
		Variables: map[string]any{"path": "/?q=" + long, "brokers": short + ":9092", "list": list, "n": 7, "none": nil, "any": map[string]any{long: []any{long, 1.5}}},
		Extra:     map[string]any{"rows": rows, "row": &rows[0]},
	}
	scrubberOf(nil, long, short).HideIn(&r)
	want := takt.Report{
		Labels: map[string]string{"l": "xxxxx", "host": short}, Warnings: []takt.Warning{{Code: "x", Message: "not xxxxx"}},
		Variables: map[string]any{"path": "/?q=xxxxx", "brokers": short + ":9092", "list": []string{"/xxxxx"}, "n": 7, "none": nil, "any": map[string]any{"xxxxx": []any{"xxxxx", 1.5}}},
		Extra:     map[string]any{"rows": []row{{"xxxxx", long}}, "row": &row{"xxxxx", long}},
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("%+v\n%+v", r, want)
	}
	if list[0] != "/"+long || rows[0].Name != long {
		t.Error("the values of the driver have changed")
	}
	(*Scrubber)(nil).HideIn(&r)
	scrubberOf(nil).HideIn(&r)
	if !reflect.DeepEqual(r, want) {
		t.Errorf("without secrets: %+v", r)
	}
}

func TestHidePassword(t *testing.T) {
	for text, want := range map[string]string{
		"http://u:tiger@host/":                      "http://u:xxxxx@host/",
		"http://u:ti/ger@host/":                     "http://u:xxxxx@host/",
		"http://u:ti@ger@host:80/x":                 "http://u:xxxxx@host:80/x",
		"http://u:/tiger@host/":                     "http://u:xxxxx@host/",
		"bob:tiger@host":                            "bob:xxxxx@host",
		`"http://a:tiger@b/" and "http://c:lion@d"`: `"http://a:xxxxx@b/" and "http://c:xxxxx@d"`,
		"http://127.0.0.1:8080/@joe":                "http://127.0.0.1:8080/@joe",
		"http://[::1]:8080/?to=joe@host":            "http://[::1]:8080/?to=joe@host",
		"http://host/@joe":                          "http://host/@joe",
	} {
		if got := value.HidePassword(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

// What others wrote may hold credentials that no flag knows.
func TestHideCredentials(t *testing.T) {
	for text, want := range map[string]string{
		"you sent Authorization: Bearer abc.def-9": "you sent Authorization: Bearer xxxxx",
		"Basic dTpodW50ZXIy refused":               "Basic xxxxx refused",
		"authorization: s3cret":                    "authorization: xxxxx",
		"dial tcp 127.0.0.1:80: refused":           "dial tcp 127.0.0.1:80: refused",
		"basic auth is on":                         "basic xxxxx is on", // rather one word too many
	} {
		if got := HideCredentials(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
