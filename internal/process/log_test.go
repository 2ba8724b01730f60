package process

import (
	"fmt"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	l := NewLog()
	for i := range LogLines + 500 {
		fmt.Fprintf(l, "line %d\n", i)
	}
	for _, test := range []struct {
		n       int
		pattern string
		want    string
	}{
		{2, "", "line 1498|line 1499"},
		{3, "line 99", "line 997|line 998|line 999"},
		{2, "line 50", "line 508|line 509"},
		{2, "line 49", ""}, // 490 to 499 are gone
		{0, "", ""},
	} {
		var got []string
		for _, line := range l.Tail(test.n, test.pattern) {
			got = append(got, line.Text)
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
	if all := l.Tail(1<<20, ""); len(all) != LogLines || all[0].Text != "line 500" {
		t.Errorf("%d lines from %v", len(all), all[0])
	}
}

// Lines come in pieces, with or without an end, and may be very long: then the beginning
// and the end are kept.
func TestLogPieces(t *testing.T) {
	l := NewLog()
	for _, piece := range []string{"a", "b\r\nc\n", "\n", strings.Repeat("x", headBytes+2*tailBytes) + "\n", strings.Repeat("x", 20_000), "why", "\n", "end"} {
		if n, err := l.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Error(n, err)
		}
	}
	var out strings.Builder
	Print(&out, l.Tail(10, ""), false)
	want := "ab\nc\n\n" + strings.Repeat("x", headBytes+2*tailBytes) + "\n" + strings.Repeat("x", headBytes) + " … " + strings.Repeat("x", tailBytes) + "why\nend\n"
	if out.String() != want {
		t.Errorf("%d bytes, want %d: %.100q", out.Len(), len(want), out.String())
	}
	for i := range 20_000 {
		fmt.Fprint(l, i%10)
	}
	if n := len(l.begun.head) + len(l.begun.tail); n > headBytes+2*tailBytes {
		t.Errorf("%d bytes of a line without an end", n)
	}
}

// What explains a crash stays, however many lines of stacks and registers follow it, and
// until the server is started again.
func TestFirstFatalLine(t *testing.T) {
	for text, want := range map[string]string{
		"INFO a\npanic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:3 +0x1d\nexit\nmore\n": "panic: runtime error: index out of range [5] with length 3|goroutine 1 [running]:|main.main()|\t/x.go:3 +0x1d|exit|more",
		"runtime/cgo: pthread_create failed: Operation not permitted\nSIGABRT: abort\n":                                                            "runtime/cgo: pthread_create failed: Operation not permitted|SIGABRT: abort",
		"fatal error: concurrent map writes\n":                   "fatal error: concurrent map writes",
		"SIGSEGV: segmentation violation\n":                      "SIGSEGV: segmentation violation",
		"ERROR x\nExiting: error loading config file\n":          "Exiting: error loading config file",
		"2026\tFATAL\tx.go:1\tno\n":                              "2026\tFATAL\tx.go:1\tno",
		`{"log.level":"fatal","message":"no"}` + "\n":            `{"log.level":"fatal","message":"no"}`,
		"SIGNING a: b\nhttp: panic serving 1\nERROR: SIG x: y\n": "",
	} {
		l := NewLog()
		fmt.Fprint(l, text)
		fmt.Fprint(l, strings.Repeat("r15 0x0\n", 2*LogLines))
		var got []string
		lines, _ := l.Fatal()
		for _, line := range lines {
			if line.Text != "r15 0x0" {
				got = append(got, line.Text)
			}
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q: %q", text, got)
		}
		l.Started()
		if lines, _ := l.Fatal(); len(lines) > 0 {
			t.Errorf("%q after another start: %v", text, lines)
		}
	}
}

func TestPrintTail(t *testing.T) {
	l := NewLog()
	tail := func(n int, pattern string) string {
		var out strings.Builder
		l.PrintTail(&out, n, pattern, false)
		return out.String()
	}
	fmt.Fprint(l, "INFO\npanic: no\n\nrip 0x7\ngs 0x0\n")
	if got, want := tail(2, ""), "the first fatal line, 3 lines before the last one:\npanic: no\nrip 0x7\ngs 0x0\n…\nrip 0x7\ngs 0x0\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := tail(4, ""), "panic: no\n\nrip 0x7\ngs 0x0\n"; got != want { // it is there anyway
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := tail(1, "INFO"), "INFO\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What a server said first of why events are lost: of the refusals the first, as libbeat
// and go-docappender say it, without the event.
func TestFirstError(t *testing.T) {
	const (
		info    = "2026-11-23T23:33:26.7Z\tINFO\tx.go:1\tfine\n"
		connect = "2026-11-23T23:33:26.771Z\tERROR\t[output]\tpipeline/output.go:100\tFailed to connect to backoff(elasticsearch(http://h)):\x1b[2J no\n"
		libbeat = "2026-11-23T23:24:03.023Z\tWARN\telasticsearch/client.go:539\tCannot index event publisher.Event{Content:beat.Event{Error: \"a (status=1): b\"}} (status=400): {\"reason\":\"no\"}\n"
		full    = `{"log.level":"error","log.logger":"request","message":"queue is full","http.response.status_code":503}` + "\n" // version 7.17
		full7   = "2026-11-23T23:33:26.7Z\tERROR\t[request]\tmiddleware/log_middleware.go:61\tqueue is full\n"
		append9 = `{"log.level":"error","message":"failed to index documents in 'traces-apm' (mapper_parsing_exception)","error":{"message":"no field"}}` + "\n"
	)
	for _, test := range []struct {
		text    string
		refused bool
		want    string
	}{
		{info, true, ""},
		{info + connect + connect, false, "Failed to connect to backoff(elasticsearch(http://h)):·[2J no"},
		{connect + libbeat, false, "Failed to connect to backoff(elasticsearch(http://h)):·[2J no"},
		{connect + libbeat, true, `Cannot index event (status=400): {"reason":"no"}`},
		{full + full7 + connect, false, "Failed to connect to backoff(elasticsearch(http://h)):·[2J no"},
		{libbeat, false, `Cannot index event (status=400): {"reason":"no"}`},
		{append9 + libbeat, true, "failed to index documents in 'traces-apm' (mapper_parsing_exception): no field"},
		{"ERROR " + strings.Repeat("é", 1000) + "\n", false, "ERROR " + strings.Repeat("é", (gistBytes-6)/2) + " …"},
	} {
		l := NewLog()
		fmt.Fprint(l, test.text, strings.Repeat("2026\tERROR\tx.go:1\tlater\n", 2*LogLines*min(1, strings.Count(test.text, "ERROR"))))
		if got := l.FirstError(test.refused); got != test.want {
			t.Errorf("%.80q: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestPrint(t *testing.T) {
	l := NewLog()
	fmt.Fprint(l, "2018-05-18\tERROR\tx\nError: y\n{\"log.level\":\"error\"}\nWARN z\n{\"log.level\":\"warn\"}\nINFO \x1b[2Jw\n")
	var out strings.Builder
	Print(&out, l.Tail(10, ""), true)
	want := "\x1b[31m2018-05-18\tERROR\tx\x1b[0m\n\x1b[31mError: y\x1b[0m\n\x1b[31m{\"log.level\":\"error\"}\x1b[0m\n" +
		"\x1b[33mWARN z\x1b[0m\n\x1b[33m{\"log.level\":\"warn\"}\x1b[0m\n\x1b[37mINFO ·[2Jw\x1b[0m\n"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
}
