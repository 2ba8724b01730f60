package elastic

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/test/metricstest"
)

// The dashboard of docs/grafana asks for fields that the index has, with a type that the use needs.
func TestDashboardHasFieldsOfTheMapping(t *testing.T) {
	fields := map[string]string{}
	flatten(fields, "", mapping())
	numbers := []string{"long", "double"}
	types := map[string][]string{
		"avg": numbers, "max": numbers, "sum": numbers, "terms": {"keyword"}, "date_histogram": {"date"}, "timeField": {"date"}, "textField": {"keyword"}, "tagsField": {"keyword"},
	}
	found := 0
	ask := func(use, field string) {
		found++
		has, known := fields[field]
		if !known || use != "" && !slices.Contains(types[use], has) {
			t.Errorf("%s of the field %q, with type %q in the index", use, field, has)
		}
	}
	word := regexp.MustCompile(`([a-z_.]+):`)
	metricstest.Objects(t, "../../../docs/grafana/elasticsearch.json", func(v map[string]any) {
		if field, ok := v["field"].(string); ok {
			use, _ := v["type"].(string)
			ask(use, field)
		}
		for _, use := range []string{"timeField", "textField", "tagsField"} {
			if field, ok := v[use].(string); ok {
				ask(use, field)
			}
		}
		if include, ok := v["include"].(map[string]any); ok {
			for _, name := range include["names"].([]any) {
				ask("", name.(string))
			}
		}
		if query, ok := v["query"].(string); ok {
			terms := struct{ Find, Field string }{}
			if json.Unmarshal([]byte(query), &terms) == nil && terms.Find != "" {
				ask(terms.Find, terms.Field)
			} else {
				if strings.Contains(query, "$filter") {
					t.Errorf("Grafana escapes the filter, and it finds nothing: %s", query)
				}
				for _, m := range word.FindAllStringSubmatch(strings.ReplaceAll(query, "${filter:raw}", ""), -1) {
					ask("terms", m[1])
				}
			}
		}
	})
	if found < 50 {
		t.Errorf("the test found %d uses of fields", found)
	}
}

// flatten adds the type of each field of a mapping.
func flatten(types map[string]string, prefix string, o object) {
	for name, field := range o["properties"].(object) {
		if f := field.(object); f["properties"] != nil {
			flatten(types, prefix+name+".", f)
		} else {
			types[prefix+name] = f["type"].(string)
		}
	}
}
