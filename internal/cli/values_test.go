package cli

import "testing"

// What is replaced in texts of others, and what looks like a secret and is none.
func TestScrub(t *testing.T) {
	for _, c := range []struct {
		args       []string
		url        string
		text, want string
	}{
		{[]string{"-a", "user:"}, nowhere, "10 of 20", "10 of 20"},
		{[]string{"-H", "Cookie:"}, nowhere, "10 of 20", "10 of 20"},
		{[]string{"--proxy", "http://user@host"}, nowhere, "10 of 20", "10 of 20"},
		{nil, "http://joe@host/", "10 of 20", "10 of 20"},
		{[]string{"-H", "X-A: 10-20", "-H", "Cookie: 10"}, nowhere, "10 of 10-20", "10 of 10-20"},
		{[]string{"-H", "Authorization: Bearer  tiger"}, nowhere, "tiger, not Bearer  tiger", "xxxxx, not xxxxx"},
		{[]string{"-H", "Cookie: tige", "-H", "X-Api-Key: tiger"}, nowhere, "tiger", "xxxxx"},
	} {
		l := parsed(t, c.args...)
		if faults := l.faults([]string{c.url}); faults != nil {
			t.Fatal(faults)
		}
		if got := l.scrub.Replace(c.text); got != c.want {
			t.Errorf("%q %s: %q becomes %q, want %q", c.args, c.url, c.text, got, c.want)
		}
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
		if got := hidePassword(text); got != want {
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
		if got := hideCredentials(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
