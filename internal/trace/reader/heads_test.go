package reader

import "testing"

func TestBehindHead(t *testing.T) {
	const line = `1.2.3.4 - - [24/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5`
	for _, head := range []string{
		"", "Nov 24 10:00:00 web1 nginx: ", "Nov  4 10:00:00 web1 haproxy[12]: ", "<190>Nov 24 10:00:00 web1 nginx: ",
		"2026-11-24T10:00:00.123456+00:00 web1 nginx[12]: ", "<190>1 2026-11-24T10:00:00.1Z web1 nginx 12 - - ",
		`<190>1 2026-11-24T10:00:00.1Z web1 nginx 12 ID47 [a@1 b="c"][d@1 e="f"] `, "2026-11-24T10:00:00.123456789Z stdout F ", "2026-11-24T10:00:00.123456789Z stderr F ",
	} {
		if got := behindHead([]byte(head + line)); string(got) != line {
			t.Errorf("%q: %q", head, got)
		}
	}
	for _, whole := range []string{
		"::1 - - [24/Nov/2026:10:00:00 +0000]", "2026-11-24T10:00:00.186641Z my-loadbalancer 192.168.131.39:2817 10.0.0.1:80", "Nov 24 10:00:00 web1 nothing of a tag",
		"2026-11-24T10:00:00.123Z stdout P half of a line", "<x> and so on and so forth", "<190>1 2026-11-24 too short", "<190>1 2026-11-24T10:00:00.1Z web1 nginx 12 - [open", "Nov 24 10:00:00 web1 nginx: ",
	} {
		if got := behindHead([]byte(whole)); string(got) != whole {
			t.Errorf("%q: %q", whole, got)
		}
	}
}
