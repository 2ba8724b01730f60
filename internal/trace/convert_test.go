package trace_test

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/convert"
	"github.com/taktload/takt/internal/trace/parse"
	"github.com/taktload/takt/internal/trace/reader"
)

func sample(t *testing.T, file string) *reader.Reader {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	o := reader.Options{Zone: time.UTC}
	if file == "paths.txt" { // which has more than a list that is known by itself
		o.Format = "paths"
	}
	r, err := reader.New(file, bytes.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestToLoad(t *testing.T) {
	for file, want := range map[string]string{
		"seed.log":  "2017-11-09 18:12:44 0 0 0 122944 zaphod-beebelbrox.jpg 200 GET\n",
		"caddy.log": "2022-03-09 21:30:01.523 0.000929 0 0 10900 / 200 GET\n",
		"paths.txt": "- - 0 0 0 0 index.html 0 GET\n",
	} {
		var b bytes.Buffer
		c, err := convert.ToLoad(&b, trace.Section(sample(t, file), 0, 1))
		got := strings.TrimPrefix(b.String(), convert.LoadInputHead)
		if err != nil || got != want || c.Written != 1 {
			t.Errorf("%s: %s %+v %v", file, got, c, err)
		}
	}
	var b bytes.Buffer
	two := []trace.Record{{Method: []byte("POST"), URI: []byte("/"), Body: []byte("a\nb"), File: "f", Line: 3}, {Method: []byte("GET"), URI: []byte("/")}}
	c, err := convert.ToLoad(&b, &tracetest.List{Records: two})
	if err != nil || c.Written != 1 || c.Refused != 1 || !strings.HasPrefix(c.First.Error(), "f:3: the body has line ends") {
		t.Errorf("%+v %v", c, err)
	}
	b.Reset()
	header := []trace.Record{{Method: []byte("GET"), URI: []byte("/"), Header: []byte("Accept: a\r\n")}}
	if c, err = convert.ToLoad(&b, &tracetest.List{Records: header}); err != nil || c.Written != 1 || c.Bare != 1 {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := convert.ToLoad(tracetest.Full{}, &tracetest.List{Records: two}); err == nil || err.Error() != "disk full" {
		t.Error(err)
	}
	if _, err := convert.ToLoad(io.Discard, &tracetest.List{Err: io.ErrNoProgress}); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

// What was converted is read as it was, but for what the load format does not have.
func TestConversionIsFaithful(t *testing.T) {
	var b bytes.Buffer
	if _, err := convert.ToLoad(&b, sample(t, "nginx-timed.log")); err != nil {
		t.Fatal(err)
	}
	r, err := reader.New("load", &b, reader.Options{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	var got, want trace.Record
	for source := sample(t, "nginx-timed.log"); ; {
		err := source.Next(&want)
		if again := r.Next(&got); again != err {
			t.Fatalf("%v after %v", again, err)
		}
		if err == io.EOF {
			break
		}
		if string(got.URI) != string(want.URI) || got.Status != want.Status || parse.IsReading(want.Method) && got.Bytes != want.Bytes || got.Latency != want.Latency || !got.At.Equal(want.Start().Add(time.Second/2).Truncate(time.Second)) {
			t.Errorf("%s\nbecame\n%s", tracetest.Dump(&want), tracetest.Dump(&got))
		}
	}
}

func TestToVegeta(t *testing.T) {
	base, err := url.Parse("http://127.0.0.1:8080/")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		base *url.URL
		want string
	}{
		{base, `{"method":"GET","url":"http://127.0.0.1:8080/index.html"}
{"method":"POST","url":"http://127.0.0.1:8080/form"}
{"method":"GET","url":"http://127.0.0.1:8080/absolute?x","header":{"Host":["example.org:8080"]}}
{"method":"GET","url":"http://127.0.0.1:8080/images/logo.png"}
{"method":"GET","url":"http://127.0.0.1:8080/","header":{"Host":["example.org"]}}
{"method":"DELETE","url":"http://127.0.0.1:8080/old"}
`},
		{nil, `{"method":"GET","url":"http://example.org:8080/absolute?x"}
{"method":"GET","url":"https://example.org/"}
`},
	} {
		var b bytes.Buffer
		got, err := convert.ToVegeta(&b, sample(t, "paths.txt"), c.base)
		if err != nil || b.String() != c.want || int(got.Written) != strings.Count(c.want, "\n") || got.Written+got.Refused != 6 {
			t.Errorf("%s %+v %v", &b, got, err)
		}
		if c.base == nil && (got.First == nil || got.First.Error() != "paths.txt:2: the log has no hosts; give the server that the paths are of with --base") {
			t.Error(got.First)
		}
	}
	var b bytes.Buffer
	if _, err := convert.ToVegeta(&b, &tracetest.List{Records: []trace.Record{{Method: []byte("POST"), URI: []byte("/?a=1&b"), Host: []byte("h"), Body: []byte("x\ny"), Header: []byte("A: 1\r\nB: \r\nA: 2\r\n")}}}, nil); err != nil || b.String() != `{"method":"POST","url":"http://h/?a=1&b","body":"eAp5","header":{"A":["1","2"],"B":[""]}}`+"\n" {
		t.Errorf("%s %v", &b, err)
	}
}

func TestFiles(t *testing.T) {
	record := func(method, uri string, status int, size int64) trace.Record {
		return trace.Record{Method: []byte(method), URI: []byte(uri), Status: status, Bytes: size, File: "log", Line: 1, At: tracetest.Start}
	}
	records := []trace.Record{
		record("GET", "/a/b.txt?x=1", 200, 100),
		record("HEAD", "/a/b.txt", 200, 0),
		record("GET", "/a/b.txt", 206, 70_000),
		record("GET", "/", 200, 5),
		record("GET", "/dir/", 304, 0),
		record("GET", "/with%20blank", 499, trace.Unknown),
		record("GET", "/../../etc/passwd", 200, 3),
		record("GET", "/missing", 404, 9),
		record("POST", "/form", 200, 9),
		record("DELETE", "/gone", 204, 9),
		record("GET", "/a/b.txt/below", 200, 9),
		record("GET", "/a", 200, 9),
		record("GET", "/"+strings.Repeat("n", 300), 200, 9),
		record("GET", "/%00", 200, 9),
		record("GET", "/%zz", 200, 9),
	}
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var rows bytes.Buffer
	made, err := convert.Files(root, &tracetest.List{Records: records}, convert.Making{}, &rows)
	if want := (convert.Made{Files: 7, Bytes: 70_108, Present: 1, Skipped: 4, Impossible: 3}); err != nil || made != want {
		t.Errorf("%+v %v", made, err)
	}
	for name, size := range map[string]int64{"a/b.txt": 70_000, "index.html": 5, "dir/index.html": 0, "with blank": 0, "etc/passwd": 3, "gone": 0} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != size {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if first, _, _ := strings.Cut(rows.String(), "\n"); strings.Count(rows.String(), "\n") != 7 || first != "2024-03-04 05:06:07.000 0 0 0 100 a/b.txt?x=1 201 PUT 0" {
		t.Error(rows.String())
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a/b.txt")); err != nil || bytes.Count(text, []byte{0}) > 1000 {
		t.Errorf("%d zeros, %v", bytes.Count(text, []byte{0}), err)
	}

	// The same again makes nothing; a limit stops before the disk is full.
	made, err = convert.Files(root, &tracetest.List{Records: records}, convert.Making{}, io.Discard)
	if err != nil || made.Files != 0 || made.Present != 8 {
		t.Errorf("%+v %v", made, err)
	}
	_, err = convert.Files(root, &tracetest.List{Records: []trace.Record{record("GET", "/large", 200, 1<<50)}}, convert.Making{Limit: 1 << 20}, io.Discard)
	if err == nil || err.Error() != "cannot make the file of log:1: the files would take more than 1048576 bytes; give a higher limit, or files without content" {
		t.Error(err)
	}
	made, err = convert.Files(root, &tracetest.List{Records: []trace.Record{record("GET", "/zero", 200, 1<<20)}}, convert.Making{Zero: true}, io.Discard)
	if text, readErr := os.ReadFile(filepath.Join(dir, "zero")); err != nil || readErr != nil || len(text) != 1<<20 || bytes.Count(text, []byte{0}) != 1<<20 || made.Files != 1 {
		t.Errorf("%+v %v %v", made, err, readErr)
	}
	if _, err = convert.Files(root, &tracetest.List{Records: []trace.Record{record("GET", "/more", 200, 1)}}, convert.Making{}, tracetest.Full{}); err == nil || err.Error() != "disk full" {
		t.Error(err)
	}
}

// Every sample that was converted is converted again to the same, with all its requests.
func TestConversionSettles(t *testing.T) {
	for _, file := range []string{
		"nginx-combined.log", "nginx-timed.log", "nginx-json.log", "apache-combined.log", "apache-real.log", "caddy-real.log", "jmeter.jtl", "jmeter.csv", "common.log", "vhost.log", "seed.log", "traefik-common.log", "seed-load.csv",
		"load-results.csv", "load-input.csv", "caddy.log", "traefik.log", "app.json.log", "browser.har", "results.jtl", "results.csv", "paths.txt", "syslog.log", "haproxy.log", "envoy.log", "istio.log", "envoy.json.log", "alb.log", "iis.log", "cloudfront.log", "gcp.json.log", "seed-put.csv", "vhost-bare.log",
	} {
		var one, two bytes.Buffer
		c, err := convert.ToLoad(&one, sample(t, file))
		if err != nil || c.Written == 0 {
			t.Fatal(file, c, err)
		}
		text := one.String()
		r, err := reader.New(file, &one, reader.Options{Format: "load", Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		again, err := convert.ToLoad(&two, r)
		if err != nil || again.Written != c.Written || two.String() != text {
			t.Errorf("%s: %+v became %+v (%v)\n%s\n%s", file, c, again, err, text, &two)
		}
	}
}
