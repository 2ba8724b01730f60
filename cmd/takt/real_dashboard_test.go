//go:build real

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/metricstest"
	"github.com/taktload/takt/internal/test/targettest"
	"github.com/taktload/takt/pkg/takt"
)

// runsCluster is an Elasticsearch with an index of the test's own.
type runsCluster struct{ url, index string }

func clusterOf(t *testing.T) runsCluster {
	t.Helper()
	c := runsCluster{os.Getenv("TAKT_ELASTICSEARCH"), fmt.Sprintf("takt-dashboard-%d", os.Getpid())}
	if c.url == "" {
		t.Fatal("TAKT_ELASTICSEARCH is not set; run scripts/test-real")
	}
	t.Cleanup(func() {
		c.ask(t, "DELETE", "/"+c.index, nil, nil)
		c.ask(t, "DELETE", "/_index_template/"+c.index, nil, nil)
	})
	return c
}

func (c runsCluster) ask(t *testing.T, method, path string, body, answer any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if body == nil {
		text = nil
	}
	r, err := http.NewRequest(method, c.url+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	if err == nil && answer != nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s, %v: %.500s", method, path, resp.Status, err, text)
	}
}

// asked is a query of a panel.
type asked struct {
	Query, TimeField, Alias string
	Metrics                 []struct {
		Type, Field string
		Settings    struct{ Size string }
	}
	BucketAggs []struct{ Type, Field string }
}

// written is a query as Grafana sends it with these choices. Grafana escapes what is special to Lucene in the
// text of a variable, unless the query has the variable as raw.
func written(query, kind, verdict, filter string) string {
	escaped := strings.NewReplacer(`*`, `\*`, `:`, `\:`, `"`, `\"`, ` `, `\ `, `=`, `\=`).Replace(filter)
	return strings.NewReplacer("${filter:raw}", filter, "$filter", escaped, "$kind", kind, "$verdict", verdict).Replace(query)
}

type object = map[string]any

// search is the search of a panel. The dates of one bucket are those of a year, so a test knows what is in it.
func (q asked) search(query string) object {
	s := object{
		"query": object{"bool": object{"filter": []any{
			object{"range": object{q.TimeField: object{"gte": 0, "format": "epoch_millis"}}},
			object{"query_string": object{"analyze_wildcard": true, "query": query}},
		}}},
	}
	if len(q.BucketAggs) == 0 {
		s["size"], s["sort"] = q.Metrics[0].Settings.Size, []any{object{q.TimeField: object{"order": "desc", "unmapped_type": "boolean"}}}
		return s
	}
	s["size"] = 0
	inner := object{}
	if m := q.Metrics[0]; m.Type != "count" {
		inner["value"] = object{m.Type: object{"field": m.Field}}
	}
	for _, b := range slices.Backward(q.BucketAggs) {
		how := object{"field": b.Field, "min_doc_count": 1}
		if b.Type == "date_histogram" {
			how["calendar_interval"] = "year"
		}
		inner = object{"bucket": object{b.Type: how, "aggs": inner}}
	}
	s["aggs"] = inner
	return s
}

// aggregation is what a query counts of one time, of one term, or of all.
type aggregation struct {
	Key      any
	DocCount int `json:"doc_count"`
	Value    struct{ Value *float64 }
	Bucket   struct{ Buckets []aggregation }
}

// figureOf is a figure of a report, by its field.
func figureOf(t *testing.T, r *takt.Report, field string) float64 {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var at any
	if err := json.Unmarshal(text, &at); err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(field, ".") {
		at = at.(object)[name]
	}
	figure, ok := at.(float64)
	if !ok {
		t.Errorf("a report has %v as %s", at, field)
	}
	return figure
}

// wants is what a panel must show of these runs.
func wants(t *testing.T, kind, field string, of []*takt.Report) float64 {
	t.Helper()
	sum, most := 0.0, 0.0
	for _, r := range of {
		figure := figureOf(t, r, field)
		sum, most = sum+figure, max(most, figure)
	}
	switch kind {
	case "avg":
		return sum / float64(len(of))
	case "sum":
		return sum
	case "max":
		return most
	}
	t.Errorf("the test does not know the metric %s", kind)
	return 0
}

// TestRealDashboard sends each query of docs/grafana/elasticsearch.json to a cluster with runs, and compares what
// the panels get with the reports.
func TestRealDashboard(t *testing.T) {
	c := clusterOf(t)
	var reports []*takt.Report
	for i, o := range []target.Options{{}, {ErrorRate: 0.3}, {}} {
		args := []string{"--rate", "200/s", "--duration", "500ms", "--no-store=false", "--store", c.url + "/" + c.index, "--label", "revision=" + fmt.Sprint(i), "--label", "note=two words"}
		if i > 0 {
			args = append(args, "--label", "branch=main")
		}
		if i == 2 {
			args = append(args, "--overflow", "drop", "-c", "1")
			o.Service = "20ms"
		}
		reports = append(reports, reportOf(t, "http", append(args, targettest.Serve(t, o).URL())))
	}
	if reports[1].Counts.Failed == 0 || reports[2].Counts.Dropped == 0 {
		t.Fatalf("no failed and dropped operations: %+v, %+v", reports[1].Counts, reports[2].Counts)
	}
	main := func(r *takt.Report) bool { return r.Labels["branch"] == "main" }
	choices := []struct {
		kind, verdict, filter string
		has                   func(*takt.Report) bool
	}{
		{"*", "*", "*", func(*takt.Report) bool { return true }}, // as the dashboard is opened
		{`("http" OR "kafka")`, `("valid" OR "invalid" OR "warning")`, `branch:main AND labels:"note=two words"`, main},
		{`("http")`, "*", `counts.failed:>0`, func(r *takt.Report) bool { return r.Counts.Failed > 0 }},
		{`("kafka")`, "*", "*", func(*takt.Report) bool { return false }},
	}
	panels := 0
	metricstest.Objects(t, "../../docs/grafana/elasticsearch.json", func(o map[string]any) {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var q asked
		if o["metrics"] == nil || json.Unmarshal(text, &q) != nil || len(q.Metrics) == 0 {
			return
		}
		panels++
		for _, choice := range choices {
			query := written(q.Query, choice.kind, choice.verdict, choice.filter)
			var of []*takt.Report
			for _, r := range reports {
				if choice.has(r) {
					of = append(of, r)
				}
			}
			t.Run(strings.ReplaceAll(q.Alias+" "+query, "/", "|"), func(t *testing.T) { c.panel(t, q, query, of) })
		}
	})
	if panels < 13 {
		t.Errorf("the dashboard has only %d queries", panels)
	}
	c.choices(t, reports)
}

// panel sends a query of a panel, and compares the answer with the reports of its runs.
func (c runsCluster) panel(t *testing.T, q asked, query string, of []*takt.Report) {
	var answer struct {
		Hits struct {
			Hits []struct {
				Source object `json:"_source"`
			}
		}
		Aggregations aggregation
	}
	c.ask(t, "POST", "/"+c.index+"/_search", q.search(query), &answer)
	if len(q.BucketAggs) == 0 { // the table
		if len(answer.Hits.Hits) != len(of) {
			t.Errorf("%d rows, want %d", len(answer.Hits.Hits), len(of))
		}
		return
	}
	times := map[string][]aggregation{"": answer.Aggregations.Bucket.Buckets}
	runs := map[string][]*takt.Report{"": of}
	if first := q.BucketAggs[0]; first.Type == "terms" {
		clear(times)
		clear(runs)
		for _, term := range answer.Aggregations.Bucket.Buckets {
			times[fmt.Sprint(term.Key)] = term.Bucket.Buckets
		}
		for _, r := range of {
			if term := map[string]string{"branch": r.Labels["branch"], "verdict": string(r.Verdict)}[first.Field]; term != "" {
				runs[term] = append(runs[term], r)
			}
		}
	}
	for term := range times {
		if len(runs[term]) == 0 && len(times[term]) > 0 {
			t.Errorf("%q has no runs, and %+v", term, times[term])
		}
	}
	for term, of := range runs {
		if len(of) == 0 {
			continue
		}
		if len(times[term]) != 1 || times[term][0].DocCount != len(of) { // at New Year the runs may be of two years
			t.Errorf("%q: %+v, want %d runs", term, times[term], len(of))
			continue
		}
		if m := q.Metrics[0]; m.Type != "count" {
			got, want := times[term][0].Value.Value, wants(t, m.Type, m.Field, of)
			if got == nil || math.Abs(*got-want) > 1e-9*math.Abs(want) {
				t.Errorf("%q: %s of %s is not %v: %+v", term, m.Type, m.Field, want, times[term][0])
			}
		}
	}
}

// choices compares what the choices at the top of the dashboard, its annotations and the columns of its table find.
func (c runsCluster) choices(t *testing.T, reports []*takt.Report) {
	uses := 0
	metricstest.Objects(t, "../../docs/grafana/elasticsearch.json", func(o map[string]any) {
		find := struct{ Find, Field string }{}
		if query, ok := o["query"].(string); ok && json.Unmarshal([]byte(query), &find) == nil && find.Find == "terms" {
			var answer struct{ Aggregations aggregation }
			c.ask(t, "POST", "/"+c.index+"/_search", object{"size": 0, "aggs": object{"bucket": object{"terms": object{"field": find.Field}}}}, &answer)
			n := 0
			for _, b := range answer.Aggregations.Bucket.Buckets {
				n += b.DocCount
			}
			if uses++; n != len(reports) {
				t.Errorf("the choices of %s are %+v", find.Field, answer.Aggregations.Bucket.Buckets)
			}
		}
		var columns []any
		if include, ok := o["include"].(object); ok {
			columns, _ = include["names"].([]any)
		}
		for _, name := range []string{"textField", "tagsField"} {
			if o[name] != nil {
				columns = append(columns, o[name])
			}
		}
		for _, column := range columns {
			uses++
			var answer struct{ Count int }
			c.ask(t, "POST", "/"+c.index+"/_count", object{"query": object{"exists": object{"field": column}}}, &answer)
			want := len(reports)
			if column == "branch" {
				want = 2
			}
			if answer.Count != want {
				t.Errorf("%d runs have %v, want %d", answer.Count, column, want)
			}
		}
	})
	if uses < 15 {
		t.Errorf("the test found %d uses of fields", uses)
	}
}
