// Package tracetest has what the tests of package trace and of its folders share.
package tracetest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
	"github.com/taktload/takt/pkg/takt"
)

// Start is a whole second, the origin of At.
var Start = time.Date(2024, 3, 4, 5, 6, 7, 0, time.UTC)

// List is a stream of records at hand. It reuses memory as a Reader does.
type List struct {
	Records []trace.Record
	Err     error
	text    []byte
}

// Next implements Stream.
func (l *List) Next(rec *trace.Record) error {
	for i := range l.text {
		l.text[i] = 'x' // whoever kept the last record's texts will see it
	}
	if len(l.Records) == 0 {
		if l.Err != nil {
			return l.Err
		}
		return io.EOF
	}
	*rec = l.Records[0]
	l.text = append(l.text[:0], rec.URI...)
	rec.URI = l.text
	l.Records = l.Records[1:]
	return nil
}

// At is a record that starts so long after start.
func At(d time.Duration, uri string) trace.Record {
	return trace.Record{At: Start.Add(d), Latency: trace.Unknown, Transfer: trace.Unknown, URI: []byte(uri), Method: []byte("GET")}
}

// Drain takes all operations and gives their number.
func Drain(src takt.Source) (n int) {
	var op takt.Op
	for src.Next(&op) {
		n++
	}
	return n
}

// Dump shows all of a record that is set.
func Dump(r *trace.Record) string {
	var b strings.Builder
	stamp := "start"
	if r.Ended {
		stamp = "end"
	}
	if r.Second {
		stamp += " (second)"
	}
	fmt.Fprintf(&b, "%d: %s %s %d", r.Line, r.Method, r.URI, r.Status)
	if r.Expected != r.Status {
		fmt.Fprintf(&b, " expected %d", r.Expected)
	}
	if !r.At.IsZero() {
		fmt.Fprintf(&b, "\n\t%s %s", stamp, r.At.Format(time.RFC3339Nano))
	}
	number := func(name string, v, none int64) {
		if v != none {
			fmt.Fprintf(&b, "\n\t%s %d", name, v)
		}
	}
	number("latency ns", int64(r.Latency), trace.Unknown)
	number("transfer ns", int64(r.Transfer), trace.Unknown)
	number("bytes", r.Bytes, trace.Unknown)
	number("request bytes", r.RequestBytes, trace.Unknown)
	if r.Offered != 0 {
		fmt.Fprintf(&b, "\n\toffered %v/s", r.Offered)
	}
	for _, t := range []struct {
		name string
		v    []byte
	}{{"scheme", r.Scheme}, {"host", r.Host}, {"client", r.Client}, {"referer", r.Referer}, {"agent", r.Agent}, {"body", r.Body}, {"header", r.Header}} {
		if len(t.v) > 0 {
			fmt.Fprintf(&b, "\n\t%s %q", t.name, t.v)
		}
	}
	return b.String() + "\n"
}

// Check holds a record to what a sender relies on.
func Check(t testing.TB, r *trace.Record) {
	t.Helper()
	if !parse.IsMethod(r.Method) {
		t.Fatalf("method %q", r.Method)
	}
	if len(r.URI) == 0 || r.URI[0] != '/' && string(r.URI) != "*" {
		t.Fatalf("URI %q", r.URI)
	}
	for _, b := range r.URI {
		if b <= ' ' || b >= 0x7f {
			t.Fatalf("URI %q", r.URI)
		}
	}
	if r.Latency < trace.Unknown || r.Transfer > r.Latency || r.Bytes < trace.Unknown || r.RequestBytes < trace.Unknown || r.Status > 999 || r.Expected < 0 || r.Offered < 0 {
		t.Fatalf("%+v", r)
	}
	if len(r.Scheme) > 0 && !parse.IsScheme(r.Scheme) {
		t.Fatalf("scheme %q", r.Scheme)
	}
}

// URIs reads a stream to its end.
func URIs(t testing.TB, s trace.Stream) string {
	t.Helper()
	var parts []string
	var rec trace.Record
	for {
		err := s.Next(&rec)
		if err == io.EOF {
			return strings.Join(parts, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(rec.Method)+string(rec.URI))
	}
}

// AccessLog has n lines of combined, one a second.
func AccessLog(n int) string {
	var b strings.Builder
	for i := range n {
		at := time.Date(2024, 1, 1, 23, 59, 0, 0, time.UTC).Add(time.Duration(i) * time.Second)
		fmt.Fprintf(&b, "10.0.0.%d - - [%s] \"GET /%d HTTP/1.1\" 200 %d \"-\" \"-\"\n", i%256, at.Format("02/Jan/2006:15:04:05 -0700"), i, i)
	}
	return b.String()
}

// Full is a disk that is full.
type Full struct{}

// Write fails.
func (Full) Write([]byte) (int, error) { return 0, errors.New("disk full") }
