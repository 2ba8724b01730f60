package formats

import (
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct{ format, line, want string }{
		{`$remote_addr [$time_iso8601] "$request_method $uri$is_args$args" ${status}`, `::1 [2020-01-02T03:04:05+00:00] "GET /a?b=c" 200`,
			"1: GET /a?b=c 200\n\tend (second) 2020-01-02T03:04:05Z\n\tclient \"::1\"\n"},
		{`log_format x escape=json '$msec "$request" '` + "\n  " + `'$status it\'s $request_time';`, `1577934245.250 "GET /\u0041 HTTP/1.1" 200 it's 0.5`,
			"1: GET /A 200\n\tend 2020-01-02T03:04:05.25Z\n\tlatency ns 500000000\n"},
		{`$time_local $request_uri $http_host`, `02/Jan/2020:03:04:05 +0000 /x a:80`, "1: GET /x 0\n\tend (second) 2020-01-02T03:04:05Z\n\thost \"a:80\"\n"},
		{`$request $status`, `GET /x HTTP/1.1 200`, "1: GET /x 200\n"},
		{`$uri $args $body_bytes_sent $bytes_sent`, `/x a=b 5 99`, "1: GET /x?a=b 0\n\tbytes 5\n"},
		{`$uri $args $bytes_sent $body_bytes_sent`, `/x - 99 5`, "1: GET /x 0\n\tbytes 5\n"},
		{`$host$request_uri $status`, `- 400`, "the request is empty or -"},
		{`LogFormat "%h %t \"%r\" %>s %D" timed`, `10.0.0.1 [02/Jan/2020:03:04:05 +0000] "GET /x HTTP/1.1" 200 1500`,
			"1: GET /x 200\n\tstart (second) 2020-01-02T03:04:05Z\n\tlatency ns 1500000\n\tclient \"10.0.0.1\"\n"},
		{`%{%Y-%m-%d %H:%M:%S}t.%{usec_frac}t %m %U%q %{ms}T`, `2020-01-02 03:04:05.250001 GET /x?y 12`, "1: GET /x?y 0\n\tstart 2020-01-02T03:04:05.250001Z\n\tlatency ns 12000000\n"},
		{`%{end:%d/%b/%Y:%T}t.%{end:msec_frac}t %{end:%z}t "%r"`, `02/Jan/2020:03:04:05.250 +0100 "GET /x"`, "1: GET /x 0\n\tend 2020-01-02T02:04:05.25Z\n"},
		{`%{sec}t.%{msec_frac}t %U %q`, `1577934245.250 /x ?y=z`, "1: GET /x?y=z 0\n\tstart 2020-01-02T03:04:05.25Z\n"},
		{`%{msec}t %U`, `1577934245250 /x`, "1: GET /x 0\n\tstart 2020-01-02T03:04:05.25Z\n"},
		{`%{c}a %v:%p %!200{X}i "%r" %{User-agent}i %{X}^ti %I %O 100%%`, `::1 [::2]:80 - "GET /x HTTP/1.1" me - 10 20 100%`,
			"1: GET /x 0\n\tbytes 20\n\trequest bytes 10\n\thost \"[::2]\"\n\tclient \"::1\"\n\tagent \"me\"\n"},
		{`$msec [$time_iso8601] $uri`, `1577934245.250 [2020-01-02T03:04:05Z] /x`, "1: GET /x 0\n\tend 2020-01-02T03:04:05.25Z\n"},
		{`[$time_iso8601] $msec $uri`, `[2020-01-02T03:04:05Z] 1577934245.250 /x`, "1: GET /x 0\n\tend 2020-01-02T03:04:05.25Z\n"},
		{`$request_uri $request_time $status`, `/x - -`, "1: GET /x 0\n"},
		{`%{UNIT}T %U`, `seconds /x`, "1: GET /x 0\n"},
		{`%r`, `GET http://h HTTP/1.1`, "1: GET / 0\n\tscheme \"http\"\n\thost \"h\"\n"},
		{`%r`, `GET http://u:p@h?q#f`, "1: GET /?q 0\n\tscheme \"http\"\n\thost \"h\"\n"},
		{`%r`, `CONNECT h:443 HTTP/1.1`, "CONNECT opens a tunnel"},
		{`%r`, `GET http:///x HTTP/1.1`, "the URL is not http or https"},
		{`%r`, `\x16\x03\x01`, "no METHOD and PATH, such as bytes of a TLS handshake"},
		{`%r`, `GET /a\x20b\n\t\"\\ HTTP/1.1`, `1: GET /a%20b%0A%09"\ 0` + "\n"},
		{`%r`, `GET /\q\`, `1: GET /\q\ 0` + "\n"},
		{`[%r] x`, `[GET / HTTP/1.1] y`, "the line does not have the shape of the format"},
		{`[%r] x`, `GET / HTTP/1.1`, "the line does not begin as the format does"},
		{`%U %b`, `/ x`, "the size is not a number"},
		{`%U %D`, `/ 1s`, "the time taken is not a number"},
		{`$request_uri $request_time`, `/x 0.109`, "1: GET /x 0\n\tlatency ns 109000000\n"},
		{`$request_uri $request_time`, `/x 109`, "the time taken has no fraction, as $request_time of nginx always has; write $request_time_ms in the format if it is milliseconds, $request_time_us if microseconds"},
		{`$request_uri $request_time_ms`, `/x 109`, "1: GET /x 0\n\tlatency ns 109000000\n"},
		{`$request_uri $request_time_us`, `/x 109`, "1: GET /x 0\n\tlatency ns 109000\n"},
		{`%U %h %u %t`, `/x h - - frank [09/Nov/2017:13:12:44 +0000]`, "the line does not have the shape of the format"},
		{`log-format "%ci:%cp [%t] %ST %Tt %{+Q}r"`, `::1:5 [06/Feb/2026:12:14:14.655] 200 109 "GET /x HTTP/1.1"`, "1: GET /x 200\n\tstart 2026-02-06T12:14:14.655Z\n\tlatency ns 109000000\n\tclient \"::1\"\n"},
		{`log-format %{+Q}o\ %tr\ %s\ %ST\ %{-Q}HM\ %HP%HQ\ %Tt\ %Ta\ %[capture.req.hdr(0)]`, `06/Feb/2026:12:14:14.655 "web" -1 GET "/x?a" 9 +5 "h"`, "1: GET /x?a 0\n\tstart 2026-02-06T12:14:14.655Z\n\tlatency ns 9000000\n"},
		{`%trl %HM %HU %U%%`, `06/Feb/2026:12:14:14 +0100 PUT /x 7%`, "1: PUT /x 0\n\tstart (second) 2026-02-06T11:14:14Z\n\trequest bytes 7\n"},
		{`log-format %HU %QX`, ``, `format "log-format %HU %QX": "%QX" is not a variable of a log-format of HAProxy`},
		{`%START_TIME% %REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH):80% %DURATION% %RESPONSE_CODE%\n`, `2026-11-24T10:00:00.310Z GET /x 109 0`, "1: GET /x 0\n\tstart 2026-11-24T10:00:00.31Z\n\tlatency ns 109000000\n"},
		{`%START_TIME(%Y/%m/%d %H:%M:%S)% %REQ(:PATH)%`, `2026/11/24 10:00:00 /x`, "1: GET /x 0\n\tstart (second) 2026-11-24T10:00:00Z\n"},
		{`%START_TIME(%s.%3f)% %REQ(:PATH)% 9%%`, `1510233164.500 /x 9%`, "1: GET /x 0\n\tstart 2017-11-09T13:12:44.5Z\n"},
		{`%START_TIME(%c)% %REQ(:PATH)%`, ``, "format \"%START_TIME(%c)% %REQ(:PATH)%\": %START_TIME(%c)%: \"%c\" has a part that is not understood; known are %Y %m %d %b %H %M %S %T %F %z and their like; or log it without a format"},
		{`%U %>s`, `/ 2000`, "the status is not a number of three digits"},
		{`%U %{%T %F}t`, `/ 1:2:3 x`, "the time is not understood"},
	} {
		format, err := Find(c.format)
		if err != nil {
			if err.Error() != c.want {
				t.Errorf("%s: %v", c.format, err)
			}
			continue
		}
		rec := trace.Record{}
		rec.Reset()
		rec.Line = 1
		p, err := format.Line(Hints{})
		if err != nil {
			t.Fatal(err)
		}
		f := parse.NewLine(time.UTC, false, &trace.Left{})
		f.Begin(&rec)
		got := ""
		if err := p.Parse([]byte(c.line), &f); err != nil {
			got = err.Error()
		} else {
			rec.At = rec.At.UTC()
			if rec.At.Year() == 1 {
				rec.At = time.Time{}
			}
			got = tracetest.Dump(&rec)
		}
		if got != c.want {
			t.Errorf("%s\n%s\ngot  %q\nwant %q", c.format, c.line, got, c.want)
		}
	}
}
