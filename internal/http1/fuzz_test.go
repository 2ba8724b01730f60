package http1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// maxFuzz keeps inputs under net/http's limits: 16 KiB of chunk overhead, and a
// trailer that fits the reader's buffer.
const maxFuzz = 8 << 10

// reading is what net/http makes of an answer.
type reading struct {
	status int
	used   int
	body   []byte
	close  bool
	err    error
	odd    bool // a version, status or header name that only net/http takes
}

// peer reads the answer to a GET or HEAD with net/http, past interim ones.
func peer(data []byte, method string) (r reading) {
	src := bytes.NewReader(data)
	br := bufio.NewReaderSize(src, 2*maxFuzz)
	for {
		resp, err := http.ReadResponse(br, &http.Request{Method: method})
		if err != nil {
			r.err = err
			return r
		}
		r.odd = r.odd || isOdd(resp)
		if resp.StatusCode >= 100 && resp.StatusCode < 200 && resp.StatusCode != 101 {
			continue
		}
		r.status, r.close = resp.StatusCode, resp.Close
		r.body, r.err = io.ReadAll(resp.Body)
		r.odd = r.odd || hasBlank(resp.Trailer)
		r.used = len(data) - src.Len() - br.Buffered()
		return r
	}
}

func isOdd(resp *http.Response) bool {
	return resp.StatusCode < 100 || resp.Proto != "HTTP/1.0" && resp.Proto != "HTTP/1.1" || hasBlank(resp.Header)
}

func hasBlank(h http.Header) bool {
	for name := range h {
		if strings.Contains(name, " ") {
			return true
		}
	}
	return false
}

var (
	fold       = regexp.MustCompile(`\n[ \t]`)
	hasLength  = regexp.MustCompile(`(?i)\ncontent-length:`)
	hasCoding  = regexp.MustCompile(`(?i)\ntransfer-encoding:`)
	bareInTail = regexp.MustCompile(`(?s)\n0+[ \t]*(;[^\r\n]*)?\r\n(.*[^\r])?\n`)
)

// stricter says whether this package may refuse data with err although net/http
// takes it:
//   - versions other than 1.0 and 1.1: HTTP/2.0 and HTTP/0.9 are no answers to a
//     1.1 request;
//   - statuses 000 to 099, also as "+99" and "-00": not of RFC 9110, 15;
//   - blanks in header names, where proxies disagree: refused instead of guessed at
//     (RFC 9112, 5.1); folded lines of trailers, and one before the first field;
//   - 101: nobody here can go on in another protocol;
//   - trailers with bare line feeds, which net/http takes as soon as there is a
//     CR LF CR LF anywhere after them, and otherwise not.
func stricter(data []byte, err error, r reading) bool {
	switch err {
	case errNotHTTP, errStatus, errName:
		return r.odd
	case errFold:
		return fold.Match(data)
	case ErrSwitched:
		return r.status == 101
	case errTrailerEnd:
		return bareInTail.Match(data)
	}
	return false
}

// laxer says whether this package may take data although net/http refuses it
// with err: it compares repeated lengths as numbers ("5" and "05" agree, RFC
// 9110, 8.6), and does not read the header Trailer, which net/http checks
// because it keeps trailers.
func laxer(err error) bool {
	return strings.Contains(err.Error(), "multiple Content-Length") || strings.Contains(err.Error(), "bad trailer key")
}

// closer says whether this package may close a connection that net/http keeps:
// where a Transfer-Encoding is doubtful, see settle.
func closer(data []byte) bool {
	return hasCoding.Match(data) && (hasLength.Match(data) || bytes.Contains(data, []byte("HTTP/1.0")))
}

func addCorpus(f *testing.F) {
	for _, tt := range corpus {
		f.Add([]byte(tt.answer+tt.rest), tt.head, uint64(0x9e3779b97f4a7c15))
	}
	for _, tt := range answers {
		f.Add([]byte(tt.answer), false, uint64(1))
	}
}

// FuzzParse: net/http takes and refuses the same answers, finds the same end,
// the same body, and closes the same connections.
func FuzzParse(f *testing.F) {
	addCorpus(f)
	f.Fuzz(func(t *testing.T, data []byte, head bool, _ uint64) {
		if len(data) > maxFuzz {
			return
		}
		method := "GET"
		if head {
			method = "HEAD"
		}
		want := peer(data, method)
		c := NewCodec(nil, Options{MaxFields: maxFuzz, Fail: func(int) string { return "sample" }})
		c.head = head
		got := feed(t, c, data)
		if got.err != nil || want.err != nil {
			compareErrors(t, data, got.err, want)
			return
		}
		compare(t, data, got, want)
	})
}

func compareErrors(t *testing.T, data []byte, got error, want reading) {
	switch {
	case got != nil && want.err == nil && !stricter(data, got, want):
		t.Errorf("%q: refused with %q, net/http takes it: %+v", data, got, want)
	case got == nil && !laxer(want.err):
		t.Errorf("%q: taken, net/http says %q", data, want.err)
	case errors.Is(got, errClosed) != (len(data) == 0):
		t.Errorf("%q: %v", data, got)
	}
}

func compare(t *testing.T, data []byte, got outcome, want reading) {
	if got.status != want.status || got.used != want.used {
		t.Errorf("%q: got %+v, want %+v", data, got, want)
	}
	if body := want.body[:min(len(want.body), SampleBytes)]; got.body != string(body) {
		t.Errorf("%q: got body %q, want %q", data, got.body, want.body)
	}
	if last := got.progress == takt.Last; last != want.close && !(last && closer(data)) {
		t.Errorf("%q: closes: %v, net/http: %v", data, last, want.close)
	}
}

// FuzzSplit: how an answer is cut into pieces changes nothing. The limits are
// low enough to be met.
func FuzzSplit(f *testing.F) {
	addCorpus(f)
	f.Fuzz(func(t *testing.T, data []byte, head bool, seed uint64) {
		if len(data) > maxFuzz {
			return
		}
		c := NewCodec(nil, limits)
		c.head = head
		want := feed(t, c, data)
		if got := feed(t, c, data, every(len(data))...); got != want {
			t.Errorf("%q byte by byte:\ngot  %+v\nwant %+v", data, got, want)
		}
		cuts := pieces(len(data), seed)
		if got := feed(t, c, data, cuts...); got != want {
			t.Errorf("%q cut at %v:\ngot  %+v\nwant %+v", data, cuts, got, want)
		}
	})
}

// pieces cuts n bytes into lengths of 0 to 31 by a linear congruential generator
// (Knuth's MMIX constants), whose upper bits are the good ones.
func pieces(n int, seed uint64) (cuts []int) {
	for at := 0; at < n; {
		cuts = append(cuts, at)
		seed = seed*6364136223846793005 + 1442695040888963407
		at += int(seed>>59) + len(cuts)%2
	}
	return cuts
}
