package reader

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/formats"
)

// harOf is an archive of one request.
func harOf(request string) string {
	return `{"log":{"entries":[{"startedDateTime":"2026-05-01T10:00:00Z","time":1,"request":{"method":"POST","url":"http://h/",` + request + `}}]}}`
}

// What a browser sent is sent again, but for what belongs to a connection or to a person.
func TestHARHeader(t *testing.T) {
	in := harOf(`"headers":[{"name":":authority","value":"h"},{"name":"Host","value":"h"},{"name":"Content-Length","value":"7"},{"name":"Connection","value":"keep-alive"},
		{"name":"Accept-Encoding","value":"br"},{"name":"Transfer-Encoding","value":"chunked"},{"name":"Cookie","value":"secret"},{"name":"authorization","value":"secret"},
		{"name":"User-Agent","value":"browser"},{"name":"Referer","value":"http://h/x"},{"name":"X-Bad","value":"a\r\nb"},{"name":"X Bad","value":"a"},{"name":"X-Two","value":"1"},{"name":"x-two","value":"2"}],
		"postData":{"mimeType":"application/json","text":"{\"a\":1}"}`)
	r, err := New("har", strings.NewReader(in), Options{})
	var rec trace.Record
	if err != nil || r.Next(&rec) != nil {
		t.Fatal(err)
	}
	const want = "X-Two: 1\r\nx-two: 2\r\nContent-Type: application/json\r\n"
	if string(rec.Header) != want || !rec.Typed || string(rec.Body) != `{"a":1}` || string(rec.Agent) != "browser" || string(rec.Referer) != "http://h/x" {
		t.Errorf("%q, %+v", rec.Header, rec)
	}
	c := r.Counts()
	var got []string
	for _, r := range c.Left.Reasons() {
		got = append(got, fmt.Sprintf("%s %s %d %s", r.Kind, r.Why, r.Count, r.Place()))
	}
	if text := strings.Join(got, "; "); text != "without header cookie 1 har:1; without header authorization 1 har:1; without header user-agent 1 har:1; without header referer 1 har:1; without header not fit for a request 2 har:1" {
		t.Error(text)
	}
	var own trace.Record
	rec.CopyTo(&own)
	own.DropFields(func(name string) bool { return name == "x-two" })
	if got := string(own.Header); got != "Content-Type: application/json\r\n" || !own.Typed {
		t.Errorf("%q", got)
	}
	own.DropFields(func(name string) bool { return name == "content-type" })
	if len(own.Header) != 0 || own.Typed {
		t.Errorf("%q", own.Header)
	}
	if err := r.Next(&rec); err != io.EOF {
		t.Error(err)
	}
}

func TestHARBody(t *testing.T) {
	for request, want := range map[string]string{
		`"postData":{"mimeType":"application/x-www-form-urlencoded; charset=UTF-8","params":[{"name":"a b","value":"1&2"},{"name":"c","value":""}]}`:                                 "a+b=1%262&c=",
		`"postData":{"mimeType":"application/x-www-form-urlencoded","text":"a=1","params":[{"name":"a","value":"2"}]}`:                                                               "a=1",
		`"postData":{"mimeType":"multipart/form-data; boundary=XX","params":[{"name":"a","value":"2"},{"name":"f","value":"x,y\n","fileName":"a\"b.csv","contentType":"text/csv"}]}`: "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n2\r\n--XX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a%22b.csv\"\r\nContent-Type: text/csv\r\n\r\nx,y\n\r\n--XX--\r\n",
		`"postData":{"mimeType":"multipart/form-data; boundary=XX","params":[{"name":"f","fileName":"b.csv"}]}`:                                                                      "",
		`"bodySize":5`: "",
	} {
		r, err := New("har", strings.NewReader(harOf(request)), Options{})
		var rec trace.Record
		if err != nil || r.Next(&rec) != nil || string(rec.Body) != want {
			t.Errorf("%s: %q %v", request, rec.Body, err)
		}
	}
}

// A form without a boundary gets one, in the body and in its type; one without the content of its files is counted.
func TestHARForms(t *testing.T) {
	const headers = `"headers":[{"name":"Content-Type","value":"multipart/form-data"}],"postData":{"mimeType":"multipart/form-data","params":[{"name":"f","fileName":"a","value":"1"}]}`
	got := said(t, harOf(headers), Options{})
	if !strings.Contains(got, "--"+formats.UsualBoundary+`\r\n`) || !strings.Contains(got, `header "Content-Type: multipart/form-data; boundary=`+formats.UsualBoundary+`\r\n"`) {
		t.Error(got)
	}
	got = said(t, harOf(strings.Replace(headers, `,"value":"1"`, "", 1)), Options{})
	if !strings.Contains(got, "1 without: "+formats.LeftBody+"; line 1") {
		t.Error(got)
	}
}
