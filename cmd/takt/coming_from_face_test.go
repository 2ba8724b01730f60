package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taktload/takt/internal/amqp/amqptest"
	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/format"
	"github.com/taktload/takt/internal/h2test"
	"github.com/taktload/takt/pkg/bench"
)

// face is what users see of a command or of the library. The test compares the right side of a
// section of docs/coming-from.md with it.
type face struct {
	flag   func(span string) error // checks that a flag exists, and accepts its value if there is one
	text   string                  // everything that a run prints, with single spaces
	fields map[string]bool         // of its report as JSON, such as counts.ok
	typed  bool                    // text also has what users type, so flags and inputs are compared with it, too
}

// faces are the possible values of "against" in a list of facts. A protocol with a section in the page
// needs a face here.
func faces(t *testing.T) map[string]*face {
	return map[string]*face{
		"takt http": httpFace(t), "takt kafka produce": kafkaFace(t), "takt jms client": jmsFace(t), "takt apm": apmFace(t), "takt llm": llmFace(t), "takt grpc": grpcFace(t),
		"takt server": shellFace(t), "takt replay": replayFace(t), "pkg/bench": benchFace(t),
	}
}

// prints reports whether the face prints a label as whole words, or has a field of that name.
func (f *face) prints(label string) bool {
	edge := func(i int) string {
		if regexp.MustCompile(`\w`).MatchString(label[i : i+1]) {
			return `\b`
		}
		return ""
	}
	whole := regexp.MustCompile(edge(0) + regexp.QuoteMeta(squeeze(label)) + edge(len(label)-1))
	return f.fields[label] || whole.MatchString(f.text)
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// httpFace loads a target by its host name. Some requests fail, so that the report has all its lines.
func httpFace(t *testing.T) *face {
	d := &doc{t: t, home: t.TempDir(), stop: func() {}}
	d.listen([]string{"--service", "1ms", "--error-rate", "20%", "--reset-rate", "10%"})
	defer d.stop()
	dir := t.TempDir()
	args := []string{"http", "--rate", "200/s", "-z", "300ms", "--label", "name=x", strings.Replace(d.url, "127.0.0.1", "localhost", 1)}
	var paths []string
	for _, name := range slices.DeleteFunc(format.Names(), func(name string) bool { return name == format.Load().Name }) {
		path := filepath.Join(dir, name)
		args, paths = append(args, "-o", name+"="+path), append(paths, path)
	}
	if code, out := d.runLine(args, ""); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	f := &face{flag: flagOf(t, "http"), fields: fieldsOf(t, readFile(t, filepath.Join(dir, "json")))}
	for _, path := range paths {
		f.text += squeeze(string(readFile(t, path))) + "\n"
	}
	return f
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ranFace runs a command once and returns its face. The first words of args are the command.
func ranFace(t *testing.T, words int, args ...string) *face {
	t.Helper()
	d := &doc{t: t, home: t.TempDir(), stop: func() {}}
	path := filepath.Join(t.TempDir(), "report.json")
	code, out := d.runLine(append(args, "-o", "json="+path), "")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	return &face{flag: flagOf(t, args[:words]...), fields: fieldsOf(t, readFile(t, path)), text: squeeze(out)}
}

// kafkaFace runs takt kafka produce -noop for 1.2 s, without a broker.
func kafkaFace(t *testing.T) *face {
	return ranFace(t, 2, "kafka", "produce", "-noop", "-message-size=800", "-message-batch-size=500", "-interval=1", "--rate=5k/s", "-z=1200ms")
}

// jmsFace sends and receives for 1.2 s, with a fake broker.
func jmsFace(t *testing.T) *face {
	return ranFace(t, 2, "jms", "client", "--url", "tcp://"+amqptest.New(t, amqptest.Script{}).Serve(), "--show-latency", "--rate", "500", "--duration", "1200ms", "--max-pending", "10")
}

// apmFace sends a profile and a stream to a target that resets 10 % of the requests.
func apmFace(t *testing.T) *face {
	d := &doc{t: t, home: t.TempDir(), stop: func() {}}
	d.listen([]string{"--service", "1ms", "--status", "202", "--reset-rate", "10%"})
	defer d.stop()
	tiny := ranFace(t, 1, "apm", "-base-url", d.url, "--progress", "none", "-profile", "tiny", "--intake", "v1", "-run", "300ms")
	f := ranFace(t, 1, "apm", "-base-url", d.url, "--progress", "none", "-stream", "-p", "10ms", "-timeout", "100ms", "-n", "4", "-f", "1")
	f.text = tiny.text + " " + f.text
	return f
}

// llmFace asks a target that streams tokens, so slowly that takt knows on a busy machine, too, when some of them came.
func llmFace(t *testing.T) *face {
	d := &doc{t: t, home: t.TempDir(), stop: func() {}}
	d.listen([]string{"--sse", "30ms", "--service", "50ms"})
	defer d.stop()
	return ranFace(t, 1, "llm", "--rate", "50/s", "-z", "300ms", "--max-tokens", "5", "--slo", "ttft<1h", d.url)
}

// grpcFace calls a server that fails every third call.
func grpcFace(t *testing.T) *face {
	var calls atomic.Int64
	s := h2test.Start(t, h2test.Script{Request: func(c *h2test.Conn, r *h2test.Request) {
		code := "0"
		if calls.Add(1)%3 == 0 {
			code = "14"
		}
		c.Head(r.ID, false, ":status", "200", "content-type", "application/grpc")
		c.Data(r.ID, false, "\x00\x00\x00\x00\x00")
		c.Head(r.ID, true, "grpc-status", code)
	}})
	return ranFace(t, 1, "grpc", "--raw", "--rate", "200/s", "-z", "300ms", s.Addr+"/a.B/C")
}

// replayFace replays a log as a ramp and shows every exchange. One answer has another status than the
// log, and one line is left out.
func replayFace(t *testing.T) *face {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello\n")) }))
	defer s.Close()
	log := filepath.Join(t.TempDir(), "load.csv")
	text := "2026-11-20 10:00:00 0 0 0 4 a 200 GET\n2026-11-20 10:00:00 0 0 0 4 b 404 GET\n2026-11-20 10:00:00 0 0 0 4 c 201 POST\n"
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := ranFace(t, 1, "replay", "-v", "--tps", "40", "--progress", "20", "--duration", "0.2", "--rewind", log, s.URL)
	// The log's row expects 404, but the page's example shows 200.
	f.text = strings.ReplaceAll(f.text, "expectedRC=404", "expectedRC=200")
	return f
}

// shellFace is the help of takt server and the transcripts of the shell, which other tests compare
// with the shell.
func shellFace(t *testing.T) *face {
	_, help := (&doc{t: t}).runLine([]string{"server", "--help-all"}, "")
	f := &face{flag: func(string) error { return nil }, text: squeeze(help) + "\n", typed: true}
	paths, _ := filepath.Glob("../../internal/shell/testdata/transcripts/*.txt") // the pattern is well-formed
	for _, path := range paths {
		f.text += squeeze(string(readFile(t, path))) + "\n"
	}
	return f
}

// flagOf returns a function that looks a flag up in the help of a command. If the flag has a value,
// takt config checks the value.
func flagOf(t *testing.T, command ...string) func(string) error {
	_, help := (&doc{t: t}).runLine(append(slices.Clone(command), "--help-all"), "")
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ +(?:(-\w), )? *(--[\w-]+)`).FindAllStringSubmatch(help, -1) {
		known[m[1]], known[m[2]] = true, true
	}
	return func(span string) error {
		name := span[:strings.IndexAny(span+" ", " =")]
		switch {
		case !known[name]:
			return fmt.Errorf("takt %s has no such flag", strings.Join(command, " "))
		case name == span:
			return nil
		}
		line := "takt " + strings.Join(command, " ") + " " + span
		switch command[0] {
		case "http", "llm":
			line += " http://127.0.0.1:8080/"
		case "grpc":
			line += " 127.0.0.1:8080/a.B/C"
		case "replay":
			line += " load.csv http://127.0.0.1:8080/"
		}
		return checkCommand(line)
	}
}

// checkCommand checks a command line with takt config. It runs commands that read stored runs: without
// a store they fail with exit code 1, but not with 2 for wrong usage.
func checkCommand(line string) error {
	line, _, _ = strings.Cut(line, " > ") // output into a file
	args, err := words(line)
	if err != nil {
		return err
	}
	args, most := args[1:], 1
	if slices.Contains([]string{"apm", "grpc", "http", "jms", "kafka", "llm", "replay", "server", "target"}, args[0]) {
		args, most = append([]string{"config"}, args...), 0
	}
	var faults bytes.Buffer
	env := core.Env{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &faults,
		Getenv: func(string) string { return "" }, Interrupt: context.Background(),
	}
	if code := cli.Main(env, args); code > most {
		return errors.New(strings.TrimSpace(faults.String()))
	}
	return nil
}

// benchFace runs a handler that fails in every third call.
func benchFace(t *testing.T) *face {
	r, err := bench.Benchmark{
		Concurrency: 1, Throughput: 1000, Duration: 50 * time.Millisecond,
		Handler: bench.RequestFunc(func(i int) error {
			if i%3 == 0 {
				return errors.New("no")
			}
			return nil
		}),
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := bench.PrintResult(&text, r); err != nil {
		t.Fatal(err)
	}
	report, err := json.Marshal(r.Report)
	if err != nil {
		t.Fatal(err)
	}
	return &face{flag: benchFlag, text: squeeze(text.String()), fields: fieldsOf(t, report)}
}

// benchFlag parses a flag on a new flag set, which replaces flag.CommandLine while
// DefineBenchmarkFlags runs.
func benchFlag(span string) error {
	ours := flag.CommandLine
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	flag.CommandLine = fs
	bench.DefineBenchmarkFlags()
	flag.CommandLine = ours
	args, err := words(span)
	if err == nil && (len(args) > 1 || strings.Contains(span, "=")) {
		return fs.Parse(args)
	}
	if err == nil && fs.Lookup(strings.TrimLeft(span, "-")) == nil {
		err = errors.New("pkg/bench has no such flag")
	}
	return err
}

// fieldsOf returns the paths of all values in a JSON document. An element of a list has the path of
// the list.
func fieldsOf(t *testing.T, b []byte) map[string]bool {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	var add func(path string, v any)
	add = func(path string, v any) {
		fields[strings.TrimPrefix(path, ".")] = true
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				add(path+"."+name, value)
			}
		case []any:
			for _, value := range v {
				add(path, value)
			}
		}
	}
	add("", v)
	return fields
}

// exported returns the names of a package, with the fields and methods of its types.
func exported(t *testing.T, dir string) map[string]bool {
	names := map[string]bool{}
	paths, _ := filepath.Glob(filepath.Join(dir, "*.go")) // the pattern is well-formed
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool { return addNames(names, n) })
	}
	return names
}

// addNames adds the names that n declares and reports whether to visit its children.
func addNames(names map[string]bool, n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		name := n.Name.Name
		if n.Recv != nil {
			of := n.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			name = of.(*ast.Ident).Name + "." + name
		}
		names[name] = true
		return false
	case *ast.TypeSpec:
		names[n.Name.Name] = true
		ast.Inspect(n.Type, func(m ast.Node) bool {
			if field, ok := m.(*ast.Field); ok {
				for _, id := range field.Names {
					names[n.Name.Name+"."+id.Name] = true
				}
			}
			return true
		})
		return false
	}
	return true
}
