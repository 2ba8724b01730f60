package apmserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	client "github.com/olivere/elastic/v7"
)

// elasticsearch answers by method and path, and keeps what it was asked.
func elasticsearch(t *testing.T, answers map[string]string) (d *Documents, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		what := r.Method + " " + r.URL.Path
		*asked = append(*asked, what+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[what]
		if !ok {
			w.WriteHeader(http.StatusBadRequest) // as Elasticsearch answers to a path that it does not know
			answer = `{"error":"no handler found for uri"}`
		}
		io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	d, err := OpenDocuments(Output{URL: strings.Replace(server.URL, "http://", "http://elastic:s3cret@", 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d, asked
}

const pattern = "apm-*,traces-apm*,logs-apm*"

func TestCount(t *testing.T) {
	d, asked := elasticsearch(t, map[string]string{
		"POST /" + pattern + "/_refresh": `{}`, "POST /" + pattern + "/_count": `{"count":42}`, "GET /_cluster/health": `{"status":"yellow"}`,
	})
	if n, err := d.Count(t.Context()); n != 42 || err != nil {
		t.Error(n, err)
	}
	if len(*asked) != 2 {
		t.Fatal(*asked)
	}
	var query, want any
	if err := json.Unmarshal([]byte(strings.SplitN((*asked)[1], " ", 3)[2]), &query); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal([]byte(`{"query":{"bool":{"filter":{"bool":{"should":[{"terms":{"processor.event":["transaction","span","error"]}},
			{"bool":{"filter":{"terms":{"data_stream.dataset":["apm","apm.rum","apm.error"]}},"must_not":{"exists":{"field":"processor.event"}}}}]}},
		"must_not":[{"term":{"service.name":"apm-server"}},{"term":{"context.service.name":"apm-server"}}]}}}`), &want)
	if !reflect.DeepEqual(query, want) {
		t.Errorf("%v, want %v", query, want)
	}
	if health, err := d.Health(t.Context()); health != "yellow" || err != nil {
		t.Error(health, err)
	}
	if o := d.Output(); o.User != "elastic" || o.Password != "s3cret" || strings.Contains(o.URL, "@") {
		t.Errorf("%#v", o)
	}
}

func TestDelete(t *testing.T) {
	refresh, count := "POST /"+pattern+"/_refresh", "POST /"+pattern+"/_count"
	d, asked := elasticsearch(t, map[string]string{refresh: `{}`, count: `{"count":42}`, "POST /" + pattern + "/_delete_by_query": `{"deleted":42}`})
	if n, whole, err := d.Delete(t.Context()); n != 42 || whole || err != nil {
		t.Error(n, whole, err)
	}
	if last := (*asked)[2]; !strings.Contains(last, "processor.event") {
		t.Error(last)
	}
	d, asked = elasticsearch(t, map[string]string{
		refresh: `{}`, count: `{"count":42}`,
		"GET /_resolve/index/" + pattern:          `{"indices":[{"name":"apm-7.17.29-span"},{"name":".ds-traces-apm-default-1","data_stream":"traces-apm-default"}],"data_streams":[{"name":"traces-apm-default"}]}`,
		"DELETE /apm-7.17.29-span":                `{}`,
		"DELETE /_data_stream/traces-apm-default": `{}`,
	})
	if n, whole, err := d.Delete(t.Context()); n != 42 || !whole || err != nil {
		t.Error(n, whole, err)
	}
	if got := (*asked)[4:]; !slices.Equal(got, []string{"DELETE /apm-7.17.29-span ", "DELETE /_data_stream/traces-apm-default "}) {
		t.Error(got)
	}
	if !lacksDelete(&client.Error{Status: 400, Details: &client.ErrorDetails{Reason: "request [/apm-*/_delete_by_query] contains unrecognized parameters: [conflicts]"}}) || // version 7
		lacksDelete(&client.Error{Status: 400, Details: &client.ErrorDetails{Reason: "no such query"}}) || lacksDelete(io.EOF) {
		t.Error("lacksDelete")
	}
	d, asked = elasticsearch(t, map[string]string{refresh: `{}`, count: `{"count":0}`})
	if n, _, err := d.Delete(t.Context()); n != 0 || err != nil || len(*asked) != 2 { // nothing to do
		t.Error(n, err, *asked)
	}
}

func TestDocumentFaults(t *testing.T) {
	for status, want := range map[int]string{401: "give a user that may read", 403: "give a user that may read", 500: "is it running"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }))
		d, err := OpenDocuments(Output{URL: server.URL, User: "u", Password: "s3cret"})
		if err != nil {
			t.Fatal(err)
		}
		for use, err := range map[string]error{"count": second(d.Count(t.Context())), "health": second(d.Health(t.Context()))} {
			if err == nil || !strings.Contains(err.Error(), "the cluster at "+server.URL) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s %d: %v", use, status, err)
			}
		}
		d.Close()
		server.Close()
	}
	if _, err := OpenDocuments(Output{URL: "http://"}); err == nil {
		t.Error("no error")
	}
}

// An error of the cluster is short, of one line and without credentials, also if a proxy repeats them.
func TestDocumentFaultsArePlain(t *testing.T) {
	for status, want := range map[int]string{302: "it leads to another address", 401: "give a user that may read", 502: "is it running"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"status":%d,"error":{"type":"x","reason":"%s of s3cret\n\u001b[2J%s"}}`, status, r.Header.Get("Authorization"), strings.Repeat("long ", 1<<16))
		}))
		d, err := OpenDocuments(Output{URL: server.URL, User: "u", Password: "s3cret"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Count(t.Context())
		if err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "xxxxx") || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %.1000q", status, fmt.Sprint(err))
		}
		for _, no := range []string{"s3cret", "dTpzM2NyZXQ=", "\n", "\x1b"} {
			if strings.Contains(fmt.Sprint(err), no) {
				t.Errorf("%d: %q in %.1000q", status, no, fmt.Sprint(err))
			}
		}
		d.Close()
		server.Close()
	}
}

func second[T any](_ T, err error) error { return err }

// As apm-server 7.17 gives its counters, and libbeat.
func TestCounters(t *testing.T) {
	for path, text := range map[string]string{
		"/debug/vars": `{"apm-server.processor.stream.accepted": 30, "libbeat.pipeline.events.active": 4, "libbeat.output.events.active": 9, "beat.memstats.rss": 7, "cmdline": ["apm-server"], "memstats": {"HeapAlloc": 5, "BySize": [{"Size": 1}]}}`,
		"/stats":      `{"apm-server":{"processor":{"stream":{"accepted":30}}},"libbeat":{"pipeline":{"events":{"active":4}},"output":{"events":{"active":9},"type":"elasticsearch"}},"beat":{"memstats":{"rss":7}},"memstats":{"HeapAlloc":5}}`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, text) }))
		c, err := readCounters(t.Context(), server.URL+path, "")
		want := Counters{"apm-server.processor.stream.accepted": 30, "libbeat.pipeline.events.active": 4, "libbeat.output.events.active": 9, "beat.memstats.rss": 7, "memstats.HeapAlloc": 5}
		if err != nil || !reflect.DeepEqual(c, want) {
			t.Errorf("%s: %v, %v", path, c, err)
		}
		changed := c.since(Counters{"libbeat.output.events.active": 9, "memstats.HeapAlloc": 1})
		if want := map[string]any{"apm-server.processor.stream.accepted": 30.0, "libbeat.pipeline.events.active": 4.0}; !reflect.DeepEqual(changed, want) {
			t.Errorf("%v, want %v", changed, want)
		}
		server.Close()
	}
}

// The output's counters mean different things in libbeat and in go-docappender.
func TestFlow(t *testing.T) {
	const pipeline, output = "libbeat.pipeline.events.", "libbeat.output.events."
	for name, test := range map[string]struct {
		c    Counters
		want flow
		told bool
	}{
		"libbeat": {
			Counters{
				"apm-server.processor.stream.accepted": 100, output + "acked": 60, output + "duplicates": 1, output + "dropped": 7, output + "failed": 500, output + "active": 20,
				pipeline + "dropped": 2, pipeline + "failed": 3, pipeline + "filtered": 4, pipeline + "active": 30,
			},
			flow{accepted: 100, acked: 61, dropped: 12, filtered: 4, queued: 30}, true,
		},
		"docappender": {
			Counters{"apm-server.processor.stream.accepted": 100, output + "acked": 60, output + "failed": 7, output + "active": 33, pipeline + "total": 100},
			flow{accepted: 100, acked: 60, dropped: 7, queued: 33}, true,
		},
		"below 0":       {Counters{output + "acked": 1, output + "active": -3, pipeline + "active": 1<<64 - 2}, flow{acked: 1}, true},
		"expvar of 6.8": {Counters{"apm-server.server.request.count": 5}, flow{}, false},
	} {
		if f, told := test.c.flow(); f != test.want || told != test.told {
			t.Errorf("%s: %+v, %v", name, f, told)
		}
	}
}

// libbeat's counters go before expvar's, and the choice stays.
func TestWhereCountersAre(t *testing.T) {
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/debug/vars":
			fmt.Fprintf(w, `{"from":1,"token":%d}`, len(r.Header.Get("Authorization")))
		case down.Load():
			w.WriteHeader(http.StatusNotFound)
		default:
			fmt.Fprintf(w, `{"from":2,"token":%d}`, len(r.Header.Get("Authorization")))
		}
	}))
	defer server.Close()
	managed := Running{URLs: []string{server.URL}, stats: server.URL + "/stats", secret: "t"}
	if c, ok := managed.counters(t.Context()); !ok || c["from"] != 2 || c["token"] != 0 {
		t.Error(c, ok)
	}
	down.Store(true)
	if c, ok := managed.counters(t.Context()); ok {
		t.Errorf("%v come from elsewhere than those before", c)
	}
	managed.shown = nil
	if c, ok := managed.counters(t.Context()); !ok || c["from"] != 1 || c["token"] != 8 {
		t.Error(c, ok)
	}
	two := Running{URLs: []string{server.URL, server.URL}}
	if c, ok := two.counters(t.Context()); !ok || c["from"] != 2 {
		t.Error(c, ok)
	}
}
