package shell_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// openAPI is the file that the server serves, as far as tests need it.
type openAPI struct {
	t    *testing.T
	root map[string]any
	mu   sync.Mutex
	seen map[string]bool // METHOD path of answered requests
}

func readOpenAPI(t *testing.T, b []byte) *openAPI {
	t.Helper()
	o := &openAPI{t: t, seen: map[string]bool{}}
	if err := json.Unmarshal(b, &o.root); err != nil {
		t.Fatal(err)
	}
	return o
}

// check compares an answer with the file. Paths that the file does not have may answer only with
// a problem.
func (o *openAPI) check(method, path string, status int, kind string, body []byte) {
	o.t.Helper()
	response := o.at(o.root, "components", "responses", "Problem")
	if item, operation := o.operation(method, path); operation != nil {
		o.mu.Lock()
		o.seen[method+" "+item] = true
		o.mu.Unlock()
		if response = o.at(operation, "responses", fmt.Sprint(status)); response == nil {
			o.t.Errorf("%s %s: %d is not an answer of the OpenAPI file: %s", method, path, status, body)
			return
		}
	} else if status < 400 {
		o.t.Errorf("%s %s: %d, but the path is not in the OpenAPI file", method, path, status)
	}
	content, _ := response["content"].(map[string]any)
	schema := o.at(content, kind, "schema")
	if schema == nil {
		o.t.Errorf("%s %s: %d with %s, want one of %v", method, path, status, kind, content)
		return
	}
	lines := [][]byte{body}
	if kind == "application/x-ndjson" {
		lines = slices.Collect(bytes.Lines(body))
	}
	for _, line := range lines {
		var v any
		if err := json.Unmarshal(line, &v); err != nil {
			o.t.Errorf("%s %s: %v: %s", method, path, err, line)
		} else if fault := o.fault(schema, v); fault != "" {
			o.t.Errorf("%s %s: %d: %s: %s", method, path, status, fault, line)
		}
	}
}

// operation finds the operation for a path.
func (o *openAPI) operation(method, path string) (item string, operation map[string]any) {
	for item, methods := range o.at(o.root, "paths") {
		want, got := strings.Split(item, "/"), strings.Split(path, "/")
		same := len(want) == len(got)
		for i := range want {
			same = same && (want[i] == got[i] || want[i] == "{id}" && strings.Trim(got[i], "0123456789") == "" && got[i] != "" && got[i][0] != '0')
		}
		if same {
			operation, _ = methods.(map[string]any)[strings.ToLower(method)].(map[string]any)
			return item, operation
		}
	}
	return "", nil
}

// at follows names and references; nil: there is nothing.
func (o *openAPI) at(v map[string]any, names ...string) map[string]any {
	for _, name := range names {
		v, _ = v[name].(map[string]any)
		if to, ok := v["$ref"].(string); ok {
			v = o.at(o.root, strings.Split(strings.TrimPrefix(to, "#/"), "/")...)
		}
	}
	return v
}

// fault says how a value differs from a schema; "": it does not.
func (o *openAPI) fault(s map[string]any, v any) string {
	if to, ok := s["$ref"].(string); ok {
		s = o.at(o.root, strings.Split(strings.TrimPrefix(to, "#/"), "/")...)
	}
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, v) {
		return fmt.Sprintf("%v is not one of %v", v, enum)
	}
	if kind, ok := s["type"].(string); ok && !isType(kind, v) {
		return fmt.Sprintf("%v is not %s", v, kind)
	}
	switch v := v.(type) {
	case float64:
		if least, ok := s["minimum"].(float64); ok && v < least {
			return fmt.Sprintf("%v is less than %v", v, least)
		}
	case string:
		if _, err := time.Parse(time.RFC3339, v); s["format"] == "date-time" && err != nil {
			return err.Error()
		}
	case []any:
		items, _ := s["items"].(map[string]any)
		for _, one := range v {
			if f := o.fault(items, one); f != "" {
				return f
			}
		}
	case map[string]any:
		return o.objectFault(s, v)
	}
	return ""
}

func (o *openAPI) objectFault(s, v map[string]any) string {
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, ok := v[name.(string)]; !ok {
			return fmt.Sprintf("%v is missing", name)
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for name, one := range v {
		schema, ok := properties[name].(map[string]any)
		if !ok && s["additionalProperties"] == false {
			return name + " is not in the file"
		}
		if f := o.fault(schema, one); f != "" {
			return name + ": " + f
		}
	}
	return ""
}

func isType(kind string, v any) bool {
	switch v := v.(type) {
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case float64:
		return kind == "number" || kind == "integer" && v == math.Trunc(v)
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	}
	return false
}

// The server answers every operation of its OpenAPI file, and a validator that accepts everything
// would be noticed.
func TestOpenAPI(t *testing.T) {
	w, _ := serveWeb(t, t.TempDir(), held(nil))
	w.do("POST", "/v1/jobs", lineOf("http http://127.0.0.1:1"), 202, nil)
	for _, path := range []string{"/v1/jobs", "/v1/jobs/1", "/v1/openapi.json"} {
		w.do("GET", path, "", 200, nil)
	}
	w.do("GET", "/v1/jobs/1/report", "", 404, nil)
	w.do("DELETE", "/v1/jobs/1", "", 202, nil)
	w.do("GET", "/v1/jobs/1/events", "", 200, nil)
	w.do("POST", "/v1/lines", lineOf("status"), 200, nil)
	for item, methods := range w.api.at(w.api.root, "paths") {
		for method := range methods.(map[string]any) {
			if name := strings.ToUpper(method) + " " + item; method != "parameters" && !w.api.seen[name] {
				t.Errorf("nobody has called %s", name)
			}
		}
	}
	job := w.api.at(w.api.root, "components", "schemas", "Job")
	for _, bad := range []string{`{}`, `[]`, `{"id":0,"state":"done","user":"a","command":"x","queued":"2026-01-01T00:00:00Z"}`, `{"id":1,"state":"new","user":"a","command":"x","queued":"2026-01-01T00:00:00Z"}`, `{"id":1,"state":"done","user":"a","command":"x","queued":"now"}`, `{"id":1,"state":"done","user":"a","command":"x","queued":"2026-01-01T00:00:00Z","more":1}`} {
		var v any
		if err := json.Unmarshal([]byte(bad), &v); err != nil || w.api.fault(job, v) == "" {
			t.Errorf("%v: %s is accepted", err, bad)
		}
	}
}
