package reader

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/trace"
)

const (
	goodLine = `10.0.0.1 - - [20/Nov/2026:09:00:00 +0000] "GET /a HTTP/1.1" 200 100 "-" "ua"` + "\n"
	jsonLine = `{"time":"2026-11-20T09:00:00Z","method":"GET","path":"/j","status":200}` + "\n"
)

func TestGuess(t *testing.T) {
	for _, c := range []struct{ name, log, want string }{
		{"combined", strings.Repeat(goodLine, 2000), "combined (1000 of the first 1000 lines fit; no other format fits one of the first 50)"},
		{"timed", strings.Repeat(strings.ReplaceAll(goodLine, "\n", " 0.120\n"), 60), "combined with request time (60 of the first 60 lines fit; no other format fits one of the first 50)"},
		{"mixed", jsonLine + strings.Repeat(goodLine, 3) + jsonLine, "combined (3 of the first 5 lines fit; next best: json, 2)"},
		{"none", goodLine + strings.ReplaceAll(goodLine, "GET /a HTTP/1.1", "-"), "combined (1 of the first 2 lines fit, 1 without a request; no other format fits a line)"},
		{"har", `{"log":{"entries":[]}}`, "har, by the first bytes"},
	} {
		r, err := New("log", strings.NewReader(c.log), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := r.Guess().String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	r, err := New("log", strings.NewReader(goodLine), Options{Format: `%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"`})
	if err != nil || r.Guess().String() != `the format "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"", as --format or --fields says` {
		t.Error(r.Guess(), err)
	}
}

// A refusal says what the log looks like.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct{ log, want string }{
		"brackets": {`10.0.0.1 - - [20/Nov/2026:09:00:00 +0000] "GET /a HTTP/1.1" abc 100 "-" "ua"` + "\n", "(the closest is common, which the first line does not fit at %>s)"},
		"json":     {`{"ts":1,"req":{"verb":"GET","where":"/x"},"\u001b[31m":2}` + "\n", `(JSON with the fields ts, req.verb, req.where, \x1b[31m)`},
		"utf-16":   {"\xff\xfe1\x000\x00", "it is in UTF-16; save it as UTF-8"},
		"nul":      {strings.Repeat("\x00a\x01\x00", 100), "has many NUL bytes"},
	} {
		if _, err := New("log", strings.NewReader(c.log), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestEnds(t *testing.T) {
	log := goodLine[30:] + goodLine + jsonLine + "\x00\x00\x00" + goodLine + goodLine[:50]
	r, err := New("log", strings.NewReader(log), Options{Inspect: true, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	var rec trace.Record
	for err == nil {
		err = r.Next(&rec)
	}
	e := r.Counts().Ends
	if err != io.EOF || e.FirstBad != 1 || e.Cut != 5 || e.Holes != 1 || e.Tried != 2 || e.Others["json"] != 1 {
		t.Errorf("%v %+v", err, e)
	}
	if r.Counts().Records != 2 {
		t.Errorf("%+v", r.Counts())
	}
}

// The zone of a stamp goes into the record.
func TestZoned(t *testing.T) {
	r, err := New("log", bytes.NewReader([]byte(strings.ReplaceAll(goodLine, "+0000", "-0530"))), Options{})
	var rec trace.Record
	if err == nil {
		err = r.Next(&rec)
	}
	if err != nil || !rec.Zoned || rec.Offset != -19800 {
		t.Errorf("%v %v %v", err, rec.Zoned, rec.Offset)
	}
}
