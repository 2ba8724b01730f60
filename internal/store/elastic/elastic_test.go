package elastic

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/elastic"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/internal/test/storetest"
	"github.com/taktload/takt/pkg/takt"
)

// The suite of all stores runs against real servers, in real_test.go. Here is what
// they cannot be brought to answer.

// serve answers every request with that.
func serve(t *testing.T, status int, body string) *Store {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	s, err := Open(server.URL, Options{User: "elastic", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// uses are all that a store can be asked.
func uses(ctx context.Context, s *Store) map[string]error {
	_, load := s.Load(ctx, "id")
	var runs error
	for _, err := range s.Runs(ctx, stored.Query{}) {
		runs = err
	}
	return map[string]error{"save": s.Save(ctx, storetest.Reports(1, 1)...), "load": load, "runs": runs, "delete": s.Delete(ctx, "id")}
}

func TestAnswersWithErrors(t *testing.T) {
	failed := func(status int, kind, reason string) string {
		return fmt.Sprintf(`{"status":%d,"error":{"type":%q,"reason":%q}}`, status, kind, reason)
	}
	for _, test := range []struct {
		status int
		body   string
		want   error
		hint   string
	}{
		{401, failed(401, "security_exception", "missing authentication credentials"), fault.ErrUnreachable, "TAKT_STORE_API_KEY"},
		{403, failed(403, "security_exception", "action is unauthorized for user"), fault.ErrReadOnly, "create_index"},
		{403, failed(403, "cluster_block_exception", "blocked by: [FORBIDDEN/8/index write (api)];"), fault.ErrReadOnly, "index.blocks"},
		{429, failed(429, "cluster_block_exception", "index [takt-runs] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block];"), fault.ErrFull, "make room"},
		{429, failed(429, "circuit_breaking_exception", "Data too large"), fault.ErrUnreachable, "later"},
		{503, failed(503, "master_not_discovered_exception", ""), fault.ErrUnreachable, "later"},
		{502, "<html>bad gateway</html>", fault.ErrUnreachable, "later"},
		{500, failed(500, "x", "Authorization: Basic ZWxhc3RpYzpzZWNyZXQ= of elastic:secret\n"+strings.Repeat("long ", 1<<17)), fault.ErrUnreachable, "xxxxx"},
		{302, "", fault.ErrUnreachable, "another address"},
		{404, failed(404, "index_not_found_exception", "no such index [takt-runs] and auto-creation is off"), fault.ErrUnreachable, "create this one"},
		{404, "404 page not found", fault.ErrUnreachable, "Elasticsearch from 7.8"},
		{405, "", fault.ErrUnreachable, "Elasticsearch from 7.8"},
	} {
		s := serve(t, test.status, test.body)
		for use, err := range uses(t.Context(), s) {
			wrong(t, fmt.Sprint(use, " ", test.status), s, err, test.want)
			if use == "save" && !strings.Contains(err.Error(), test.hint) {
				t.Errorf("%d: no %q in %v", test.status, test.hint, err)
			}
		}
	}
}

// wrong says whether err is of that kind, names the store and what to do, and no secret.
func wrong(t *testing.T, what string, s *Store, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), s.cluster.Where) || !strings.Contains(err.Error(), "; ") || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "ZWxhc3RpYzpzZWNyZXQ=") || len(err.Error()) > 1000 {
		t.Errorf("%s: %.1000v, want %v with the store and what to do", what, err, kind)
	}
}

func TestDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s, err := Open("opensearch://elastic:secret@"+l.Addr().String(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 { // the client remembers who did not answer
		for use, err := range uses(t.Context(), s) {
			wrong(t, use, s, err, fault.ErrUnreachable)
		}
	}
}

// What answers something else has kept nothing and lists nothing.
func TestNoElasticsearch(t *testing.T) {
	for _, body := range []string{"<html>hello</html>", "{}", "[]", "", `{"hits":null,"docs":[],"items":[]}`} {
		s := serve(t, 200, body)
		for use, err := range uses(t.Context(), s) {
			if wrong(t, use+" "+body, s, err, fault.ErrUnreachable); !strings.Contains(err.Error(), "does not answer as Elasticsearch") {
				t.Errorf("%s %q: %v", use, body, err)
			}
		}
	}
}

// A document that somebody has changed.
func TestDocumentDamaged(t *testing.T) {
	for _, run := range []string{`{`, `[]`, `{"started_at":"yesterday","variables":{}}`, `{"started_at":"2026-01-01T00:00:00.000000000Z","variables":{},"names":["p50"],"values":[]}`} {
		s := serve(t, 200, fmt.Sprintf(`{"hits":{"hits":[{"_id":"a","_source":{"run":%q}}]},"docs":[{"_id":"a","found":true,"_source":{"report":"aGVsbG8="}}]}`, run))
		use := uses(t.Context(), s)
		wrong(t, run, s, use["runs"], fault.ErrCorrupt)
		wrong(t, run, s, use["load"], fault.ErrCorrupt)
	}
}

func TestNoAnswerInTime(t *testing.T) {
	s := serve(t, 200, "{}")
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for use, err := range uses(ctx, s) {
		if wrong(t, use, s, err, fault.ErrUnreachable); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", use, err)
		}
	}
}

// What never ends is refused, and the error says its limit.
func TestAnswerIsTooLarge(t *testing.T) {
	s := serve(t, 200, "{}")
	err := s.fault(t.Context(), &http.MaxBytesError{Limit: elastic.MaxAnswer})
	if wrong(t, "an endless answer", s, err, fault.ErrUnreachable); !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Error(err)
	}
}

// Reports whose answer is too large come in several answers, in their order.
func TestLoadAsksForFewer(t *testing.T) {
	var asked []int
	const most = 4 // documents of the largest answer
	one := func(id string) string {
		all, err := document.Pack(&takt.Report{SchemaVersion: takt.SchemaVersion, ID: id})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(all[0].Gzip)
		return fmt.Sprintf(`{"_id":%q,"found":true,"_source":{"report":%s},"x":%q}`, id, text, strings.Repeat("x", 100_000))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Docs []struct {
				ID string `json:"_id"`
			} `json:"docs"`
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		asked = append(asked, len(q.Docs))
		var docs []string
		for _, d := range q.Docs {
			docs = append(docs, one(d.ID))
		}
		fmt.Fprintf(w, `{"docs":[%s]}`, strings.Join(docs, ","))
	}))
	defer server.Close()
	load := func(limit int64) ([]*takt.Report, error) {
		asked = nil
		s, err := Open(server.URL, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		s.cluster.Limit(limit)
		var ids []string
		for i := range 12 {
			ids = append(ids, fmt.Sprint("r", i))
		}
		return s.Load(t.Context(), ids...)
	}
	reports, err := load((most + 1) * 100_000)
	if err != nil || len(reports) != 12 {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	for i, r := range reports {
		if r.ID != fmt.Sprint("r", i) {
			t.Errorf("report %d is %s", i, r.ID)
		}
	}
	if want := []int{10, 5, 2, 2, 2, 2, 2, 2}; !slices.Equal(asked, want) {
		t.Errorf("asked for %d reports, want %d", asked, want)
	}
	if _, err := load(50_000); !errors.Is(err, fault.ErrUnreachable) || !slices.Equal(asked, []int{10, 5, 2, 1}) {
		t.Errorf("one report that is too large: %v after %d", err, asked)
	}
}

// Runs whose answer is too large come in several answers, in their order; one that never ends is an error.
func TestRunsAskForFewer(t *testing.T) {
	const most = 4 // runs of the largest answer
	var sizes []int
	all := make([]string, 12)
	for i := range all {
		d, err := packed(fmt.Sprintf("r%02d", i))
		if err != nil {
			t.Fatal(err)
		}
		all[i] = fmt.Sprintf(`{"_id":"r%02d","_source":{"run":%q},"sort":["%02d"],"x":%q}`, i, d, i, strings.Repeat("x", 100_000))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Size  int      `json:"size"`
			After []string `json:"search_after"`
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		sizes = append(sizes, q.Size)
		from := 0
		if len(q.After) > 0 {
			from, _ = strconv.Atoi(q.After[0])
			from++
		}
		fmt.Fprintf(w, `{"hits":{"hits":[%s]}}`, strings.Join(all[from:min(from+q.Size, len(all))], ","))
	}))
	defer server.Close()
	list := func(limit int64) (ids []string, err error) {
		sizes = nil
		s, err := Open(server.URL, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		s.cluster.Limit(limit)
		for run, err := range s.Runs(t.Context(), stored.Query{Limit: 12}) {
			if err != nil {
				return ids, err
			}
			ids = append(ids, run.ID)
		}
		return ids, nil
	}
	ids, err := list((most + 1) * 110_000)
	if want := "r00 r01 r02 r03 r04 r05 r06 r07 r08 r09 r10 r11"; err != nil || strings.Join(ids, " ") != want || !slices.Equal(sizes, []int{12, 6, 3, 3, 3, 3}) {
		t.Errorf("%v, %v; asked for %d", ids, err, sizes)
	}
	if ids, err := list(50_000); !errors.Is(err, fault.ErrUnreachable) || len(ids) > 0 || !slices.Equal(sizes, []int{12, 6, 3, 1}) {
		t.Errorf("one run that is too large: %v, %v after %d", ids, err, sizes)
	}
}

// packed is a run as a document lists it.
func packed(id string) (string, error) {
	all, err := document.Pack(&takt.Report{SchemaVersion: takt.SchemaVersion, ID: id})
	if err != nil {
		return "", err
	}
	d, err := newDoc(&all[0])
	if err != nil {
		return "", err
	}
	return d.Run, nil
}

// A redirect is not followed: it could lead the credentials elsewhere.
func TestRedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Error("takt follows a redirect") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	s, err := Open(server.URL, Options{User: "elastic", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for use, err := range uses(t.Context(), s) {
		wrong(t, use, s, err, fault.ErrUnreachable)
	}
}

// One of the reports was refused: that is an error, though the request was fine.
func TestPartOfABulkFails(t *testing.T) {
	s := serve(t, 200, `{"errors":true,"items":[{"index":{"_id":"a","status":201}},{"index":{"_id":"b","status":429,"error":{"type":"es_rejected_execution_exception","reason":"queue is full"}}}]}`)
	<-s.ready
	s.ready <- true
	wrong(t, "save", s, s.Save(t.Context(), storetest.Reports(1, 2)...), fault.ErrUnreachable)
}

// A search without some of the shards would be a listing without some of the runs.
func TestShardsThatFail(t *testing.T) {
	s := serve(t, 200, `{"_shards":{"total":2,"successful":1,"failed":1},"hits":{"hits":[]}}`)
	for _, err := range s.Runs(t.Context(), stored.Query{}) {
		wrong(t, "runs", s, err, fault.ErrUnreachable)
		return
	}
	t.Error("no error")
}

func TestCredentials(t *testing.T) {
	basic := func(user, password string) string {
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth(user, password)
		return r.Header.Get("Authorization")
	}
	for _, test := range []struct {
		userinfo string
		o        Options
		want     string
	}{
		{"", Options{}, ""},
		{"u:p%40%2F@", Options{}, basic("u", "p@/")},
		{"u@", Options{Password: "p"}, basic("u", "p")},
		{"", Options{User: "u", Password: "p"}, basic("u", "p")},
		{"x:y@", Options{User: "u", Password: "p"}, basic("u", "p")}, // the environment goes before
		{"", Options{APIKey: "aWQ6a2V5"}, "ApiKey aWQ6a2V5"},
		{"u:p@", Options{APIKey: "aWQ6a2V5"}, "ApiKey aWQ6a2V5"},
	} {
		var got string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r.Header.Get("Authorization")
			io.WriteString(w, `{"docs":[{"found":false}]}`)
		}))
		s, err := Open("elasticsearch://"+test.userinfo+server.Listener.Addr().String(), test.o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Load(t.Context(), "a"); !errors.Is(err, fault.ErrNotFound) {
			t.Error(err)
		}
		if got != test.want {
			t.Errorf("%q %+v: Authorization: %q, want %q", test.userinfo, test.o, got, test.want)
		}
		s.Close()
		server.Close()
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"docs":[{"found":false}]}`)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // a client that does not trust it hangs up
	server.StartTLS()
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(scheme string, o Options) error {
		s, err := Open(scheme+"://"+server.Listener.Addr().String(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, err = s.Load(t.Context(), "a")
		return err
	}
	for _, scheme := range []string{"elasticsearch+tls", "opensearch+tls", "https"} {
		if err := load(scheme, Options{CAFile: ca}); !errors.Is(err, fault.ErrNotFound) {
			t.Errorf("%s: %v", scheme, err)
		}
	}
	if err := load("https", Options{}); !errors.Is(err, fault.ErrUnreachable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority: %v", err)
	}
	for _, file := range []string{"nobody", "elastic_test.go"} {
		if _, err := Open("https://h", Options{CAFile: file}); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("authority %s: %v", file, err)
		}
	}
}

func TestURLs(t *testing.T) {
	for _, test := range []struct{ where, address, index, shown string }{
		{"elasticsearch://h", "http://h:9200", "takt-runs", "elasticsearch://h"},
		{"opensearch://h:1/", "http://h:1", "takt-runs", "opensearch://h:1/"},
		{"elasticsearch+tls://u:p@h/team-a", "https://h:9200", "team-a", "elasticsearch+tls://h/team-a"},
		{"elasticsearch://[::1]", "http://[::1]:9200", "takt-runs", "elasticsearch://[::1]"},
		{"https://es.example.com", "https://es.example.com", "takt-runs", "https://es.example.com"},
	} {
		s, err := Open(test.where, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.index != test.index || s.cluster.Where != test.shown || !strings.Contains(elastic.API(s.cluster).String(), test.address+" ") {
			t.Errorf("%s: index %s of %s, shown as %s", test.where, s.index, elastic.API(s.cluster), s.cluster.Where)
		}
		s.Close()
	}
	for _, where := range []string{"elasticsearch://", "elasticsearch://u:secret@h/a/b", "elasticsearch://u:secret@h?x=y", "elasticsearch://u:secret%@h", "elasticsearch://u:secret@h:port", "elasticsearch:///index"} {
		if _, err := Open(where, Options{}); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "; give it as") {
			t.Errorf("%s: %v", where, err)
		}
	}
}

// Reports of more than a request may hold go in several.
func TestBulkIsBounded(t *testing.T) {
	var sizes []int
	documents := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/_bulk") {
			io.WriteString(w, `{}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		sizes = append(sizes, len(body))
		n := strings.Count(string(body), "\n") / 2
		documents += n
		fmt.Fprintf(w, `{"items":[%s]}`, strings.TrimSuffix(strings.Repeat(`{"index":{"status":201}},`, n), ","))
	}))
	defer server.Close()
	s, err := Open(server.URL, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	reports := storetest.Reports(1, 1)
	large := strings.Repeat("x", 1<<20)
	for range 20 {
		r := *reports[0]
		r.Latency = map[string]takt.Latency{takt.LatencyResponse: {HDR: large}}
		reports = append(reports, &r)
	}
	if err := s.Save(t.Context(), reports...); err != nil {
		t.Fatal(err)
	}
	if documents != len(reports) || len(sizes) < 3 {
		t.Errorf("%d documents in %d requests, want %d in at least 3", documents, len(sizes), len(reports))
	}
	for _, size := range sizes {
		if size > bulkBytes+2<<20 {
			t.Errorf("a request of %d bytes", size)
		}
	}
}
