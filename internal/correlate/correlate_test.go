package correlate

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// began is when all recordings of these tests begin.
var began = time.Date(2026, 11, 29, 23, 30, 0, 0, time.UTC)

// talk is a recording in the making: one exchange after the other, a second apart.
type talk struct {
	t    *testing.T
	list []Exchange
}

// say adds a request, written as METHOD URL, header lines, and after an empty line the body, with its answer, whose first
// line is the status.
func (k *talk) say(request, answer string) {
	k.t.Helper()
	first, header, body := message(request)
	status, given, content := message(answer)
	method, at, _ := strings.Cut(first, " ")
	u, err := url.Parse(at)
	if err != nil {
		k.t.Fatal(err)
	}
	if u.Host == "" {
		u.Scheme, u.Host = "https", "shop.example"
	}
	at0 := began.Add(time.Duration(len(k.list)) * time.Second)
	e := Exchange{Began: at0, Answered: at0.Add(50 * time.Millisecond), Ended: at0.Add(100 * time.Millisecond), Method: method, URL: u, Header: header, Body: []byte(body), Answer: given, Content: []byte(content), Size: int64(len(content))}
	for _, c := range status {
		e.Status = e.Status*10 + int(c-'0')
	}
	k.list = append(k.list, e)
}

func message(text string) (first string, header http.Header, body string) {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	header = http.Header{}
	for _, l := range lines[1:] {
		name, v, _ := strings.Cut(l, ": ")
		header.Add(name, v)
	}
	return lines[0], header, body
}

// steps is the file without its names, statuses and think times.
func steps(m Made) string {
	var b strings.Builder
	for line := range strings.Lines(string(m.Scene.Text())) {
		if !strings.HasPrefix(line, "@name") && !strings.HasPrefix(line, "@check status") && !strings.HasPrefix(line, "@think") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestFrom(t *testing.T) {
	for name, one := range map[string]struct {
		talk func(*talk)
		want string
	}{
		"token of a login": {func(k *talk) {
			k.say("POST /login\nContent-Type: application/json\n\n{\"user\": \"ann\",\n \"password\": \"tiger\"}", "200\nContent-Type: application/json\n\n"+`{"user":{"id":4711},"access_token":"eyJhbGciOi.J9x_3-1"}`)
			k.say("GET /users/4711/orders?page=1\nAuthorization: Bearer eyJhbGciOi.J9x_3-1\nUser-Agent: x\nAccept: application/json", "200\n\n[]")
		}, `# the JSON value password has what was typed; for a user each, write {{file "users.csv" 2}}
POST /login
Content-Type: application/json
@body {"user":"ann","password":"tiger"}
@capture user_id json user.id
@capture access_token json access_token

GET /users/{{url user_id}}/orders?page=1
Accept: application/json
Authorization: Bearer {{access_token}}
`},
		"hidden field and meta": {func(k *talk) {
			k.say("GET /form", "200\nContent-Type: text/html\n\n<meta content=\"hZ9-kk2LmQ8w\" name=\"csrf-token\"><form>\n<input type=hidden name=\"other\" value=\"x\"><input type=\"hidden\"\n name=\"_csrf\" value=\"Ab3+/x9Q==\"><a href=\"/pages/177/edit\">")
			k.say("POST /form\nContent-Type: application/x-www-form-urlencoded\nX-CSRF-Token: hZ9-kk2LmQ8w\nOrigin: https://shop.example\nReferer: https://shop.example/form\n\n_csrf=Ab3%2B%2Fx9Q%3D%3D&text=a+b%26c", "302\nLocation: /notes/7")
			k.say("GET /notes/7\nReferer: https://shop.example/form", "200\n\nok")
			k.say("GET /pages/177/edit", "200\n\nok")
		}, `GET /form
@capture csrf_token css meta[name=csrf-token] attr content
@capture csrf css input[name=_csrf] attr value
@capture page_id regexp pages/([^ \t\r\n<>"'/]+)

POST /form
Origin: https://shop.example
Referer: https://shop.example/form
X-Csrf-Token: {{csrf_token}}
@form _csrf {{csrf}}
@form text a b&c
@capture note_id header Location regexp /notes/([^/?#]+)

GET /notes/{{url note_id}}

GET /pages/{{url page_id}}/edit
`},
		"what the client makes": {func(k *talk) {
			k.say("GET /days/2026-11-29?until=2026-12-06&at=1795995001&t=1795995000123&born=1990-05-03", "200\n\n{}")
			k.say("POST /orders\nContent-Type: application/json\nIdempotency-Key: 0d9a1e1c-3b7a-4a55-9d0a-6f1f5d8a9b10\n\n{\"id\":\"5b0d6a0e-92b6-4f0e-8a55-0f4e2b6f7a11\",\"at\":\"2026-11-29T23:30:01.250Z\",\"slot\":\"2026-11-30T09:30:00Z\"}", "201\n\n{}")
			k.say("PUT /orders/5b0d6a0e-92b6-4f0e-8a55-0f4e2b6f7a11\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n\nx", "200\n\n{}")
		}, `GET /days/{{date "%F"}}?until={{date "%F" +168h}}&at={{date "%s"}}&t={{unixMilli}}&born=1990-05-03

POST /orders
Content-Type: application/json
Idempotency-Key: {{uuid}}
@body {"id":"{{id}}","at":"{{date "%FT%H:%M:%S.%LZ"}}","slot":"{{date "%FT09:30:00Z" +24h}}"}
@set id {{uuid}}

PUT /orders/{{id}}
Traceparent: 00-{{randHex 32}}-{{randHex 16}}-01
@body x
`},
		"what stays": {func(k *talk) {
			k.say("GET /list?lang=en&page=1&active=true&size=20", "200\nContent-Type: application/json\n\n"+`{"lang":"en","page":1,"active":true,"size":20,"state":"open","names":["orders"],"sent":"Zx81-Spectrum48k"}`)
			k.say("GET /orders?lang=en&state=open&page=1&size=20&q=Zx81-Spectrum48k", "200\n\n[]")
			k.say("GET /orders/9?q=Zx81-Spectrum48k", "200\n\n[]")
		}, `GET /list?lang=en&page=1&active=true&size=20
@capture sent json sent

GET /orders?lang=en&state=open&page=1&size=20&q={{url sent}}

GET /orders/9?q={{url sent}}
`},
		"what the client sent first": {func(k *talk) {
			k.say("GET /search?q=Zx81-Spectrum48k", "200\n\n{\"q\":\"Zx81-Spectrum48k\",\"next\":\"/search?cursor=b64X9_yy82q\"}")
			k.say("GET /search?q=Zx81-Spectrum48k&cursor=b64X9_yy82q", "200\n\n{}")
		}, `# not known where from: the parameter q, "Zx81-Spectrum48k"
GET /search?q=Zx81-Spectrum48k
@capture cursor regexp cursor=([^"]+)

GET /search?q=Zx81-Spectrum48k&cursor={{url cursor}}
`},
		"cookie in a header": {func(k *talk) {
			k.say("GET /", "200\nSet-Cookie: XSRF-TOKEN=q8Hn-31-Lp0x; Path=/\n\n<p>")
			k.say("POST /x\nX-Xsrf-Token: q8Hn-31-Lp0x\nCookie: XSRF-TOKEN=q8Hn-31-Lp0x", "204")
		}, `GET /
@capture xsrf_token cookie XSRF-TOKEN

POST /x
X-Xsrf-Token: {{xsrf_token}}
`},
		"cookie that a script decodes": {func(k *talk) {
			k.say("GET /", "200\nSet-Cookie: XSRF-TOKEN=eyJpdiI6Ik9xR2dM%3D%3D; Path=/\n\n<p>")
			k.say("POST /x\nX-Xsrf-Token: eyJpdiI6Ik9xR2dM==", "204")
		}, `GET /
@capture xsrf_token cookie XSRF-TOKEN regexp ^([^%=]+)

POST /x
X-Xsrf-Token: {{xsrf_token}}==
`},
		"the only place that says it": {func(k *talk) {
			k.say("GET /", "200\nContent-Type: text/html\n\n<p>x <b>first Ab1Cd2Ef3Gh</b> <script>\n boot({key: 'x', sid: 'Qw9Er8Ty7Ui'});</script><i>first x</i>")
			k.say("GET /a?v=Ab1Cd2Ef3Gh&sid=Qw9Er8Ty7Ui", "204")
		}, `GET /
@capture v regexp first\s+([^ \t\r\n<>"']+)
@capture sid regexp sid:\s+'([^']+)

GET /a?v={{url v}}&sid={{url sid}}
`},
		"JSON in JSON and parts": {func(k *talk) {
			k.say("POST /a\nContent-Type: multipart/form-data; boundary=b\n\n--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\na{{b\r\n--b--\r\n", "200\nX-Next: p/Q9z-77aB1\n\n"+`{"items":[{"sku":"A-1"},{"sku":"B\"-2","note":"line\none7Q"}]}`)
			k.say("POST /b\nContent-Type: application/json\n\n"+`{"next": "p/Q9z-77aB1", "query":"{\"sku\":\"x\"}", "sku":"B\"-2"}`, "200\n\n")
		}, `POST /a
Content-Type: multipart/form-data; boundary=b
@body --b{{"\r\n"}}Content-Disposition: form-data; name="n"{{"\r\n\r\n"}}a{{"{"}}{b{{"\r\n"}}--b--{{"\r\n"}}
@capture next header X-Next
@capture sku json items.1.sku

POST /b
Content-Type: application/json
@body {"next":"{{json next}}","query":"{\"sku\":\"x\"}","sku":"{{json sku}}"}
`},
	} {
		k := &talk{t: t}
		one.talk(k)
		m := From(k.list, Options{})
		if got := steps(m); got != one.want {
			t.Errorf("%s:\n%s\nwant\n%s\n%q", name, got, one.want, m.Unknown)
		}
	}
}

// A value that a page has with entities has a source that decodes them.
func TestEntities(t *testing.T) {
	k := &talk{t: t}
	k.say("GET /form", "200\nContent-Type: text/html\n\n<form><input type=\"hidden\" name=\"csrf.Token\" value=\"Ab3&#43;x9Q/77zk==\">")
	k.say("POST /form\nContent-Type: application/x-www-form-urlencoded\n\ncsrf.Token=Ab3%2Bx9Q%2F77zk%3D%3D", "302\nLocation: /notes/7")
	if got := steps(From(k.list, Options{})); !strings.Contains(got, "css input[name=\"csrf.Token\"] attr value") {
		t.Errorf("%s", got)
	}
}

// Requests to hosts of the same site, and to those that redirects lead to and from, are steps with whole URLs.
func TestHosts(t *testing.T) {
	k := &talk{t: t}
	for range 3 {
		k.say("GET https://www.shop.example/", "200\nContent-Type: text/html\n\n<p>")
	}
	k.say("GET https://www.shop.example/account", "302\nLocation: https://login.example/in?to=account")
	k.say("GET https://login.example/in?to=account", "302\nLocation: https://id.example/form")
	k.say("GET https://id.example/form", "200\nContent-Type: text/html\n\n<input name=csrf value=Zx81-Spectrum48k>")
	k.say("POST https://id.example/form\nContent-Type: application/x-www-form-urlencoded\n\ncsrf=Zx81-Spectrum48k", "204\n\n")
	k.say("GET https://api.shop.example/me", "200\n\n{}")
	k.say("GET https://cdn.shop.example/a.js", "200\nContent-Type: text/javascript\n\n")
	k.say("POST https://counting.example/hit", "204\n\n")
	m := From(k.list, Options{})
	got := steps(m)
	for _, want := range []string{"GET /\n", "GET /account\n", "GET https://login.example/in?to=account\n", "POST https://id.example/form\n@form csrf {{csrf}}\n", "GET https://api.shop.example/me\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	notes := strings.Join(m.Notes, "\n")
	for _, want := range []string{"left out: requests to other hosts: cdn.shop.example 1, counting.example 1; --only names the hosts to keep", "steps on other hosts, which takt loads, too: id.example 2, api.shop.example 1, login.example 1"} {
		if !strings.Contains(notes, want) {
			t.Errorf("not said: %s\n%s", want, notes)
		}
	}
	if got := steps(From(k.list, Options{Only: []string{"www.shop.example", "counting.example"}})); !strings.Contains(got, "POST https://counting.example/hit\n") || strings.Contains(got, "login.example") {
		t.Error(got)
	}
}

// What is left out, and what a reader has to know, is said.
func TestNotes(t *testing.T) {
	k := &talk{t: t}
	k.say("GET /a\nCookie: old=1; sid=2", "200\nSet-Cookie: sid=3\n\n")
	k.say("GET /style.css", "200\nContent-Type: text/css\n\n")
	k.say("GET https://cdn.example/x", "200\n\n")
	k.say("GET /socket", "101\n\n")
	k.say("GET /events", "200\nContent-Type: text/event-stream\n\n")
	k.say("OPTIONS /a\nAccess-Control-Request-Method: PUT", "204\n\n")
	k.say("GET /b\nCookie: sid=3\nUser-Agent: other", "304\n\n")
	k.say("GET /c", "0")
	k.list[6].Began = k.list[0].Began.Add(50 * time.Millisecond)
	k.say("GET /d", "200\n\n")
	m := From(k.list, Options{})
	got := strings.Join(m.Notes, "\n")
	for _, want := range []string{
		"other hosts: cdn.example 1", "1 request for static files", "1 request that became a websocket", "1 request whose answer did not end", "1 request by which a browser asks", "1 request without an answer",
		`the cookie "old" is not sent`, "1 request began before the answer to an earlier one", "2 clients were recorded",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("not said: %s\n%s", want, got)
		}
	}
	want := "GET /a\n@check status 200\n\nGET /b\n@check status 200\n\nGET /d\n@think 1.9s\n@check status 200\n"
	if file := string(m.Scene.Text()); file != want {
		t.Errorf("%s\nwant\n%s", file, want)
	}
	if len(m.Sent) != 5 {
		t.Errorf("%d requests are in the load file", len(m.Sent))
	}
}

// Ten thousand values in each of a thousand answers are looked through in a time that grows with their length only.
func TestManyValues(t *testing.T) {
	var body strings.Builder
	body.WriteString(`{"list":[`)
	for i := range 10_000 {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"id":"id-%dX%dy"}`, i*7919, i)
	}
	body.WriteString("]}")
	k := &talk{t: t}
	for i := range 40 {
		k.say(fmt.Sprintf("GET /x/id-%dX%dy?n=%d", i*7919, i, i), "200\n\n"+body.String())
	}
	m := From(k.list, Options{})
	if m.Captured != 39 || !strings.Contains(string(m.Scene.Text()), "@capture list_id_39 json list.39.id") {
		t.Errorf("%d values\n%.2000s", m.Captured, m.Scene.Text())
	}
}
