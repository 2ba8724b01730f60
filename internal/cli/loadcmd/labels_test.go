package loadcmd

import "testing"

// What is replaced in texts of others, and what looks like a secret and is none.
func TestScrub(t *testing.T) {
	for _, c := range []struct {
		args       []string
		url        string
		text, want string
	}{
		{[]string{"-a", "user:"}, "http://127.0.0.1:1/", "10 of 20", "10 of 20"},
		{[]string{"-H", "Cookie:"}, "http://127.0.0.1:1/", "10 of 20", "10 of 20"},
		{[]string{"--proxy", "http://user@host"}, "http://127.0.0.1:1/", "10 of 20", "10 of 20"},
		{nil, "http://joe@host/", "10 of 20", "10 of 20"},
		{[]string{"-H", "X-A: 10-20", "-H", "Cookie: 10"}, "http://127.0.0.1:1/", "10 of 10-20", "10 of 10-20"},
		{[]string{"-H", "Authorization: Bearer  tiger"}, "http://127.0.0.1:1/", "tiger, not Bearer  tiger", "xxxxx, not xxxxx"},
		{[]string{"-H", "Cookie: tige", "-H", "X-Api-Key: tiger"}, "http://127.0.0.1:1/", "tiger", "xxxxx"},
	} {
		l := validated(t, c.args...)
		if faults := l.faults([]string{c.url}); faults != nil {
			t.Fatal(faults)
		}
		if got := l.scrub.Replace(c.text); got != c.want {
			t.Errorf("%q %s: %q becomes %q, want %q", c.args, c.url, c.text, got, c.want)
		}
	}
}
