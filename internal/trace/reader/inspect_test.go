package reader

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/trace"
)

// A whole number at the end of a line may be a time of any unit. takt does not use it, and says so.
func TestNumberWithoutUnit(t *testing.T) {
	const line = `10.0.0.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 512 "-" "curl/8"`
	for tail, want := range map[string]string{
		"":         "",
		" 0.123":   "",
		" 12ms":    "",
		" tls13":   "",
		" 1234":    "the whole number at the end of 2 lines is not used, because its unit is not known",
		` "1234"`:  "the whole number at the end of 2 lines is not used, because its unit is not known",
		" - 42 17": "the whole number at the end of 2 lines is not used, because its unit is not known",
	} {
		log := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(log, []byte(strings.Repeat(line+tail+"\n", 2)), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := (&Settings{Inspect: true}).Open(t.Context(), []string{log}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := trace.Each(l, func(*trace.Record) error { return nil }); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range l.Inspected()[0].Faults {
			if f.Kind == "unit" {
				got = append(got, f.Text)
			}
		}
		if text := strings.Join(got, "; "); want == "" && text != "" || !strings.Contains(text, want) {
			t.Errorf("%q: %q, want %q", tail, text, want)
		}
		l.Close()
	}
}

// A log without a request to use is refused with the reasons that apply, and only with what helps.
func TestNothing(t *testing.T) {
	const squid = "1795165201.277   3387 203.0.113.7 TCP_TUNNEL/200 19131 CONNECT shop.example:443 - HIER_DIRECT/10.0.0.8 -\n"
	for _, c := range []struct {
		log, want string
		settings  Settings
	}{
		{"", " has no lines; give another log; takt replay --tail waits for what will be written", Settings{}},
		{squid + squid, " was taken, of 2 lines of squid: 2 no request: CONNECT opens a tunnel (", Settings{}},
		{"timeStamp,elapsed,label,responseCode\n1795165200250,139,Login,200\n", "record again with jmeter.save.saveservice.url=true in JMeter's user.properties (", Settings{}},
		{"/a\n/b\n", " was taken, of 2 lines of paths: 2 not chosen: before --from (", Settings{From: 5}},
		{`{"a":1}` + "\n", `no line has a request in "b"; check the names of --fields`, Settings{Options: Options{Fields: "uri=b"}}},
	} {
		log := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(log, []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := c.settings.Open(t.Context(), []string{log}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := trace.Each(l, func(*trace.Record) error { return nil }); err != nil {
			t.Fatal(err)
		}
		left := l.Left()
		err = l.Nothing([]string{log}, &left)
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "filters") {
			t.Errorf("%v, want %s", err, c.want)
		}
		l.Close()
	}
}
