package http

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/correlate"
)

// A recording with texts that a file could take for something else is read as the steps that it has, and each step sends
// what was recorded.
func TestRecordedIsReadBack(t *testing.T) {
	for _, text := range hostile {
		value := "Ab1Xy2Zz9" + text
		answer, err := json.Marshal(map[string]any{text: value, "id": text, "a" + text: []string{value}})
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(map[string]any{text: text, "token": value})
		if err != nil {
			t.Fatal(err)
		}
		var sent struct{ Token string } // what a JSON text makes of bytes that are no characters
		if err := json.Unmarshal(body, &sent); err != nil {
			t.Fatal(err)
		}
		form := url.Values{text: {text}, "token": {value}}.Encode()
		at := time.Now()
		var list []correlate.Exchange
		add := func(method, kind, body string, u *url.URL) {
			at = at.Add(time.Second)
			header := http.Header{"X-Value": {value}}
			if kind != "" {
				header.Set("Content-Type", kind)
			}
			list = append(list, correlate.Exchange{Began: at, Ended: at.Add(time.Millisecond), Method: method, URL: u, Header: header, Body: []byte(body), Status: 200, Answer: http.Header{"Content-Type": {"application/json"}, "Location": {"/x/" + text}}, Content: answer})
		}
		home := &url.URL{Scheme: "http", Host: "shop.example", Path: "/"}
		odd := &url.URL{Scheme: "http", Host: "shop.example", Path: "/p/" + text + "/" + value, RawQuery: url.Values{"q": {value}, text: {text}}.Encode()}
		list = append(list, correlate.Exchange{Began: at, Ended: at, Method: "GET", URL: home, Status: 200, Answer: http.Header{"Content-Type": {"application/json"}}, Content: answer})
		add("GET", "", "", odd)
		add("POST", "application/json", string(body), home)
		add("POST", "application/x-www-form-urlencoded", form, home)
		add("POST", "text/plain", text, home)
		m := correlate.From(list, correlate.Options{})
		file := string(m.Scene.Text())
		o := New()
		o.Scenario = scenarioFile(t, file)
		if faults := o.Validate([]string{m.Scene.Home()}); len(faults) > 0 {
			t.Errorf("%q: %v\n%s", text, faults, file)
			continue
		}
		read := o.requests.(*scenario)
		if len(read.Steps) != len(list) {
			t.Errorf("%q: %d steps\n%s", text, len(read.Steps), file)
			continue
		}
		v := read.visit(0)
		for _, s := range read.Steps {
			for _, c := range s.Captures {
				v.session.Set(c.Name, []byte(sent.Token))
			}
		}
		if got := read.fill(v, read.Steps[2].Body); !json.Valid([]byte(got)) || !strings.Contains(got, `"token":`) {
			t.Errorf("%q: the body is %q\n%s", text, got, file)
		}
		if got := read.fill(v, read.Steps[4].Body); got != text && !json.Valid([]byte(text)) { // JSON loses its blanks
			t.Errorf("%q: the body is %q\n%s", text, got, file)
		}
	}
}
