package reader

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
)

// said is what takt reads of a log: its format, each record on a line, and what is left out.
func said(t *testing.T, log string, o Options) string {
	t.Helper()
	o.Zone = time.UTC
	r, err := New("log", strings.NewReader(log), o)
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	text := r.Format()
	var rec trace.Record
	for {
		err := r.Next(&rec)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text += "\n" + strings.ReplaceAll(strings.TrimSpace(tracetest.Dump(&rec)), "\n\t", ", ")
	}
	c := r.Counts()
	for _, row := range c.Left.Reasons() {
		text += fmt.Sprintf("\n%d %s: %s; line %d", row.Count, row.Kind, row.Why, row.Line)
	}
	return text
}

// squidLines are lines of Squid whose times have so many digits.
func squidLines(taken int) (text string) {
	for i := range 5 {
		text += fmt.Sprintf("17951652%02d.353 %6d 203.0.113.7 TCP_MISS/200 394 GET http://shop.example/a%d - HIER_DIRECT/10.0.0.8 image/gif\n", i, taken, i)
	}
	return text
}

const (
	oneLine  = `203.0.113.7 - - [20/Nov/2026:09:00:00 +0000] "GET /a HTTP/1.1" 200 512 "-" "curl/8.5.0"` + "\n"
	oneSaid  = `GET /a 200, start (second) 2026-11-20T09:00:00Z, bytes 512, client "203.0.113.7", agent "curl/8.5.0"`
	w3cHead  = "#Software: X\n#Version: 1.0\n#Date: 2026-11-20 09:00:01\n#Fields: date time cs-method cs-uri-stem sc-status time-taken\n"
	w3cLine  = "2026-11-20 09:00:10 GET /a 200 250\n"
	afdLines = `{"time":"2026-11-20T09:00:00.250Z","category":"FrontDoorAccessLog","properties":{"httpMethod":"POST","requestUri":"https://shop.example:443/pay","httpStatusCode":"403","timeTaken":"0.012","clientIp":"203.0.113.7"}}
{"time":"2026-11-20T09:00:00.250Z","category":"FrontDoorWebApplicationFirewallLog","properties":{"clientIP":"203.0.113.7","requestUri":"https://shop.example:443/pay","action":"Block","host":"shop.example"}}
`
	afdSaid = "azure\n1: POST /pay 403, end 2026-11-20T09:00:00.25Z, latency ns 12000000, scheme \"https\", host \"shop.example:443\", client \"203.0.113.7\"\n1 no request: another message: it has neither a method nor a status; line 2"
)

// Logs that were taken for something else, or were not recognised.
func TestKinds(t *testing.T) {
	for _, c := range []struct{ name, log, format, want string }{
		{"comments before", strings.Repeat("# c\n", 30) + oneLine, "", "combined\n31: " + oneSaid},
		{"blank lines before", strings.Repeat("\n", 30) + oneLine, "", "combined\n31: " + oneSaid},
		{"start messages before", strings.Repeat("starting worker\n", 60) + strings.Repeat(jsonLine, 3), "", "json\n61: GET /j 200, end (second) 2026-11-20T09:00:00Z\n62: GET /j 200, end (second) 2026-11-20T09:00:00Z\n63: GET /j 200, end (second) 2026-11-20T09:00:00Z\n60 bad line: not a JSON object; line 1"},
		{"heads of W3C", strings.Repeat(w3cHead, 5) + w3cLine, "", "w3c\n21: GET /a 200, end (second) 2026-11-20T09:00:10Z, latency ns 250000000"},
		{"leading blanks", "  " + oneLine, "", "combined\n1: " + oneSaid},
		{"leading blanks of HAProxy", ` 203.0.113.7:59692 [20/Nov/2026:15:05:32.500] http-in b/s 0/0/0/0/7 304 134 - - ---- 1/1/0/0/0 0/0 "GET /a HTTP/1.1"` + "\n", "", `haproxy
1: GET /a 304, start 2026-11-20T15:05:32.5Z, latency ns 7000000, bytes 134, client "203.0.113.7"`},
		{"HAProxy httpslog", `203.0.113.7:59692 [20/Nov/2026:15:05:32.500] in~ b/s 0/0/0/0/7 200 134 - - ---- 1/1/0/0/0 0/0 "GET /a HTTP/1.1" 0/0000000000000000/0/0/0 shop.example/TLSv1.3/TLS_AES_256_GCM_SHA384` + "\n", "", `haproxy
1: GET /a 200, start 2026-11-20T15:05:32.5Z, latency ns 7000000, bytes 134, scheme "https", client "203.0.113.7"`},
		{"azure by itself", afdLines, "", afdSaid},
		{"azure by name", afdLines, "azure", afdSaid},
		{"CloudFront JSON", `{"date":"2026-11-20","time":"09:00:00","sc-bytes":"484","c-ip":"203.0.113.7","cs-method":"GET","cs(Host)":"d1.cloudfront.net","cs-uri-stem":"/a","sc-status":"302","cs-uri-query":"-","x-host-header":"shop.example","cs-protocol":"https","time-taken":"0.358"}` + "\n", "", `cloudfront
1: GET /a 302, end (second) 2026-11-20T09:00:00Z, latency ns 358000000, bytes 484, scheme "https", host "shop.example", client "203.0.113.7"`},
		{"date and time apart", `{"time":"09:00:00.5","date":"2026-11-20","method":"GET","path":"/a","status":200}` + "\n", "", "json\n1: GET /a 200, end 2026-11-20T09:00:00.5Z"},
		{"response_status", `{"timestamp":"2026-11-20T09:00:00+00:00","request_time":0.003,"response_status":404,"request":"GET /a HTTP/1.1","host":"shop.example"}` + "\n", "", `json
1: GET /a 404, end (second) 2026-11-20T09:00:00Z, latency ns 3000000, host "shop.example"`},
		{"tunnels of Squid", strings.Repeat("1795165201.277   3387 203.0.113.7 TCP_TUNNEL/200 19131 CONNECT shop.example:443 - HIER_DIRECT/10.0.0.8 -\n", 2), "", "squid\n2 no request: CONNECT opens a tunnel; line 1"},
		{"CONNECT with a path", strings.Replace(oneLine, "GET /a", "CONNECT /", 1) + oneLine, "", "combined\n2: " + oneSaid + "\n1 no request: CONNECT opens a tunnel; line 1"},
		{"JTL with tabs", "timeStamp\telapsed\tlabel\tresponseCode\n1795165200250\t139\thttp://shop.example/a\t200\n", "", `jtl-csv
2: GET /a 200, start 2026-11-20T09:00:00.25Z, latency ns 139000000, scheme "http", host "shop.example"`},
		{"JTL without URLs", "timeStamp,elapsed,label,responseCode\n1795165200250,139,Login,200\n", "", "jtl-csv\n1 no request: the sample has no URL; for those of HTTP, record again with jmeter.save.saveservice.url=true in JMeter's user.properties; line 2"},
		{"k6", "metric_name,timestamp,metric_value,method,status,url,extra_tags\nhttp_reqs,1795165200,1.0,POST,201,https://shop.example/a,\nhttp_req_duration,1795165200,114.365,POST,201,https://shop.example/a?b=1,\nvus,1795165200,2,,,,\n", "", `k6-csv
3: POST /a?b=1 201, end (second) 2026-11-20T09:00:00Z, latency ns 114365000, scheme "https", host "shop.example"
2 no request: a row of another metric than http_req_duration; line 2`},
		{"GoReplay", "1 8e091765ae902fef8a2b7d9d 1795165200250000000 0\nPOST /a?b=1 HTTP/1.1\r\nHost: shop.example\r\nX-Two: 2\r\nCookie: s=1\r\nContent-Length: 3\r\n\r\nx\ny\n🐵🙈🙉\n2 8e091765ae902fef8a2b7d9d 1795165200350000000 100\nHTTP/1.1 200 OK\r\n\r\n\n🐵🙈🙉\n", "", `gor
1: POST /a?b=1 0, start 2026-11-20T09:00:00.25Z, request bytes 3, host "shop.example", body "x\ny", header "X-Two: 2\r\n"
1 no request: an answer; GoReplay's requests are replayed; line 11
1 without: header cookie; line 1`},
		{"Traefik 1", `203.0.113.7 - - [20/Nov/2026:09:00:00 +0000] "GET /a HTTP/2.0" 200 512 - "curl/8.5.0" 13 "front" "http://10.0.0.8:80" 247ms` + "\n", "", `combined
1: GET /a 200, start (second) 2026-11-20T09:00:00Z, latency ns 247000000, bytes 512, client "203.0.113.7", agent "curl/8.5.0"`},
		{"list of X-Forwarded-For", "203.0.113.7, 10.0.0.1" + strings.TrimPrefix(oneLine, "203.0.113.7"), "", "forwarded\n1: " + oneSaid},
		{"proxy and X-Forwarded-For", "10.0.0.8 203.0.113.7" + strings.TrimPrefix(oneLine, "203.0.113.7"), "", "forwarded\n1: " + oneSaid},
		{"host and X-Forwarded-For", "shop.example 10.0.0.2, 10.0.0.1, 203.0.113.7" + strings.TrimPrefix(oneLine, "203.0.113.7"), "", "forwarded\n1: " + strings.Replace(oneSaid, "client", `host "shop.example", client`, 1)},
		{"host and X-Forwarded-For in quotes", `shop.example:443 "10.0.0.2, 203.0.113.7" 10.0.0.8` + strings.TrimPrefix(oneLine, "203.0.113.7"), "", "forwarded\n1: " + strings.Replace(oneSaid, "client", `host "shop.example", client`, 1)},
		{"X-Forwarded-For with one address", "203.0.113.7, 10.0.0.1" + strings.TrimPrefix(oneLine, "203.0.113.7") + strings.Repeat(oneLine, 2) + "shop.example " + oneLine, "", "forwarded\n1: " + oneSaid + "\n2: " + oneSaid + "\n3: " + oneSaid + "\n4: " + strings.Replace(oneSaid, "client", `host "shop.example", client`, 1)},
		{"lighttpd", strings.Replace(oneLine, "- -", "shop.example -", 1), "", "combined\n1: " + strings.Replace(oneSaid, "client", `host "shop.example", client`, 1)},
		{"a collector's object", `{"@timestamp":"2026-11-20T09:00:01Z","host":{"name":"web1"},"message":"web1 nginx: ` + strings.ReplaceAll(strings.TrimSpace(oneLine), `"`, `\"`) + `"}` + "\n", "", "combined\n1: " + oneSaid},
		{"an object behind stamp and host", "2026-11-20T09:00:01.613304+00:00 10.0.0.8  " + `{"timestamp":"2026-11-20T09:00:00+0000","request_method":"GET","url":"/a","response_status":200,"response_body_size":512,"duration_ms":12}` + "\n", "", `json
1: GET /a 200, end (second) 2026-11-20T09:00:00Z, latency ns 12000000, bytes 512`},
		{"the last line without its end", strings.Repeat("level=info msg=start\n", 5) + "t=2026-11-20T09:00:00.5Z level=info method=GET path=/a status=200 duration=12ms", "", `logfmt
6: GET /a 200, end 2026-11-20T09:00:00.5Z, latency ns 12000000
5 no request: another message: it has neither a method nor a status; line 1`},
		{"samples of JMeter that are not of HTTP", `<?xml version="1.0"?><testResults><sample t="5" ts="1795165200250" lb="all" rc="200"><httpSample t="5" ts="1795165200250" lb="http://h/a" rc="200"/></sample><sample t="5" ts="1795165200250" lb="sql" rc="200"/></testResults>`, "", `jtl-xml
1: GET /a 200, start 2026-11-20T09:00:00.25Z, latency ns 5000000, scheme "http", host "h"
1 no request: the sample contains others, which are the requests; line 1
1 no request: a sample of another kind than HTTP; line 1`},
		{"the cache of Chrome", `{"log":{"entries":[{"startedDateTime":"2026-11-20T09:00:00Z","time":1,"_fromCache":"disk","request":{"method":"GET","url":"http://h/a"}}]}}`, "", "har\n1 no request: the browser answered it from its cache, so the server did not get it; line 1"},
		{"Application Gateway 1", `{"time":"2026-11-20T09:00:00Z","properties":{"clientIP":"203.0.113.7","httpMethod":"GET","requestUri":"/a","requestQuery":"X-AzureApplicationGateway-CACHE-HIT=0&SERVER-ROUTED=10.0.0.8&X-AzureApplicationGateway-LOG-ID=8-1&SERVER-STATUS=404","httpStatus":404}}` + "\n", "", `azure
1: GET /a 404, end (second) 2026-11-20T09:00:00Z, client "203.0.113.7"`},
	} {
		if got := said(t, c.log, Options{Format: c.format}); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
	for _, taken := range []int{1, 10, 120, 1200, 12000} {
		if got := said(t, squidLines(taken), Options{NoTimes: true}); !strings.HasPrefix(got, "squid\n1: GET /a0 200, end 2026") || strings.Count(got, "\n") != 5 {
			t.Errorf("%d ms: %s", taken, got)
		}
	}
}

// What takt does not read is refused by name, with what to do, and without counts of lines that it did not try.
func TestRefusedByName(t *testing.T) {
	for log, want := range map[string]string{
		"RUN\tsim.Shop\tshop\t1617204667323\t \t3.3.1\nREQUEST\t9\t\thome\t1617204668272\t1617204668508\tOK\n":                                               "simulation.log of Gatling",
		"ASSERTION\tAAMDAAMDAAAA\nRUN\tsim.Shop\t\tshop\t1509787166682\t \t3.5.1\n":                                                                          "simulation.log of Gatling",
		`{"type":"Metric","data":{"name":"http_reqs","type":"counter"},"metric":"http_reqs"}` + "\n":                                                         "k6 run --out csv=FILE",
		"response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n0.0083,0.0006,0.0004,0.0001,0.0075,0.0000,200,0.0000\n": "CSV of hey",
		"2026-11-20 09:00:34 W3SVC2 web1 10.0.0.8 GET /a - 80 - 203.0.113.7 HTTP/1.1 agent - - shop.example 404 0 2 1437 534 0\n":                            "put the line #Fields of the server before it",
	} {
		if _, err := New("log", strings.NewReader(log), Options{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "0 of the first") {
			t.Errorf("%.40q: %v, want %s", log, err, want)
		}
	}
}

// A replay at a rate needs no times; with the recorded times a line without one is bad.
func TestEntriesWithoutTimes(t *testing.T) {
	log := `{"log":{"entries":[{"request":{"method":"GET","url":"http://h/a"},"response":{"status":200}},{"startedDateTime":"soon","request":{"method":"GET","url":"http://h/b"},"response":{"status":200}}]}}`
	if got := said(t, log, Options{NoTimes: true}); got != "har\n1: GET /a 200, scheme \"http\", host \"h\"\n2: GET /b 200, scheme \"http\", host \"h\"\n2 without: the time, which is not understood; a replay at a rate does not need it; line 1" {
		t.Error(got)
	}
	if got := said(t, log, Options{}); got != "har\n1 bad line: no time; a replay at a rate, as with --rate or --tps, does not need it; line 1\n1 bad line: the time is not understood; line 2" {
		t.Error(got)
	}
}

// The time of an entry is the one of the archive, or the sum of its phases, or unknown.
func TestHARTimes(t *testing.T) {
	for times, want := range map[string]time.Duration{
		`"time":12`: 12 * time.Millisecond,
		`"timings":{"blocked":-1,"dns":-1,"connect":-1,"send":1,"wait":196,"receive":0}`:  197 * time.Millisecond,
		`"time":null,"timings":{"send":1,"wait":196,"receive":0.5,"connect":2.5,"ssl":2}`: 200 * time.Millisecond,
		`"time":-1,"timings":{"send":1,"wait":2,"receive":3}`:                             6 * time.Millisecond,
		`"time":0,"timings":{}`:                                     trace.Unknown,
		`"time":0,"timings":{"send":0,"wait":0,"receive":0}`:        0,
		`"timings":{"blocked":-1,"send":-1,"wait":-1,"receive":-1}`: trace.Unknown,
		`"comment":"nothing"`:                                       trace.Unknown,
	} {
		log := `{"log":{"entries":[{"startedDateTime":"2026-05-01T10:00:00Z",` + times + `,"request":{"method":"GET","url":"http://h/a"}}]}}`
		r, err := New("har", strings.NewReader(log), Options{})
		var rec trace.Record
		if err != nil || r.Next(&rec) != nil || rec.Latency != want {
			t.Errorf("%s: %v %v, want %v", times, rec.Latency, err, want)
		}
	}
}
