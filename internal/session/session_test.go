package session

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func capture(t *testing.T, text string) []Capture {
	t.Helper()
	c, err := ParseCapture(text)
	if err != nil {
		t.Fatal(err)
	}
	return []Capture{c}
}

func TestCaptures(t *testing.T) {
	const body = `{"data":{"token":"a\"b","n":17,"ok":true,"list":[{"id":3}],"none":null,"break":"x\r\nX-Evil: 1"}}`
	for text, want := range map[string]string{
		"t json data.token": `a"b`, "t json $.data.n": "17", "t json data.ok": "true", "t json data.list.0.id": "3",
		"t json data.list": `{"id":3}`, "t json data.list.0": `{"id":3}`, "t json data.@this|list|@pretty|0": `{"id":3}`,
		`t regexp "n":(\d+)`: "17", `t regexp "n":\d+`: `"n":17`,
	} {
		var s Session
		if err := s.Body(capture(t, text), []byte(body), nil); err != nil || string(s.Value("t")) != want {
			t.Errorf("%s: %q, %v", text, s.Value("t"), err)
		}
	}
	for text, want := range map[string]string{
		"t json data.no": "does not have it", "t json data.none": "it is null",
		"t json data.list.7": "does not have it", "t json data.break": "control character", "t regexp zzz": "does not have it",
		"t header X-Token": "does not have it", "t json a.b.c": "does not have it",
	} {
		var s Session
		err := s.Body(capture(t, text), []byte(body), nil)
		if !errors.Is(err, ErrCapture) || !strings.Contains(err.Error(), want) || s.Value("t") != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	var s Session
	if err := s.Body(capture(t, "t regexp .*"), []byte(strings.Repeat("x", MaxValue+1)), nil); err == nil {
		t.Error("a value without limit")
	}
	if err := s.Field(capture(t, "t header x-token"), Place{Path: "/"}, []byte("X-Token"), []byte("secret")); err != nil || string(s.Value("t")) != "secret" {
		t.Errorf("%q, %v", s.Value("t"), err)
	}
	for _, text := range []string{"", "t", "t json", "9 json a", "a-b json c", "t xml a", "t regexp ("} {
		if _, err := ParseCapture(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// A path with # has several values, and a capture takes one of them; $ begins a path in JSONPath.
func TestSeveralValues(t *testing.T) {
	const body = `{"items":[{"sku":"a","id":1},{"sku":"b c","id":2},{"sku":"d","id":3}],"odd.name":"x","none":[]} <a href="/1"> <a href="/2">`
	whole := []byte(body)
	object := whole[:strings.Index(body, " <a")]
	for text, want := range map[string]string{
		"t json items.#.id": "1", "t last json items.#.id": "3", "t random json items.#.id": "2", "t first json items.#.id": "1", "t json items.#": "3",
		`t json items.#(sku=="b c").id`: "2", `t json items.#(id>1)#.sku`: "b c", `t json $.items[2].id`: "3", `t json $.items[*].sku`: "a",
		`t json $.items[?(@.sku=="d")].id`: "3", `t json $['odd.name']`: "", `t json odd\.name`: "x",
		`t json none.#.id`: "", `t json items.#(sku=="z")#.id`: "", `t json items`: `{"sku":"a","id":1}`, "t last json items": `{"sku":"d","id":3}`,
		`t last regexp href="(.*?)"`: "/2", `t random regexp href="/(.*?)"`: "2", "t body": "",
	} {
		s := Session{Draw: func(n int) int { return 1 }}
		in := object
		if strings.Contains(text, "regexp") {
			in = whole
		}
		err := s.Body(capture(t, text), in, nil)
		if got := string(s.Value("t")); text != "t body" && (got != want || (err == nil) != (want != "")) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{"t cookie sid": "a=1", "t cookie sid regexp =(.)": "1", "t header Location regexp /orders/([0-9]+)": "17", "t header location": "/orders/17", "t cookie old": ""} {
		var s Session
		list := capture(t, text)
		for _, line := range [][2]string{{"Location", "/orders/17"}, {"Set-Cookie", "sid=a=1; Path=/"}, {"Set-Cookie", "old=1; Max-Age=0"}} {
			if err := s.Field(list, Place{Path: "/"}, []byte(line[0]), []byte(line[1])); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		if got := string(s.Value("t")); got != want || (s.Body(list, nil, nil) == nil) != (want != "") {
			t.Errorf("%s: %q", text, got)
		}
	}
	for _, text := range []string{"t header Location /orders", "t header X regexp (", "t cookie", "t any json a", "t cookie a regexp"} {
		if _, err := ParseCapture(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestQuotesInChecks(t *testing.T) {
	c, err := ParseCheck(`json state == "done"`)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Holds([][]byte{[]byte("done")}, c.Value); err == nil || !strings.Contains(err.Error(), "leave them out") {
		t.Error(err)
	}
	if err := c.Holds([][]byte{[]byte("do")}, c.Value); err == nil || strings.Contains(err.Error(), "quotes") {
		t.Error(err)
	}
}

// A list may be missing, empty or null: all of them say that there is no further page. A list with null in it is refused.
func TestLists(t *testing.T) {
	const body = `{"next":"/2","last":null,"none":[],"holes":["a",null]}`
	for text, want := range map[string]struct{ value, fault string }{
		"t all json next": {value: "/2"}, "t all json last": {}, "t all json none": {}, "t all json no": {},
		"t all json holes": {fault: "an element of the list is null"}, "t json last": {fault: "it is null; with all"},
	} {
		var s Session
		err := s.Body(capture(t, text), []byte(body), nil)
		if string(s.Value("t")) != want.value || (err == nil) != (want.fault == "") || err != nil && !strings.Contains(err.Error(), want.fault) {
			t.Errorf("%s: %q, %v", text, s.Value("t"), err)
		}
	}
}

func TestChecks(t *testing.T) {
	const body = `{"n":17,"state":"done","list":["a","b"],"empty":"","object":{ "a" : [1, {"b" :2}]}}` + "\r\n"
	for text, holds := range map[string]bool{
		"json n == 17": true, "json n == 17.0": true, "json n != 17": false, "json n < 18": true, "json n <= 17": true, "json n > 17": false, "json n >= 17": true,
		"json state == done": true, "json state < 3": false, "json state contains on": true, "json state matches ^d.*e$": true, "json state matches x": false,
		"json no": false, "json n": true, "json list.# == 2": true, "json object": true, `json object == {"a":[1,{"b":2}]}`: true, "json list.#.x": false, `json list.#(=="b") == b`: true, "body contains done": true, "body matches \\}$": true, "body contains zzz": false,
		"regexp st.te": true, "json empty": true,
	} {
		c, err := ParseCheck(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		values, err := c.Body([]byte(body))
		if err == nil {
			err = c.Holds(values, c.Value)
		}
		if (err == nil) != holds {
			t.Errorf("%s: %v", text, err)
		}
	}
	c, err := ParseCheck("header Content-Type contains json")
	if err != nil {
		t.Fatal(err)
	}
	if part, ok := c.Header([]byte("Content-Type"), []byte("application/json")); !ok || c.Holds([][]byte{part}, c.Value) != nil {
		t.Errorf("%q, %v", part, ok)
	}
	if err := c.Holds(nil, c.Value); !errors.Is(err, ErrCheck) {
		t.Error(err)
	}
	for _, text := range []string{"", "json", "json a ==", "json a matches (", "xml a", "header X oops"} {
		if _, err := ParseCheck(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestCookies(t *testing.T) {
	var s Session
	set := func(path, header string) { _ = s.Field(nil, Place{Path: path}, []byte("Set-Cookie"), []byte(header)) }
	want := func(path, list string) {
		t.Helper()
		if got := string(s.Cookies(nil, Place{Path: path})); got != list {
			t.Errorf("%s: %q, want %q", path, got, list)
		}
	}
	set("/login", "sid=1; Path=/; HttpOnly")
	set("/shop/cart?x=/1", "cart=a")
	set("/", "tls=1; Secure")
	want("/", "sid=1")
	want("/shop/x?y", "sid=1; cart=a")
	want("/shopping", "sid=1")
	set("/login", "sid=2; Path=/")
	want("/", "sid=2")
	set("/", "sid=; Path=/; Max-Age=0")
	want("/", "")
	set("/", "sid=3; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT")
	set("/", "long=1; Max-Age=9999999999") // 317 years, too long for a time.Duration
	want("/", "long=1")
	set("/", "long=; Max-Age=-1")
	set("/", "big="+strings.Repeat("x", 1<<20))
	set("/", "evil=a\r\nX: 1")
	want("/", "")
	for i := range 200 {
		set("/", fmt.Sprintf("c%d=%d", i, i))
	}
	if got := string(s.Cookies(nil, Place{Path: "/"})); strings.Count(got, "=") != maxCookies || !strings.HasSuffix(got, "c199=199") {
		t.Error(got)
	}
	s.Forget()
	want("/", "")
}

// A cookie goes back as RFC 6265, 5.2 has it: with its quotes, without blanks around it, and whatever its value has.
func TestCookieValues(t *testing.T) {
	for header, want := range map[string]string{
		`sid="a b"`: `sid="a b"`, ` sid =  x y  ; Path=/`: "sid=x y", "sid=": "sid=", "sid=a=b==": "sid=a=b==", "sid=a,b": "sid=a,b",
		"sid=\xc3\xbc": "sid=\xc3\xbc", "=x": "", "x": "", ";": "", `sid="`: `sid="`, "a b=c": "a b=c",
		"sid=1; Max-Age=0": "", "sid=1; max-age = 60": "sid=1", "sid=1; Max-Age=x": "sid=1", "sid=1; Max-Age=-9999999999999999999999": "",
		"sid=1; Expires=Thu, 01-Jan-70 00:00:01 GMT": "", "sid=1; Expires=Thu Jan  1 00:00:01 1970": "", "sid=1; expires=Sun, 06 Nov 2094 08:49:37 GMT": "sid=1",
		"sid=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:01 GMT": "sid=1", "sid=1; Expires=Thu, 01 Jan 1970 00:00:01 GMT; Max-Age=60": "sid=1",
		"sid=1; Expires=soon": "sid=1", "sid=1; Expires=Thu, 31 Feb 1970 00:00:01 GMT": "sid=1", "sid=1; Secure": "",
	} {
		var s Session
		_ = s.Field(nil, Place{Path: "/"}, []byte("Set-Cookie"), []byte(header))
		if got := string(s.Cookies(nil, Place{Path: "/"})); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

// A round has the values of another session, and of its own only those that last; neither of the two sees what the other one
// sets later.
func TestBegin(t *testing.T) {
	var from, s Session
	from.Set("tenant", []byte("t1"))
	from.Set("empty", nil)
	if err := from.setList("keys", [][]byte{[]byte("a"), []byte("b")}); err != nil {
		t.Fatal(err)
	}
	s.Set("token", []byte("old"))
	s.Set("id", []byte("7"))
	_ = s.Field(nil, Place{Host: "a.test", Path: "/"}, []byte("Set-Cookie"), []byte("sid=1"))
	s.Begin([]string{"token", "none"}, &from)
	s.Set("tenant", []byte("t2"))
	s.Unset("keys")
	got := fmt.Sprintf("%s %s %s %v %v %s %v", s.Value("token"), s.Value("tenant"), s.Cookies(nil, Place{Host: "a.test", Path: "/"}), s.Value("id") == nil, s.Value("empty") != nil, from.Value("tenant"), len(from.List("keys")))
	if got != "old t2 sid=1 true true t1 2" {
		t.Error(got)
	}
	var first Session
	if first.Begin(nil, new(Session)); first.Value("a") != nil {
		t.Error("a value from nowhere")
	}
	first.Set("a", []byte("1"))
}

// A cookie goes to the host that set it, and to others of its domain only if it names this domain. A domain that the host
// is not in, or that has no dot, changes nothing.
func TestCookiesOfHosts(t *testing.T) {
	var s Session
	for _, c := range []struct{ host, header string }{
		{"auth.shop.test", "own=1"}, {"auth.shop.test", "shared=1; Domain=.shop.test"}, {"auth.shop.test", "other=1; Domain=bank.test"},
		{"auth.shop.test", "top=1; Domain=test"}, {"127.0.0.1", "address=1; Domain=0.0.1"}, {"evilshop.test", "evil=1; Domain=shop.test"},
		{"www.shop.test", "own=2"}, {"127.0.0.1", "shop=1; Domain=shop.test"},
	} {
		_ = s.Field(nil, Place{Host: c.host, Path: "/"}, []byte("Set-Cookie"), []byte(c.header))
	}
	for host, want := range map[string]string{
		"auth.shop.test": "own=1; shared=1; other=1; top=1", "AUTH.shop.test": "own=1; shared=1; other=1; top=1", "www.shop.test": "shared=1; own=2", "shop.test": "shared=1", "bank.test": "", "test": "", "x.test": "",
		"127.0.0.1": "address=1; shop=1", "evilshop.test": "evil=1", "10.0.0.1": "",
	} {
		if got := string(s.Cookies(nil, Place{Host: host, Path: "/"})); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
	for i := range 2 * maxCookies {
		_ = s.Field(nil, Place{Host: "many.test", Path: "/"}, []byte("Set-Cookie"), fmt.Appendf(nil, "c%d=1", i))
	}
	if got := string(s.Cookies(nil, Place{Host: "www.shop.test", Path: "/"})); got != "shared=1; own=2" {
		t.Errorf("the cookies of one host leave room for %q of another", got)
	}
}
