package reader

import (
	"strings"
	"testing"
)

func TestBehindHead(t *testing.T) {
	const line = `1.2.3.4 - - [24/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5`
	for _, before := range []string{
		"", "Nov 24 10:00:00 web1 nginx: ", "Nov  4 10:00:00 web1 haproxy[12]: ", "<190>Nov 24 10:00:00 web1 nginx: ",
		"2026-11-24T10:00:00.123456+00:00 web1 nginx[12]: ", "<190>1 2026-11-24T10:00:00.1Z web1 nginx 12 - - ",
		`<190>1 2026-11-24T10:00:00.1Z web1 nginx 12 ID47 [a@1 b="c"][d@1 e="f"] `, "2026-11-24T10:00:00.123456789Z stdout F ", "2026-11-24T10:00:00.123456789Z stderr F ",
		"web-1  | ", "my_app.web-12 | ", "web  | Nov 24 10:00:00 web1 nginx: ",
	} {
		if got := new(head).behind([]byte(before + line)); string(got) != line {
			t.Errorf("%q: %q", before, got)
		}
	}
	for _, object := range []string{
		`{"log":"` + strings.ReplaceAll(line, `"`, `\"`) + `\n","stream":"stdout","time":"2026-11-24T10:00:00.1Z"}`,
		`{"log":"` + strings.ReplaceAll(line, `"`, `\u0022`) + `\r\n","stream":"stdout","attrs":{"a":"b"},"time":"2026-11-24T10:00:00.1Z"}`,
		`{"_PID":"1","MESSAGE":"` + strings.ReplaceAll(line, `"`, `\"`) + `","__REALTIME_TIMESTAMP":"1714557600123456"}`,
		`web-1 | {"log":"2026-11-24T10:00:00.1Z stdout F ` + strings.ReplaceAll(line, `"`, `\"`) + `\n","stream":"stdout"}`,
	} {
		if got := new(head).behind([]byte(object)); string(got) != line {
			t.Errorf("%q: %q", object, got)
		}
	}
	for _, whole := range []string{
		"::1 - - [24/Nov/2026:10:00:00 +0000]", "2026-11-24T10:00:00.186641Z my-loadbalancer 192.168.131.39:2817 10.0.0.1:80", "Nov 24 10:00:00 web1 nothing of a tag",
		"2026-11-24T10:00:00.123Z stdout P half of a line", "<x> and so on and so forth", "<190>1 2026-11-24 too short", "<190>1 2026-11-24T10:00:00.1Z web1 nginx 12 - [open", "Nov 24 10:00:00 web1 nginx: ", "web-1  | ", "a b | GET /", "/a | b", `{"log":"x"}`, `{"log":"open`, `{"MESSAGE":"x"}`, `{"__REALTIME_TIMESTAMP":"1","MESSAGE":[1,2]}`,
	} {
		if got := new(head).behind([]byte(whole)); string(got) != whole {
			t.Errorf("%q: %q", whole, got)
		}
	}
}
