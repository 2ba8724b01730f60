package post

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// The errors of answers say whether a repetition is of use.
func TestSend(t *testing.T) {
	var status int
	var header, body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if header != "" {
			w.Header().Set("Retry-After", header)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer s.Close()
	c := New(s.URL, nil)
	defer c.Close(t.Context())
	for _, test := range []struct {
		status       int
		header, body string
		want         string
	}{
		{200, "", "", ""},
		{204, "", "", ""},
		{302, "", "", "the receiver answered 302 Found"},
		{400, "", "bad\n line  9", "the receiver answered 400 Bad Request: bad line 9"},
		{401, "", strings.Repeat("é", 300), "the receiver answered 401 Unauthorized: " + strings.Repeat("é", 100) + "…"},
		{429, "3", "", "the receiver answered 429 Too Many Requests"},
		{500, "", strings.Repeat("x", 1<<20), "the receiver answered 500 Internal Server Error: " + strings.Repeat("x", 200) + "…"},
	} {
		status, header, body = test.status, test.header, test.body
		err := c.Send(t.Context(), []byte("x"))
		if got := errorText(err); got != test.want {
			t.Errorf("%d: %q", test.status, got)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// An error does not show the URL, which may have secrets. The time limit ends a request.
func TestSendFails(t *testing.T) {
	free := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-free }))
	defer s.Close()
	defer close(free)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := New(s.URL+"/?token=secret", nil).Send(ctx, nil)
	if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	s2 := httptest.NewServer(nil)
	s2.Close()
	err = New(s2.URL+"/?token=secret", nil).Send(t.Context(), nil)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"http://h:1/a?b=c":                   "http://h:1/a?b=c",
		"http://ann@h/":                      "http://ann@h/",
		"https://ann:pa%40ss@h":              "https://ann:xxxxx@h pa@ss",
		"http://h/?token=a%2Fb&x=1&api_key=": "http://h/?token=xxxxx&x=1&api_key=xxxxx a/b",
		"http://h/?Token=t#f":                "http://h/?Token=xxxxx t",
		"ftp://h/":                           "",
		"http://":                            "",
		"http://:80/":                        "",
		"http://h:x/":                        "",
	} {
		a, err := Parse(text)
		got := ""
		if err == nil {
			got = strings.Join(slices.Concat([]string{a.Shown}, a.Secrets), " ")
		} else if strings.Contains(err.Error(), "h:x") {
			t.Errorf("the error shows the URL: %v", err)
		}
		if got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func TestAsked(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "5": 5 * time.Second, "-1": 0, "Wed, 21 Oct 2015 07:28:00 GMT": 0, "99999999": 0} {
		if got := asked(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
