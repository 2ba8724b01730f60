package reader

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/test/tracetest"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/formats"
)

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t testing.TB, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll([]byte(text), nil)
}

// bad is the first reason for bad lines.
func bad(c Counts) trace.Reason {
	if list := c.Left.Reasons(trace.Bad); len(list) > 0 {
		return list[0]
	}
	return trace.Reason{}
}

// readAll reads a log; it returns the URIs.
func readAll(t *testing.T, in io.Reader, o Options) (uris []string, c Counts, err error) {
	t.Helper()
	r, err := New("log", in, o)
	if err != nil {
		return nil, c, err
	}
	defer r.Close()
	var rec trace.Record
	for {
		if err = r.Next(&rec); err != nil {
			break
		}
		uris = append(uris, string(rec.URI))
	}
	if again := r.Next(&rec); again != io.EOF && err == io.EOF {
		t.Errorf("after the end comes %v", again)
	}
	return uris, r.Counts(), err
}

// The same log reads the same, whatever it is wrapped in and however it arrives.
func TestWrappings(t *testing.T) {
	text := tracetest.AccessLog(1000)
	for name, in := range map[string][]byte{
		"plain": []byte(text), "gzip": zipped(t, text), "zstd": zstandard(t, text),
		"members":    append(zipped(t, text[:5000]), zipped(t, text[5000:])...),
		"CRLF":       []byte(strings.ReplaceAll(text, "\n", "\r\n")),
		"mark":       []byte("\ufeff" + text),
		"blank ones": []byte("\n\n" + strings.ReplaceAll(text, "\n", "\n \n")),
		"no end":     []byte(strings.TrimSuffix(text, "\n")),
	} {
		for how, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "with EOF": iotest.DataErrReader} {
			uris, c, err := readAll(t, wrap(bytes.NewReader(in)), Options{})
			if err != io.EOF || len(uris) != 1000 || uris[999] != "/999" || c.Lines != 1000 || c.Bad() != 0 {
				t.Errorf("%s, %s: %d records, %+v, %v", name, how, len(uris), c, err)
			}
		}
	}
}

// UTF-16 is refused, also where the format is given.
func TestUTF16(t *testing.T) {
	const text = "\xff\xfe/\x00a\x00\n\x00"
	for name, in := range map[string][]byte{"plain": []byte(text), "gzip": zipped(t, text), "zstd": zstandard(t, text)} {
		if _, err := New("log", bytes.NewReader(in), Options{Format: "paths"}); !errors.Is(err, files.ErrUTF16) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is before the damage of a compressed file is used, and the damage is a fault.
func TestDamagedFiles(t *testing.T) {
	text := tracetest.AccessLog(20_000)
	for name, in := range map[string][]byte{"gzip": zipped(t, text), "zstd": zstandard(t, text)} {
		uris, c, err := readAll(t, bytes.NewReader(in[:len(in)*3/4]), Options{})
		if err != io.EOF || len(uris) < 1000 || c.Bad() != 1 || !strings.Contains(bad(c).Why, "the compressed file is cut short or damaged") || bad(c).Line != len(uris)+1 {
			t.Errorf("%s: %d records, bad %d %v, %v", name, len(uris), c.Bad(), c.Left, err)
		}
		// Cut within its head nothing can be told of it.
		if _, err := New("log", bytes.NewReader(in[:5]), Options{}); name == "gzip" && (err == nil || !strings.Contains(err.Error(), "cannot read log: ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for format, text := range map[string]string{
		"har":     `{"log":{"entries":[` + strings.Repeat(`{"startedDateTime":"2024-05-01T10:00:00Z","time":1,"request":{"method":"GET","url":"http://x/"}},`, 20_000),
		"jtl-xml": "<?xml version=\"1.0\"?><testResults>" + strings.Repeat("<httpSample t=\"1\" ts=\"1144371014619\" lb=\"/\" rc=\"200\"/>\n", 20_000),
		"jtl-csv": "timeStamp,elapsed,label,responseCode\n" + strings.Repeat("1618000000123,250,/,200\n", 20_000),
	} {
		in := zipped(t, text)
		uris, c, err := readAll(t, bytes.NewReader(in[:len(in)-20]), Options{})
		if err != io.EOF || len(uris) < 100 || c.Bad() != 1 {
			t.Errorf("%s: %d records, bad %d %v, %v", format, len(uris), c.Bad(), c.Left, err)
		}
	}
}

// A disk that fails ends the reading with an error, in every format.
func TestReadErrors(t *testing.T) {
	broken := errors.New("broken disk")
	for format, text := range map[string]string{
		"combined": tracetest.AccessLog(1), "har": `{"log":{"entries":[`, "jtl-xml": "<testResults>\n", "jtl-csv": "timeStamp,elapsed,responseCode\n", "caddy": "{}\n",
	} {
		_, c, err := readAll(t, io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), Options{Format: format})
		if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "cannot read log: ") || c.Bad() != 0 {
			t.Errorf("%s: %v, %+v", format, err, c)
		}
	}
	if _, err := New("log", iotest.ErrReader(broken), Options{}); !errors.Is(err, broken) {
		t.Error(err)
	}
	for name, in := range map[string][]byte{"gzip": zipped(t, tracetest.AccessLog(20_000)), "zstd": zstandard(t, tracetest.AccessLog(20_000))} { // which is no damage
		_, c, err := readAll(t, io.MultiReader(bytes.NewReader(in[:len(in)*3/4]), iotest.ErrReader(broken)), Options{})
		if !errors.Is(err, broken) || c.Records < 1000 || c.Bad() != 0 {
			t.Errorf("%s: %v, %+v", name, err, c)
		}
	}
}

// Of many bad lines the first are kept, cut, and all are counted.
func TestBadLines(t *testing.T) {
	long := strings.Repeat("x", trace.MaxLine+1)
	text := tracetest.AccessLog(1) + strings.Repeat("nonsense "+strings.Repeat("y", 1000)+"\n", 100) + long + "\n" + tracetest.AccessLog(1)
	uris, c, err := readAll(t, strings.NewReader(text), Options{Format: "combined"})
	if err != io.EOF || len(uris) != 2 || c.Bad() != 101 || c.Lines != 103 || len(c.Left.Reasons(trace.Bad)) != 2 {
		t.Fatalf("%d records, %+v, %v", len(uris), c, err)
	}
	if f := bad(c); f.Place() != "log:2" || f.Count != 100 || len(f.Text) != 160 || f.Why != "the line does not have the shape of the format" || !strings.HasPrefix(f.Text, "nonsense") {
		t.Errorf("%+v", f)
	}
	_, c, err = readAll(t, strings.NewReader(long+"\n"+long), Options{Format: "paths"})
	if err != io.EOF || c.Bad() != 2 || bad(c).Why != "longer than 256 KiB" || bad(c).Place() != "log:1" {
		t.Errorf("%+v, %v", c, err)
	}
	head := "timeStamp,elapsed,URL,responseCode"
	_, wide, err := readAll(t, strings.NewReader(head+strings.Repeat(",x", trace.MaxLine)+"\n1618000000123,250,/,200\n"), Options{})
	if err != io.EOF || wide.Bad() != 1 || bad(wide).Why != "longer than 256 KiB" || bad(wide).Place() != "log:1" {
		t.Errorf("a long head: %+v, %v", wide, err)
	}
	var sum Counts
	sum.Add(c)
	sum.Add(c)
	if sum.Bad() != 4 || sum.Lines != 4 || len(sum.Left.Reasons()) != 1 || bad(sum).Count != 4 {
		t.Errorf("%+v", sum)
	}
}

func TestAuto(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    formats.Nothing,
		"\n# nothing\n":                       formats.Nothing,
		tracetest.AccessLog(1):                "combined",
		"nonsense\n" + tracetest.AccessLog(3): "combined",
		"# a comment\n\n" + tracetest.AccessLog(1): "combined",
		"/a\n/b\n":                       "paths",
		"HEAD http://x/\n":               "paths",
		"/a HTTP/1.1\nGET /b HTTP/1.1\n": "paths",
		`{"log":{"version":"1.2","entries":[` + strings.Repeat(" ", 3*trace.MaxLine) + "]}}": "har",
		"{\n":                       "har",
		"<testResults>":             "jtl-xml",
		"timeStamp,elapsed,label\n": "jtl-csv",
		`{"uri":"/a","status":200,"time":"2024-01-01 00:00:00"}`:                        "json",
		`{"url":"/a","method":"GET","time":"2024-01-01 00:00:00"}`:                      "json",
		`{"request":{"uri":"/a"},"status":200,"ts":1}`:                                  "caddy",
		`{"RequestPath":"/a","DownstreamStatus":200,"StartUTC":"2024-01-01T00:00:00Z"}`: "traefik",
	} {
		r, err := New("log", strings.NewReader(text), Options{})
		if err != nil || r.Format() != want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
	r, err := New("log", strings.NewReader(`{"p":"/x"}`), Options{Format: "json", Fields: "uri=p"})
	var rec trace.Record
	if err != nil || r.Next(&rec) != nil || string(rec.URI) != "/x" {
		t.Errorf("%v, %s", err, rec.URI)
	}
}

// What is no log of requests is none, whatever stands in it; the error says what to do.
func TestAutoRefuses(t *testing.T) {
	const list = "--format paths"
	for text, advice := range map[string]string{
		"this is no log\n": "give it by --format",
		"a;b;c\n":          "give it by --format",
		"web1\nweb2\n":     list,
		"images/a.png\n":   list,
		"root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n": "give it by --format",
		"/a\n/b\nc\n": list,
		"/usr/sbin/cron[12]: (root) CMD (run-parts)\n":                        list,
		"GET /users/1 200 5.214 ms - 12\n":                                    list,
		"Feb  6 12:14:14 web1 systemd[1]: Started Session 12 of user root.\n": "a log of the system",
		"2026/11/24 10:00:00 [error] 7#7: *1 open() \"/x\" failed\n":          "it is an error log",
		"{}\n": "--format json --fields",
		`{"level":"info","time":"2026-11-24T10:00:00Z","msg":"opened","path":"/var/lib/x"}` + "\n": "--format json --fields",
		"[\n{\"uri\":\"/a\"}\n": "jq -c '.[]'",
	} {
		_, err := New("log", strings.NewReader(text), Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "log: the format cannot be told from the first lines, such as") || !strings.Contains(err.Error(), advice) {
			t.Errorf("%q: %v, want %s", text, err, advice)
		}
	}
}

// A list that was taken for one has only requests: what comes later is held to that.
func TestListGoesOn(t *testing.T) {
	uris, c, err := readAll(t, strings.NewReader(strings.Repeat("/a\n", sampleLines)+"root:x:0:0:root:/root:/bin/bash\n"), Options{})
	if err != io.EOF || len(uris) != sampleLines || c.Bad() != 1 || !strings.HasPrefix(bad(c).Why, "neither a path") {
		t.Errorf("%d, %+v, %v", len(uris), c, err)
	}
	uris, _, _ = readAll(t, strings.NewReader("a b\n"), Options{Format: "paths"})
	if len(uris) != 1 || uris[0] != "/a" {
		t.Errorf("%q", uris)
	}
}

// auto decides by the first line that a pipe gives and does not wait for more.
func TestAutoDoesNotWait(t *testing.T) {
	in, out := io.Pipe()
	go func() { _, _ = io.WriteString(out, tracetest.AccessLog(1)) }() // and then nothing
	r, err := New("stdin", in, Options{})
	var rec trace.Record
	if err != nil || r.Next(&rec) != nil || string(rec.URI) != "/0" {
		t.Errorf("%v, %s", err, rec.URI)
	}
}

// Reading takes no memory of the log's length.
func TestReadingDoesNotAllocate(t *testing.T) {
	for format, file := range map[string]string{
		"combined": tracetest.AccessLog(2000),
		"caddy":    strings.Repeat(`{"ts":1.5,"request":{"method":"GET","uri":"/\u0041","headers":{"User-Agent":["x"]}},"status":200,"duration":0.5}`+"\n", 2000),
		"load":     strings.Repeat("2024-01-01 00:00:00.5 0.1 0.2 0 10 \"a b\" 200 GET 5  expectedRC=201\n", 2000),
		"paths":    strings.Repeat("GET x\n", 2000),
	} {
		r, err := New("log", strings.NewReader(file), Options{Format: format, Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		var rec trace.Record
		if err := r.Next(&rec); err != nil { // the buffers grow
			t.Fatal(format, err)
		}
		if n := testing.AllocsPerRun(1000, func() {
			if err := r.Next(&rec); err != nil {
				t.Fatal(format, err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations a line", format, n)
		}
	}
}
