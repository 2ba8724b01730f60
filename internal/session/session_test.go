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
		`t regexp "n":(\d+)`: "17", `t regexp "n":\d+`: `"n":17`,
	} {
		var s Session
		if err := s.Body(capture(t, text), []byte(body), nil); err != nil || string(s.Value("t")) != want {
			t.Errorf("%s: %q, %v", text, s.Value("t"), err)
		}
	}
	for text, want := range map[string]string{
		"t json data.no": "does not have it", "t json data.none": "is not a string", "t json data": "is not a string",
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
	if err := s.Field(capture(t, "t header x-token"), "/", false, []byte("X-Token"), []byte("secret")); err != nil || string(s.Value("t")) != "secret" {
		t.Errorf("%q, %v", s.Value("t"), err)
	}
	for _, text := range []string{"", "t", "t json", "9 json a", "a-b json c", "t xml a", "t regexp ("} {
		if _, err := ParseCapture(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestCookies(t *testing.T) {
	var s Session
	set := func(path, header string) { _ = s.Field(nil, path, false, []byte("Set-Cookie"), []byte(header)) }
	want := func(path, list string) {
		t.Helper()
		if got := string(s.Cookies(nil, path, false)); got != list {
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
	if got := string(s.Cookies(nil, "/", false)); strings.Count(got, "=") != maxCookies || !strings.HasSuffix(got, "c199=199") {
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
		_ = s.Field(nil, "/", false, []byte("Set-Cookie"), []byte(header))
		if got := string(s.Cookies(nil, "/", false)); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}
