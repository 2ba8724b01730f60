package ui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/judge/history"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/pkg/takt"
)

// empty is a source without runs.
func empty() Source {
	return Source{
		Runs:   func(context.Context, []string, int, int) ([]stored.Run, bool, error) { return nil, false, nil },
		Report: func(context.Context, string) (*takt.Report, error) { return nil, errors.New("there is no run") },
		History: func(context.Context, []string) (h history.History, err error) {
			return h, errors.New("there is no run")
		},
		Live:   func() ([]Live, error) { return nil, nil },
		Watch:  func(context.Context, string) (SoFar, error) { return SoFar{}, os.ErrNotExist },
		Absent: func(error) bool { return false },
	}
}

// serve serves until the test ends.
func serve(t *testing.T, o Options, source Source, change func(*Server)) *Server {
	t.Helper()
	if faults := o.Validate(); len(faults) > 0 {
		t.Fatal(faults)
	}
	s, err := Listen(o, source)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return s
}

// ask sends a request with headers, "Name: value" each.
func ask(t *testing.T, c *http.Client, method, url string, headers ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Add(name, value)
	}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

// Beyond loopback there must be tokens and TLS.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want int
	}{
		{Options{Listen: "127.0.0.1:0"}, 0}, {Options{Listen: "[::1]:0"}, 0}, {Options{Listen: "localhost:0"}, 0}, {Options{Listen: "unix:/x"}, 0},
		{Options{Listen: "0.0.0.0:0"}, 2}, {Options{Listen: ":0"}, 2}, {Options{Listen: "example.com:1"}, 2},
		{Options{Listen: "0.0.0.0:0", TokenFile: "x"}, 1}, {Options{Listen: "0.0.0.0:0", Cert: "x", Key: "x"}, 1}, {Options{Listen: "0.0.0.0:0", TokenFile: "x", Cert: "x", Key: "x"}, 0},
		{Options{Listen: "127.0.0.1:0", Cert: "x"}, 1}, {Options{Listen: "nonsense"}, 1}, {Options{Listen: "unix:"}, 1},
	} {
		if got := c.o.Validate(); len(got) != c.want {
			t.Errorf("%+v: %v", c.o, got)
		}
	}
}

// What a web page could make a browser send is refused; a link to a page is fine. Every answer has the
// policy.
func TestFromPage(t *testing.T) {
	s := serve(t, Options{Listen: "127.0.0.1:0"}, empty(), nil)
	for _, c := range []struct {
		method, path string
		headers      []string
		want         int
	}{
		{"GET", "", nil, 200}, {"HEAD", "", nil, 200},
		{"GET", "", []string{"Host: localhost:1"}, 200}, {"GET", "", []string{"Host: [::1]"}, 200},
		{"GET", "", []string{"Host: evil.example"}, 421}, {"GET", "", []string{"Host: 127.0.0.1.evil.example:80"}, 421},
		{"GET", "", []string{"Origin: https://evil.example"}, 403}, {"GET", "", []string{"Origin: null"}, 403},
		{"GET", "", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}, 403},
		{"GET", "", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, 403},
		{"GET", "", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, 200},
		{"GET", "", []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors"}, 200},
		{"POST", "", nil, 405}, {"DELETE", "run", nil, 405}, {"POST", "nowhere", nil, 404},
		{"GET", "?q=" + strings.Repeat("x", maxQuery), nil, 414},
	} {
		status, header, _ := ask(t, http.DefaultClient, c.method, s.Address()+c.path, c.headers...)
		if status != c.want || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") || header.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s %.40s %q: %d, want %d, %v", c.method, c.path, c.headers, status, c.want, header)
		}
	}
	long, err := http.NewRequest("GET", s.Address(), nil)
	if err != nil {
		t.Fatal(err)
	}
	long.Header.Set("X-Long", strings.Repeat("x", 2*maxHeader))
	if answer, err := http.DefaultClient.Do(long); err == nil { // else the connection was closed meanwhile
		answer.Body.Close()
		if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a large header: %d", answer.StatusCode)
		}
	}
}

// Without tokens another user of the machine sees nothing, and is looked up once a connection.
func TestStranger(t *testing.T) {
	asked := 0
	s := serve(t, Options{Listen: "127.0.0.1:0"}, empty(), func(s *Server) {
		s.peer = func(net.Conn) door.Peer { asked++; return door.PeerStranger }
	})
	for range 3 {
		if status, _, body := ask(t, http.DefaultClient, "GET", s.Address()); status != 403 || !strings.Contains(body, "for the user that runs takt ui") {
			t.Errorf("%d: %s", status, body)
		}
	}
	if asked != 1 {
		t.Errorf("%d questions for one connection", asked)
	}
}

// With tokens a browser asks for one, and wrong ones are few a minute.
func TestToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("ann correct-horse look\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, Options{Listen: "127.0.0.1:0", TokenFile: path}, empty(), nil)
	basic := func(token string) string {
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth("anybody", token)
		return "Authorization: " + r.Header.Get("Authorization")
	}
	for i, c := range []struct {
		header string
		want   int
	}{
		{"X: none", 401}, {"X: none", 401}, {"X: none", 401}, {"X: none", 401}, // these are no tries
		{basic("correct-horse"), 200}, {"Authorization: Bearer correct-horse", 200},
		{basic("wrong"), 401}, {basic("wrong"), 401}, {basic("wrong"), 401}, {basic("wrong"), 429}, {basic("correct-horse"), 429},
	} {
		status, header, _ := ask(t, http.DefaultClient, "GET", s.Address(), c.header)
		if status != c.want || status == 401 && !strings.HasPrefix(header.Get("Www-Authenticate"), "Basic ") {
			t.Errorf("%d: %d, want %d", i, status, c.want)
		}
	}
}

// The socket of --listen unix: is the user's own, and gone in the end.
func TestUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s := serve(t, Options{Listen: "unix:" + path}, empty(), nil)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || s.Address() != "unix:"+path {
		t.Fatal(info, err, s.Address())
	}
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	if status, _, body := ask(t, c, "GET", "http://localhost/"); status != 200 || !strings.Contains(body, "No runs yet") {
		t.Errorf("%d: %s", status, body)
	}
	// Behind ssh -L, a browser may come with the name of any site that leads to 127.0.0.1.
	if status, _, body := ask(t, c, "GET", "http://evil.example:8236/"); status != 421 || strings.Contains(body, "No runs yet") {
		t.Errorf("%d: %s", status, body)
	}
	c.CloseIdleConnections()
}

// A port in use says what to do.
func TestPortInUse(t *testing.T) {
	s := serve(t, Options{Listen: "127.0.0.1:0"}, empty(), nil)
	_, err := Listen(Options{Listen: strings.TrimSuffix(strings.TrimPrefix(s.Address(), "http://"), "/")}, empty())
	if err == nil || !strings.Contains(err.Error(), "give another --listen") {
		t.Error(err)
	}
}

// Clients that send nothing keep out neither a new client nor one that has shown who it is; a panic of
// a page ends its connection only.
func TestCrowd(t *testing.T) {
	source := empty()
	source.Live = func() ([]Live, error) { panic("a fault of takt") }
	s := serve(t, Options{Listen: "127.0.0.1:0"}, source, nil)
	address := strings.TrimSuffix(strings.TrimPrefix(s.Address(), "http://"), "/")
	if answer, err := http.Get(s.Address()); err == nil {
		t.Errorf("status %d", answer.StatusCode)
	}
	known, err := net.Dial("tcp", address) // has a page, and stays
	if err != nil {
		t.Fatal(err)
	}
	defer known.Close()
	pages := bufio.NewReader(known)
	page := func() error {
		fmt.Fprint(known, "HEAD /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		answer, err := http.ReadResponse(pages, &http.Request{Method: http.MethodHead})
		if err == nil {
			err = answer.Body.Close()
		}
		return err
	}
	if err := page(); err != nil {
		t.Fatal(err)
	}
	var all []net.Conn
	for range maxConns/2 + 20 { // of one address
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		all = append(all, conn)
	}
	answer, err := http.Get(s.Address() + "nowhere")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if err := page(); err != nil {
		t.Errorf("a known visitor: %v", err)
	}
}

// What slow clients have not read yet is limited, and a page that was read is not counted any more.
func TestUnread(t *testing.T) {
	s := serve(t, Options{Listen: "127.0.0.1:0"}, empty(), nil)
	s.unread.Store(maxUnread)
	if status, _, body := ask(t, http.DefaultClient, "GET", s.Address()); status != 503 || !strings.Contains(body, "have not read 256 MiB") {
		t.Errorf("%d: %s", status, body)
	}
	s.unread.Store(0)
	for range 3 {
		if status, _, body := ask(t, http.DefaultClient, "GET", s.Address()); status != 200 || s.unread.Load() > int64(len(body)) {
			t.Errorf("%d: %d bytes are unread", status, s.unread.Load())
		}
	}
}

// A page is not made more often than its cost allows, however many ask; an error is not kept.
func TestCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c calm
		made := 0
		make := func() (served, error) {
			made++
			time.Sleep(300 * time.Millisecond)
			return served{status: made}, nil
		}
		for range 29 { // 3 s of rest
			if a, err := c.get("a", make); err != nil || a.status != 1 {
				t.Fatal(a.status, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(200 * time.Millisecond)
		if a, _ := c.get("a", make); a.status != 2 {
			t.Errorf("page %d after the rest", a.status)
		}
		for range 2 {
			if _, err := c.get("b", func() (served, error) { made++; return served{}, os.ErrNotExist }); err == nil {
				t.Error("no error")
			}
		}
		for i := range 100 {
			_, _ = c.get(fmt.Sprint(i), make)
		}
		if made != 104 || len(c.all) > mostCalm {
			t.Errorf("%d pages were made, and %d are kept", made, len(c.all))
		}
	})
}

func TestSplitFilters(t *testing.T) {
	for text, want := range map[string]string{
		"": "[]", "  \n": "[]", "a=b": `["a=b"]`, " a=b  c<1 ": `["a=b" "c<1"]`, `a='b c' d="e 'f'"`: `["a=b c" "d=e 'f'"]`, "a=''": `["a="]`, "''": `[""]`, "'": "open", `a="b`: "open",
	} {
		words, err := splitFilters(text)
		got := fmt.Sprintf("%q", words)
		if err != nil {
			got = err.Error()
		}
		if got != want && !(err != nil && strings.Contains(got, want)) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// A store that does not answer keeps nobody from the runs in progress, also while pages of runs that have
// just ended lead to it.
func TestLiveWhileTheStoreHangs(t *testing.T) {
	hung, entered := make(chan struct{}), make(chan struct{}, maxPages)
	source := empty()
	source.Runs = func(context.Context, []string, int, int) ([]stored.Run, bool, error) {
		entered <- struct{}{}
		<-hung
		return nil, false, nil
	}
	source.Report = func(ctx context.Context, _ string) (*takt.Report, error) {
		select {
		case <-hung:
		case <-ctx.Done():
		}
		return nil, errors.New("the store does not answer")
	}
	s := serve(t, Options{Listen: "127.0.0.1:0"}, source, nil)
	var lists sync.WaitGroup
	defer lists.Wait()
	defer close(hung)
	for range maxPages {
		lists.Go(func() { ask(t, http.DefaultClient, "GET", s.Address()) })
	}
	for range maxPages {
		<-entered
	}
	stays := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for i := range maxPages + 1 {
		if status, h, text := ask(t, stays, "GET", fmt.Sprintf("%slive?id=a%%252F%d", s.Address(), i)); status != http.StatusSeeOther || h.Get("Location") != fmt.Sprintf("/run?id=a%%2F%d", i) {
			t.Fatalf("a run that has ended: status %d to %q: %.300s", status, h.Get("Location"), text)
		}
	}
	if status, _, text := ask(t, http.DefaultClient, "GET", s.Address()+"live"); status != 200 || !strings.Contains(text, "Nothing runs now") {
		t.Errorf("status %d: %.300s", status, text)
	}
}

// A run that has ended leads to the store, whose page says what is wrong with it.
func TestEndedWithoutReport(t *testing.T) {
	source := empty()
	var cause error
	source.Report = func(context.Context, string) (*takt.Report, error) { return nil, cause }
	s := serve(t, Options{Listen: "127.0.0.1:0"}, source, nil)
	for _, c := range []struct {
		cause  error
		status int
		hint   bool
	}{
		{&fault.Error{Kind: fault.ErrNotFound, Store: "a"}, 404, true},
		{&fault.Error{Kind: fault.ErrUnreachable, Store: "http://h", Cause: context.DeadlineExceeded, Hint: "it does not answer"}, 503, false},
		{&fault.Error{Kind: fault.ErrCorrupt, Store: "runs.db"}, 503, false},
	} {
		cause = c.cause
		if status, _, text := ask(t, http.DefaultClient, "GET", s.Address()+"live?id=a"); status != c.status || !strings.Contains(text, c.cause.Error()) || strings.Contains(text, "takt store sync") != c.hint {
			t.Errorf("%v: status %d: %s", c.cause, status, text[strings.Index(text, "<body")+1:])
		}
	}
}
