package format_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/pkg/takt"
)

type object = map[string]any

func schema(t *testing.T) object { return schemaNamed(t, "report-v1") }

// schemaFile is the schema of a report. It is written by hand, except for plain properties of new fields.
var schemaFile = schemaOf("report-v1")

func schemaOf(name string) string { return "schema/" + name + ".schema.json" }

func schemaNamed(t *testing.T, name string) object {
	t.Helper()
	text, err := os.ReadFile(schemaOf(name))
	if err != nil {
		t.Fatal(err)
	}
	var s object
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// validator checks values against the part of JSON Schema that ours uses. Any
// other keyword is a fault, so that no rule goes unheeded.
type validator struct {
	root   object
	faults []string
}

func (v *validator) faultf(path, format string, args ...any) {
	v.faults = append(v.faults, path+": "+fmt.Sprintf(format, args...))
}

func (v *validator) check(s object, value any, path string) {
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		switch arg := s[keyword]; keyword {
		case "$schema", "$id", "$defs", "title", "description", "examples", "format":
		case "$ref":
			v.check(resolve(v.root, arg.(string)), value, path)
		case "type":
			v.kind(arg, value, path)
		case "enum":
			if !slices.Contains(arg.([]any), value) {
				v.faultf(path, "%v is none of %v", value, arg)
			}
		case "minimum":
			if n, ok := value.(float64); ok && n < arg.(float64) {
				v.faultf(path, "%v is below %v", n, arg)
			}
		case "required":
			v.required(arg.([]any), value, path)
		case "properties":
			v.properties(arg.(object), value, path)
		case "additionalProperties":
			known, _ := s["properties"].(object)
			v.others(arg, known, value, path)
		case "items":
			list, _ := value.([]any)
			for i, item := range list {
				v.check(arg.(object), item, fmt.Sprintf("%s[%d]", path, i))
			}
		default:
			v.faultf(path, "the schema uses %q, which the test does not know", keyword)
		}
	}
}

func resolve(root object, ref string) object {
	def, _ := root["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object)
	return def
}

func (v *validator) kind(want, value any, path string) {
	kinds, several := want.([]any)
	if !several {
		kinds = []any{want}
	}
	for _, kind := range kinds {
		if is(kind.(string), value) {
			return
		}
	}
	v.faultf(path, "%v (%T) is not of type %v", value, value, want)
}

func is(kind string, value any) bool {
	switch x := value.(type) {
	case nil:
		return kind == "null"
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case float64:
		return kind == "number" || kind == "integer" && x == math.Trunc(x)
	case []any:
		return kind == "array"
	default:
		return kind == "object"
	}
}

func (v *validator) required(names []any, value any, path string) {
	o, isObject := value.(object)
	for _, name := range names {
		if _, has := o[name.(string)]; isObject && !has {
			v.faultf(path, "%s is missing", name)
		}
	}
}

func (v *validator) properties(props object, value any, path string) {
	o, _ := value.(object)
	for name, s := range props {
		if member, has := o[name]; has {
			v.check(s.(object), member, path+"."+name)
		}
	}
}

func (v *validator) others(rule any, known object, value any, path string) {
	o, _ := value.(object)
	for name, member := range o {
		if _, is := known[name]; is {
			continue
		}
		if s, isSchema := rule.(object); isSchema {
			v.check(s, member, path+"."+name)
		} else if rule == false {
			v.faultf(path, "%s is unknown", name)
		}
	}
}

func faults(t *testing.T, report any) []string { return faultsBy(schema(t), report, "report") }

func faultsBy(s object, value any, path string) []string {
	v := validator{root: s}
	v.check(s, value, path)
	return v.faults
}

func decoded(t *testing.T, s sample) object {
	t.Helper()
	var o object
	if err := json.Unmarshal([]byte(replay(t, "json", s.report)), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestSamplesFollowTheSchema(t *testing.T) {
	for _, s := range samples() {
		for _, fault := range faults(t, decoded(t, s)) {
			t.Errorf("%s: %s", s.name, fault)
		}
	}
}

// The validator, and so the schema, refuses what is wrong.
func TestSchemaRefuses(t *testing.T) {
	first := func(v any) object { return v.([]any)[0].(object) }
	for want, spoil := range map[string]func(o object){
		"verdict is missing":        func(o object) { delete(o, "verdict") },
		"surprise is unknown":       func(o object) { o["surprise"] = 1.0 },
		"none of [valid invalid]":   func(o object) { o["verdict"] = "good" },
		"none of [1]":               func(o object) { o["schema_version"] = 2.0 },
		"-1 is below 0":             func(o object) { o["counts"].(object)["ok"] = -1.0 },
		"not of type integer":       func(o object) { o["counts"].(object)["ok"] = 0.5 },
		"not of type array":         func(o object) { o["errors"] = nil },
		"not of type [number null]": func(o object) { o["rate_per_s"].(object)["intended"] = "1" },
		"response: p98_us is unknown": func(o object) {
			o["latency"].(object)["response"].(object)["p98_us"] = 1.0
		},
		"status.200":                          func(o object) { o["status"].(object)["200"] = "many" },
		"labels.a":                            func(o object) { o["labels"].(object)["a"] = 1.0 },
		"errors[0]: class is missing":         func(o object) { delete(first(o["errors"]), "class") },
		"intervals[0]: service_hdr is missin": func(o object) { delete(first(o["intervals"]), "service_hdr") },
	} {
		o := decoded(t, samples()[0])
		spoil(o)
		got := faults(t, o)
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The seconds of a server follow the schema: figures are numbers, by any name.
func TestServerSecondsFollowTheSchema(t *testing.T) {
	r := *samples()[0].report
	r.ServerSeconds = []takt.ServerSecond{{From: -0.5, T: 0.5, Figures: map[string]float64{"acked": 3}}, {From: 0.5, T: 1.5, Figures: map[string]float64{}}}
	o := decoded(t, sample{name: "server", report: &r})
	if got := faults(t, o); len(got) > 0 {
		t.Error(got)
	}
	first := o["server_seconds"].([]any)[0].(object)
	first["figures"].(object)["acked"] = -1.0
	delete(first, "from_s")
	if got := faults(t, o); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// Outages and commands follow the schema, with and without what is unknown.
func TestOutagesFollowTheSchema(t *testing.T) {
	r := *samples()[0].report
	to, n, code := 3.0, uint64(1), -1
	r.Outages = []takt.Outage{{From: 1, Parts: 1}, {From: 2, To: &to, FirstSuccess: &to, Parts: 2, Lost: &n, Doubled: &n, Reordered: &n}}
	r.Faults = []takt.Fault{{Command: "a"}, {Command: "b", To: &to, ExitCode: &code, Stopped: true}}
	o := decoded(t, sample{name: "outages", report: &r})
	if got := faults(t, o); len(got) > 0 {
		t.Error(got)
	}
	delete(o["outages"].([]any)[0].(object), "lost")
	o["faults"].([]any)[0].(object)["from_s"] = -1.0
	if got := faults(t, o); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// Warnings follow the schema, with and without fields and advice.
func TestWarningsFollowTheSchema(t *testing.T) {
	r := *samples()[0].report
	r.Warnings = nil
	r.Warn("dropped", "%d of %.1f %% in %v, %d bytes, %.1f s, %.0f/s; %s", takt.Number("a", 1), takt.Percent("b", 2), takt.Time("c", 3), takt.Size("d", 4), takt.Seconds("e", 5), takt.PerSecond("f", 6), takt.Advice("do"))
	r.Warn("gc", "often")
	o := decoded(t, sample{name: "warnings", report: &r})
	if got := faults(t, o); len(got) > 0 {
		t.Error(got)
	}
	list := o["warnings"].([]any)
	first, second := list[0].(object), list[1].(object)
	if len(first["fields"].([]any)) != 6 || first["advice"] != "do" || len(second) != 2 {
		t.Errorf("%v", list)
	}
	delete(first["fields"].([]any)[0].(object), "unit")
	first["fields"].([]any)[1].(object)["unit"] = "miles"
	if got := faults(t, o); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// Schema and Go types have the same fields, of the same kinds, with the same ones
// optional. With -update the schema gets the properties of new fields that are numbers, texts or truths.
func TestSchemaMatchesGoTypes(t *testing.T) {
	s := schema(t)
	m := matcher{t: t, root: s, used: map[string]bool{}}
	m.match(reflect.TypeFor[takt.Report](), s, "report")
	for name := range s["$defs"].(object) {
		if !m.used[name] {
			t.Errorf("$defs.%s is used by nothing", name)
		}
	}
}

// The list of runs follows its schema, which has the fields of the Go type.
func TestRunsFollowTheSchema(t *testing.T) {
	s := schemaNamed(t, "runs-v1")
	m := matcher{t: t, root: s, used: map[string]bool{}}
	m.match(reflect.TypeFor[[]answer.Listed](), s, "runs")
	report := samples()[0].report
	for _, list := range [][]stored.Run{nil, {stored.RunOf(report), {Settings: &stored.Settings{}}}} {
		var b bytes.Buffer
		if err := format.Runs(&b, list, "json"); err != nil {
			t.Fatal(err)
		}
		var decoded any
		if err := json.Unmarshal(b.Bytes(), &decoded); err != nil {
			t.Fatal(err)
		}
		if got := faultsBy(s, decoded, "runs"); len(got) > 0 || len(decoded.([]any)) != len(list) {
			t.Errorf("%q: %s", got, &b)
		}
	}
}

type matcher struct {
	t    *testing.T
	root object
	used map[string]bool
	def  string // name in $defs of what is matched; "": the report
}

func (m *matcher) match(typ reflect.Type, s object, path string) {
	if ref, is := s["$ref"].(string); is {
		around := m.def
		defer func() { m.def = around }()
		m.def = strings.TrimPrefix(ref, "#/$defs/")
		m.used[m.def] = true
		s = resolve(m.root, ref)
	}
	if typ.Kind() == reflect.Pointer && typ.Elem().Kind() == reflect.Struct {
		typ = typ.Elem() // absent instead of null
	}
	if want := jsonType(typ); !reflect.DeepEqual(s["type"], want) {
		m.t.Errorf("%s is %v in Go, hence %v, but the schema says %v", path, typ, want, s["type"])
	}
	switch {
	case typ == reflect.TypeFor[time.Time]():
	case typ.Kind() == reflect.Struct:
		m.fields(typ, s, path)
	case typ.Kind() == reflect.Slice:
		m.match(typ.Elem(), s["items"].(object), path+"[]")
	case typ.Kind() == reflect.Map && typ.Elem().Kind() != reflect.Interface:
		m.match(typ.Elem(), s["additionalProperties"].(object), path+".*")
	}
}

func (m *matcher) fields(typ reflect.Type, s object, path string) {
	props, _ := s["properties"].(object)
	var names, required []string
	for _, field := range reflect.VisibleFields(typ) { // those of embedded structs, too
		name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || name == "-" {
			continue
		}
		names = append(names, name)
		if option == "" {
			required = append(required, name)
		}
		if prop, has := props[name].(object); has {
			m.match(field.Type, prop, path+"."+name)
		} else if *update {
			m.add(typ, field, names)
			props[name] = nil // there now
		}
	}
	m.same(path+" properties", names, slices.Collect(maps.Keys(props)))
	var listed []string
	for _, name := range s["required"].([]any) {
		listed = append(listed, name.(string))
	}
	m.same(path+" required", required, listed)
	if s["additionalProperties"] != false {
		m.t.Errorf("%s is not closed", path)
	}
}

// add writes the property of a field into the schema, below that of the field before it. names are those of the
// fields up to this one.
func (m *matcher) add(typ reflect.Type, field reflect.StructField, names []string) {
	value := field.Type
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	least, plain := map[any]string{"number": `, "minimum": 0`, "integer": `, "minimum": 0`, "string": "", "boolean": ""}[jsonType(value)]
	kind := fmt.Sprintf("%q", jsonType(value))
	if value != field.Type {
		kind = fmt.Sprintf(`[%s, "null"]`, kind)
	}
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		m.t.Fatal(err)
	}
	lines, depth, at := strings.Split(string(text), "\n"), strings.Repeat(" ", 4), 0
	if m.def != "" {
		at, depth = slices.Index(lines, fmt.Sprintf("    %q: {", m.def)), strings.Repeat(" ", 8)
	}
	last := len(names) - 1
	for at++; last > 0 && at < len(lines) && !strings.HasPrefix(lines[at], fmt.Sprintf("%s%q: {", depth, names[last-1])); at++ {
	}
	ends := func(line string) bool { // a property in one line, or the end of a longer one
		line = strings.TrimSuffix(line, ",")
		return line == depth+"}" || strings.HasPrefix(line, depth+`"`) && strings.HasSuffix(line, "}")
	}
	for ; at < len(lines) && !ends(lines[at]); at++ {
	}
	if !plain || last == 0 || at >= len(lines) {
		m.t.Errorf("%s.%s: write its property into %s by hand", typ.Name(), field.Name, schemaFile)
		return
	}
	comma := ""
	if strings.HasSuffix(lines[at], ",") {
		comma = ","
	}
	lines[at] = strings.TrimSuffix(lines[at], ",") + ","
	lines = slices.Insert(lines, at+1, fmt.Sprintf(`%s%q: {"description": %q, "type": %s%s}%s`, depth, names[last], comment(m.t, typ.Name(), field.Name), kind, least, comma))
	if err := os.WriteFile(schemaFile, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// comment is the comment behind or above a field of package takt.
func comment(t *testing.T, typ, field string) (text string) {
	files, err := filepath.Glob("../../pkg/takt/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != typ {
				return !ok
			}
			for _, one := range spec.Type.(*ast.StructType).Fields.List {
				if len(one.Names) == 1 && one.Names[0].Name == field {
					text = strings.TrimSpace(one.Doc.Text() + one.Comment.Text())
				}
			}
			return false
		})
	}
	if text == "" {
		t.Errorf("%s.%s has no comment: it is the description in the schema", typ, field)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "nil: ", "absent: ")), " ")
}

func (m *matcher) same(what string, inGo, inSchema []string) {
	slices.Sort(inGo)
	slices.Sort(inSchema)
	if !slices.Equal(inGo, inSchema) {
		m.t.Errorf("%s: in Go %v, in the schema %v", what, inGo, inSchema)
	}
}

// jsonType is what the schema has to say of a Go type.
func jsonType(typ reflect.Type) any {
	switch typ.Kind() {
	case reflect.Pointer:
		return []any{jsonType(typ.Elem()), "null"}
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "array"
	case reflect.Map:
		return "object"
	case reflect.Struct:
		if typ == reflect.TypeFor[time.Time]() {
			return "string"
		}
		return "object"
	default:
		return "integer"
	}
}
