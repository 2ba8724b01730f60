//go:build real

package elastic

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	client "github.com/olivere/elastic/v7"

	"github.com/taktload/takt/internal/elastic"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/internal/test/storetest"
)

// server is the URL of a real Elasticsearch or OpenSearch, which scripts/test-real
// starts.
func server(t *testing.T) string {
	t.Helper()
	url := os.Getenv("TAKT_ELASTICSEARCH")
	if url == "" {
		t.Fatal("TAKT_ELASTICSEARCH is not set; run scripts/test-real")
	}
	return url
}

// fresh opens an index that no other test has, and deletes it in the end.
func fresh(t *testing.T, index string) *Store {
	t.Helper()
	s, err := Open(server(t)+"/"+index, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// name is an index of the test's own.
func name(t *testing.T, n int) string {
	index := fmt.Sprintf("takt-test-%d-%d", os.Getpid(), n)
	t.Cleanup(func() {
		ask(t, "PUT", "/_cluster/settings", `{"persistent":{"cluster.blocks.read_only":null}}`)
		ask(t, "DELETE", "/"+index, "")
		ask(t, "DELETE", "/_index_template/"+index, "")
	})
	return index
}

// ask makes a request of its own; what is not there does not matter.
func ask(t *testing.T, method, path, body string) {
	t.Helper()
	req, err := http.NewRequest(method, server(t)+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode >= 300 && resp.StatusCode != 404 {
		t.Fatalf("%s %s: %s", method, path, resp.Status)
	}
}

func TestRealSuite(t *testing.T) {
	n := 0
	var index string
	storetest.Run(t, func(t *testing.T, again bool) storetest.Store {
		if !again {
			n++
			index = name(t, n)
		}
		return fresh(t, index)
	})
}

// A dashboard finds figures as numbers, labels as keywords, histograms as they are.
func TestRealMapping(t *testing.T) {
	s := fresh(t, name(t, 100))
	defer s.Close()
	r := storetest.Reports(1, 1)[0]
	r.Labels["branch"] = "main"
	if err := s.Save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	answer, err := elastic.API(s.cluster).PerformRequest(t.Context(), client.PerformRequestOptions{Method: "GET", Path: "/" + s.index + "/_mapping"})
	if err != nil {
		t.Fatal(err)
	}
	text := string(answer.Body)
	for _, want := range []string{`"p99_us":{"type":"double"}`, `"hdr":{"type":"binary"}`, `"order":{"type":"keyword","ignore_above":1000}`, `"started_at":{"type":"date"}`, `"dynamic":"false"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the mapping lacks %s:\n%s", want, text)
		}
	}
	for _, q := range []string{`branch:main`, `latency.response.count:100`, `counts.ok:[0 TO *]`, `started_at:[1970 TO 2100]`} {
		found, err := elastic.API(s.cluster).Search(s.index).Query(client.NewQueryStringQuery(q)).Do(t.Context())
		if err != nil || found.TotalHits() != 1 {
			t.Errorf("%s finds %d runs, %v", q, found.TotalHits(), err)
		}
	}
}

func TestRealReadOnly(t *testing.T) {
	s := fresh(t, name(t, 101))
	defer s.Close()
	reports := storetest.Reports(1, 2)
	if err := s.Save(t.Context(), reports[0]); err != nil {
		t.Fatal(err)
	}
	readOnly := func(t *testing.T) {
		t.Helper()
		if err := s.Save(t.Context(), reports[1]); !errors.Is(err, fault.ErrReadOnly) || !strings.Contains(err.Error(), "; lift the block") {
			t.Errorf("save: %v", err)
		}
		if err := s.Delete(t.Context(), reports[0].ID); !errors.Is(err, fault.ErrReadOnly) {
			t.Errorf("delete: %v", err)
		}
		if _, err := s.Load(t.Context(), reports[0].ID); err != nil {
			t.Errorf("what is kept can be read: %v", err)
		}
	}
	ask(t, "PUT", "/"+s.index+"/_settings", `{"index.blocks.write":true}`)
	readOnly(t)
	ask(t, "PUT", "/"+s.index+"/_settings", `{"index.blocks.write":null}`)
	ask(t, "PUT", "/_cluster/settings", `{"persistent":{"cluster.blocks.read_only":true}}`)
	readOnly(t)

	// A store that has saved nothing yet fails at the template.
	other := fresh(t, name(t, 102))
	defer other.Close()
	if err := other.Save(t.Context(), reports[1]); !errors.Is(err, fault.ErrReadOnly) {
		t.Errorf("save into a new index: %v", err)
	}
	ask(t, "PUT", "/_cluster/settings", `{"persistent":{"cluster.blocks.read_only":null}}`)
	ask(t, "PUT", "/"+s.index+"/_settings", `{"index.blocks.read_only_allow_delete":true}`) // as a disk that is full sets it
	if err := s.Save(t.Context(), reports[1]); !errors.Is(err, fault.ErrFull) {
		t.Errorf("save on a full disk: %v", err)
	}
	ask(t, "PUT", "/"+s.index+"/_settings", `{"index.blocks.read_only_allow_delete":null}`)
	if err := s.Save(t.Context(), reports[1]); err != nil {
		t.Error(err)
	}
}

// A template that an administrator has made stays, unless it is of a newer takt.
func TestRealTemplate(t *testing.T) {
	s := fresh(t, name(t, 103))
	defer s.Close()
	report := storetest.Reports(1, 1)[0]
	put := func(version int) {
		body := template(s.index)
		body["version"] = version
		body["_meta"] = object{"description": "by hand"}
		if _, err := elastic.API(s.cluster).IndexPutIndexTemplate(s.index).BodyJson(body).Do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	put(version + 1)
	if err := s.Save(t.Context(), report); !errors.Is(err, fault.ErrTooNew) {
		t.Errorf("the template of a newer takt: %v", err)
	}
	put(version)
	if err := s.Save(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	got, err := elastic.API(s.cluster).IndexGetIndexTemplate(s.index).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if t1, ok := got.IndexTemplates.ByName(s.index); !ok || t1.IndexTemplate.Meta["description"] != "by hand" {
		t.Errorf("the template is not the one made by hand: %+v", t1)
	}
	for _, err := range s.Runs(t.Context(), stored.Query{}) {
		if err != nil {
			t.Error(err)
		}
	}
}
