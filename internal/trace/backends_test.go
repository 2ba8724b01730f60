package trace

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// full is a disk that is full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func sample(t *testing.T, file string) *Reader {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Zone: time.UTC}
	if file == "paths.txt" { // which has more than a list that is known by itself
		o.Format = "paths"
	}
	r, err := NewReader(file, bytes.NewReader(text), o)
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
		c, err := ToLoad(&b, Part(sample(t, file), 0, 1))
		got := strings.TrimPrefix(b.String(), loadInputHead)
		if err != nil || got != want || c.Written != 1 {
			t.Errorf("%s: %s %+v %v", file, got, c, err)
		}
	}
	var b bytes.Buffer
	two := []Record{{Method: []byte("POST"), URI: []byte("/"), Body: []byte("a\nb"), File: "f", Line: 3}, {Method: []byte("GET"), URI: []byte("/")}}
	c, err := ToLoad(&b, &list{records: two})
	if err != nil || c.Written != 1 || c.Refused != 1 || !strings.HasPrefix(c.First.Error(), "f:3: the body has line ends") {
		t.Errorf("%+v %v", c, err)
	}
	b.Reset()
	header := []Record{{Method: []byte("GET"), URI: []byte("/"), Header: []byte("Accept: a\r\n")}}
	if c, err = ToLoad(&b, &list{records: header}); err != nil || c.Written != 1 || c.Bare != 1 {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := ToLoad(full{}, &list{records: two}); err == nil || err.Error() != "disk full" {
		t.Error(err)
	}
	if _, err := ToLoad(io.Discard, &list{err: io.ErrNoProgress}); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

// What was converted is read as it was, but for what the load format does not have.
func TestConversionIsFaithful(t *testing.T) {
	var b bytes.Buffer
	if _, err := ToLoad(&b, sample(t, "nginx-timed.log")); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader("load", &b, Options{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	var got, want Record
	for source := sample(t, "nginx-timed.log"); ; {
		err := source.Next(&want)
		if again := r.Next(&got); again != err {
			t.Fatalf("%v after %v", again, err)
		}
		if err == io.EOF {
			break
		}
		if string(got.URI) != string(want.URI) || got.Status != want.Status || isReading(want.Method) && got.Bytes != want.Bytes || got.Latency != want.Latency || !got.At.Equal(want.Start().Add(time.Second/2).Truncate(time.Second)) {
			t.Errorf("%s\nbecame\n%s", dump(&want), dump(&got))
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
		got, err := ToVegeta(&b, sample(t, "paths.txt"), c.base)
		if err != nil || b.String() != c.want || int(got.Written) != strings.Count(c.want, "\n") || got.Written+got.Refused != 6 {
			t.Errorf("%s %+v %v", &b, got, err)
		}
		if c.base == nil && (got.First == nil || got.First.Error() != "paths.txt:2: the log has no hosts; give the server that the paths are of with --base") {
			t.Error(got.First)
		}
	}
	var b bytes.Buffer
	if _, err := ToVegeta(&b, &list{records: []Record{{Method: []byte("POST"), URI: []byte("/?a=1&b"), Host: []byte("h"), Body: []byte("x\ny"), Header: []byte("A: 1\r\nB: \r\nA: 2\r\n")}}}, nil); err != nil || b.String() != `{"method":"POST","url":"http://h/?a=1&b","body":"eAp5","header":{"A":["1","2"],"B":[""]}}`+"\n" {
		t.Errorf("%s %v", &b, err)
	}
}

func TestSurvey(t *testing.T) {
	var records []Record
	for second, n := range map[int]int{0: 3, 1: 5, 9: 5, 3: 1} {
		for i := range n {
			r := at(time.Duration(second)*time.Second+time.Duration(i)*time.Millisecond, "/")
			r.Latency, r.Bytes, r.Status = time.Duration(i+1)*time.Millisecond, int64(i*100), 200+i
			records = append(records, r)
		}
	}
	slices.SortFunc(records, func(a, b Record) int { return a.At.Compare(b.At) })
	records[0].Method, records[1].Bytes, records[2].Latency = []byte("POST"), Unknown, Unknown
	s, err := Survey(&list{records: records})
	if err != nil || s.Requests != 14 || !s.First.Equal(start) || !s.Last.Equal(start.Add(9004*time.Millisecond)) {
		t.Errorf("%+v %v", s, err)
	}
	if want := (Distribution{Count: 10, Sum: 14, P50: 0, P90: 5, P99: 5, Max: 5}); s.PerSecond != want || !s.PeakAt.Equal(start.Add(time.Second)) || s.MeanPerS != 13/9.004 {
		t.Errorf("%+v at %v", s.PerSecond, s.PeakAt)
	}
	if s.Bytes.Count != 13 || s.Bytes.Sum != 2200 || s.Bytes.Max != 400 || s.Latency.Count != 13 {
		t.Errorf("%+v %+v", s.Bytes, s.Latency)
	}
	var b bytes.Buffer
	if err := s.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	const want = `requests    14
time        2024-03-04 05:06:07.000 +0000 to 2024-03-04 05:06:16.004 +0000, 9.004s
rate        mean 1.4438/s, by the second p50 0, p90 5, p99 5, max 5 at 2024-03-04 05:06:08
methods     GET 13 (92.9 %), POST 1 (7.14 %)
status      200 4 (28.6 %), 201 3 (21.4 %), 202 3 (21.4 %), 203 2 (14.3 %), 204 2 (14.3 %)
bytes       total 2200, p50 200, p90 400, p99 400, max 400
latency     mean 2.615, p50 2.001, p90 5.001, p95 5.001, p99 5.001, max 5.001 ms
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}

	s, err = Survey(sample(t, "paths.txt"))
	b.Reset()
	if err := errors.Join(err, s.WriteText(&b)); err != nil || b.String() != "requests    6\nmethods     GET 4 (66.7 %), DELETE 1 (16.7 %), POST 1 (16.7 %)\nstatus      none 6 (100 %)\n" {
		t.Errorf("%s %v", &b, err)
	}
}

// The second's requests, errors and means are right where the predecessor's were
// not: first rows, lone rows, midnight.
func TestSeconds(t *testing.T) {
	row := func(at time.Time, latency, transfer time.Duration, status int, offered float64) Record {
		return Record{At: at, Latency: latency, Transfer: transfer, Bytes: 100, Status: status, Offered: offered}
	}
	midnight := time.Date(2024, 1, 1, 23, 59, 59, 0, time.UTC)
	records := []Record{
		row(midnight, 100*time.Millisecond, 20*time.Millisecond, 200, 3),
		row(midnight.Add(500*time.Millisecond), 300*time.Millisecond, 40*time.Millisecond, 404, 3),
		row(midnight.Add(999*time.Millisecond), 500*time.Millisecond, 60*time.Millisecond, 206, 6),
		row(midnight.Add(time.Second), time.Second, Unknown, 302, 0),
		row(midnight.Add(3*time.Second), Unknown, Unknown, 444, 2.5),
	}
	records[4].Bytes = Unknown
	var b bytes.Buffer
	c, err := Seconds(&b, &list{records: records})
	const want = secondsHead + `2024-01-01 23:59:59 0.260000 0.040000 0 100 3 1 4 0.300155 0.500171
2024-01-02 00:00:00 1.000000 0.000000 0 100 1 0 0 1.000342 1.000342
2024-01-02 00:00:02 0.000000 0.000000 0 0 1 1 2.5 0 0
`
	if err != nil || b.String() != want || c != (SecondsCounts{Rows: 3, Requests: 5, Errors: 2, NotFound: 1}) {
		t.Errorf("got\n%swant\n%s%+v %v", &b, want, c, err)
	}
	if _, err := Seconds(io.Discard, sample(t, "paths.txt")); err == nil || err.Error() != "the log has no times, so it has no seconds" {
		t.Error(err)
	}
	if _, err := Seconds(full{}, &list{records: records}); err == nil || err.Error() != "disk full" {
		t.Error(err)
	}
}

// 10 rows a second are 10 a second, not 9 with means that are 10/9 too high.
func TestSecondsCountAll(t *testing.T) {
	var text strings.Builder
	text.WriteString(LoadHead)
	for i := range 100 {
		r := at(time.Duration(i)*100*time.Millisecond, "/a")
		r.Latency, r.Transfer, r.Bytes, r.Status, r.Offered = 50*time.Millisecond, 0, 4054, 200, 10
		text.Write(AppendRow(nil, &r))
	}
	r, err := NewReader("raw.csv", strings.NewReader(text.String()), Options{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	c, err := Seconds(&b, Timed(r, Timing{}))
	if err != nil || c.Rows != 10 || strings.Count(b.String(), " 0.050000 0.000000 0 4054 10 0 10 0.050") != 10 {
		t.Errorf("%+v %v\n%s", c, err, &b)
	}
}

func TestFiles(t *testing.T) {
	record := func(method, uri string, status int, size int64) Record {
		return Record{Method: []byte(method), URI: []byte(uri), Status: status, Bytes: size, File: "log", Line: 1, At: start}
	}
	records := []Record{
		record("GET", "/a/b.txt?x=1", 200, 100),
		record("HEAD", "/a/b.txt", 200, 0),
		record("GET", "/a/b.txt", 206, 70_000),
		record("GET", "/", 200, 5),
		record("GET", "/dir/", 304, 0),
		record("GET", "/with%20blank", 499, Unknown),
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
	made, err := Files(root, &list{records: records}, Making{}, &rows)
	if want := (Made{Files: 7, Bytes: 70_108, Present: 1, Skipped: 4, Impossible: 3}); err != nil || made != want {
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
	made, err = Files(root, &list{records: records}, Making{}, io.Discard)
	if err != nil || made.Files != 0 || made.Present != 8 {
		t.Errorf("%+v %v", made, err)
	}
	_, err = Files(root, &list{records: []Record{record("GET", "/large", 200, 1<<50)}}, Making{Limit: 1 << 20}, io.Discard)
	if err == nil || err.Error() != "cannot make the file of log:1: the files would take more than 1048576 bytes; give a higher limit, or files without content" {
		t.Error(err)
	}
	made, err = Files(root, &list{records: []Record{record("GET", "/zero", 200, 1<<20)}}, Making{Zero: true}, io.Discard)
	if text, readErr := os.ReadFile(filepath.Join(dir, "zero")); err != nil || readErr != nil || len(text) != 1<<20 || bytes.Count(text, []byte{0}) != 1<<20 || made.Files != 1 {
		t.Errorf("%+v %v %v", made, err, readErr)
	}
	if _, err = Files(root, &list{records: []Record{record("GET", "/more", 200, 1)}}, Making{}, full{}); err == nil || err.Error() != "disk full" {
		t.Error(err)
	}
}

// The examples of Amazon S3's API Reference, "Signature Calculations for the
// Authorization Header: Transferring Payload in a Single Chunk".
func TestSignPublishedExamples(t *testing.T) {
	s := Signer{Key: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", Region: "us-east-1"}
	day := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, c := range []struct {
		method, uri string
		header      [][2]string
		body        string
		signed, sum string
	}{
		{"GET", "/test.txt", [][2]string{{"Range", "bytes=0-9"}}, "",
			"host;range;x-amz-content-sha256;x-amz-date", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"PUT", "/test$file.text", [][2]string{{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", " REDUCED_REDUNDANCY "}}, "Welcome to Amazon S3.",
			"date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
		{"GET", "/?lifecycle", nil, "",
			"host;x-amz-content-sha256;x-amz-date", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		{"GET", "/?prefix=J&max-keys=2", nil, "",
			"host;x-amz-content-sha256;x-amz-date", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		got := s.Sign(SignRequest{Method: c.method, Host: "examplebucket.s3.amazonaws.com", URI: c.uri, Header: c.header, PayloadHash: PayloadHash([]byte(c.body)), At: day})
		want := "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=" + c.signed + ",Signature=" + c.sum
		if got.Authorization != want || got.Date != "20130524T000000Z" || c.body == "" && got.PayloadHash != empty {
			t.Errorf("%s %s\ngot  %s\nwant %s", c.method, c.uri, got.Authorization, want)
		}
	}
}

// The canonical form is the same for all ways to write a URI, and the key changes
// with the day.
func TestSignIsCanonical(t *testing.T) {
	s := Signer{Key: "k", Secret: "s", Region: "canada"}
	sign := func(uri string, at time.Time) string {
		return s.Sign(SignRequest{Method: "GET", Host: "h", URI: uri, PayloadHash: UnsignedPayload, At: at}).Authorization
	}
	day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, same := range [][2]string{{"/a b", "/a%20b"}, {"/%7e", "/~"}, {"/x?b=2&a=1", "/x?a=1&b=2"}, {"/x?a=b+c", "/x?a=b%20c"}, {"/x?a", "/x?a="}, {"/x?", "/x"}, {"/100%", "/100%25"}} {
		if one, two := sign(same[0], day), sign(same[1], day); one != two {
			t.Errorf("%s: %s\n%s: %s", same[0], one, same[1], two)
		}
	}
	for _, other := range [][2]string{{"/a+b", "/a b"}, {"/a/b", "/a%2fb/"}, {"/x?a=1&a=2", "/x?a=1"}} {
		if sign(other[0], day) == sign(other[1], day) {
			t.Errorf("%s and %s are signed alike", other[0], other[1])
		}
	}
	first := sign("/", day)
	next := Signer{Key: "k", Secret: "s", Region: "canada"}
	if second := sign("/", day.AddDate(0, 0, 1)); second == first || second != next.Sign(SignRequest{Method: "GET", Host: "h", URI: "/", PayloadHash: UnsignedPayload, At: day.AddDate(0, 0, 1)}).Authorization {
		t.Error("the key is not that of the day")
	}
}
