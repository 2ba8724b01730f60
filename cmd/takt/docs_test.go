package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli"
	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/racetest"
	"github.com/taktload/takt/internal/test/targettest"
)

// These are what the documents write for the URL of the current target.
const (
	docsURL       = "http://127.0.0.1:8080/"
	docsSecureURL = "https://127.0.0.1:8080/" // of takt target --tls
)

// TestDocs runs every line "$ takt …" in a console block of README.md and docs/*.md. A line must
// end with exit code 0, or end with "; echo $?" and have the exit code as the last line of its
// output. "$ takt target … &" starts the target of the lines below it in the same file.
func TestDocs(t *testing.T) {
	paths, _ := filepath.Glob("../../docs/*.md")          // the pattern is well-formed
	paths = append([]string{"../../README.md"}, paths...) // first, because it takes longest
	racetest.Skip(t, "examples measure, several at a time")
	var texts []string
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	t.Chdir(t.TempDir()) // the examples write files here
	writeFeeders(t)
	for i, text := range texts {
		t.Run(filepath.Base(paths[i]), func(t *testing.T) {
			t.Parallel()
			d := &doc{t: t, home: t.TempDir(), stop: func() {}}
			for _, e := range examples(text) {
				d.run(e)
			}
			d.stop()
		})
	}
}

// reports.md explains every failure class of takt http.
func TestClassesInDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/reports.md")
	if err != nil {
		t.Fatal(err)
	}
	class := regexp.MustCompile(`(?m)^(?:const)?\s+[Cc]lass\w+\s*= "(\w+)"`)
	found := 0
	for _, path := range []string{"engine/classify.go", "verdict/limit.go", "engine/pool.go", "http1/fault.go", "http1/codec.go", "driver/http/net.go"} {
		text, err := os.ReadFile("../../internal/" + path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range class.FindAllStringSubmatch(string(text), -1) {
			if found++; !strings.Contains(string(page), "`"+m[1]+"`") {
				t.Errorf("docs/reports.md does not explain class %s of %s", m[1], path)
			}
		}
	}
	if found < 17 {
		t.Errorf("only %d classes were found", found)
	}
}

// example is one line with the exit code that it should have.
type example struct {
	line string
	code int
}

// examples reads the console blocks of a document.
func examples(text string) (all []example) {
	_, rest, found := strings.Cut(text, "\n```console\n")
	for found {
		var block string
		block, rest, _ = strings.Cut(rest, "\n```")
		for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
			line, output, _ := strings.Cut(part, "\n")
			if strings.HasPrefix(line, "takt ") {
				all = append(all, newExample(line, output))
			}
		}
		_, rest, found = strings.Cut(rest, "\n```console\n")
	}
	return all
}

func newExample(line, output string) example {
	line, echo := strings.CutSuffix(line, "; echo $?")
	if !echo {
		return example{line: line}
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	code, err := strconv.Atoi(lines[len(lines)-1])
	if err != nil {
		code = -1 // no exit code: the example fails
	}
	return example{line, code}
}

// doc runs the examples of one document.
type doc struct {
	t    *testing.T
	home string // folder of its stored runs
	url  string // of the target; "": none yet
	stop func()
}

func (d *doc) run(e example) {
	line, file, _ := strings.Cut(e.line, " > ")
	args, err := words(line)
	if err != nil {
		d.t.Errorf("%s: %v", e.line, err)
		return
	}
	if args[1] == "target" && args[len(args)-1] == "&" {
		d.listen(args[2 : len(args)-1])
		return
	}
	if d.url == "" {
		d.listen(nil)
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], docsURL, d.url)
		args[i] = strings.ReplaceAll(args[i], docsSecureURL, d.url)
	}
	// Other tests run at the same time, and assertions depend on the CPU that these leave, so a
	// line has three tries. If every run was invalid (exit code 6, no run that a later line can use, or a
	// verify that replaced as many as it may), the machine was too busy to decide. TestScripts tests the
	// exit codes themselves.
	for try := 1; ; try++ {
		code, output := d.runLine(args[1:], file)
		switch {
		case code == e.code:
			return
		case try < 3:
			continue
		case code == 6, code == 5 && strings.Contains(output, "since a run was invalid"),
			strings.Contains(output, "no run matches from which something can be concluded (cut short or invalid"):
			d.t.Logf("$ %s\n%sundecided, after three invalid runs", e.line, output)
			return
		}
		d.t.Errorf("$ %s\n%sexit code %d, want %d", e.line, output, code, e.code)
		return
	}
}

// runLine runs takt. Standard output goes to the file, if one is named.
func (d *doc) runLine(args []string, file string) (code int, output string) {
	var out bytes.Buffer
	env := core.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Interrupt: d.t.Context(),
		Getenv: func(name string) string {
			return map[string]string{"XDG_DATA_HOME": d.home, "XDG_STATE_HOME": d.home}[name]
		},
	}
	if file != "" {
		f, err := os.Create(file)
		if err != nil {
			d.t.Fatal(err)
		}
		defer f.Close()
		env.Stdout = f
	}
	code = cli.Main(env, args)
	return code, out.String()
}

// listen starts a target with these flags on a free port, and stops the last one.
func (d *doc) listen(args []string) {
	d.t.Helper()
	d.stop()
	var o target.Options
	fs := pflag.NewFlagSet("target", pflag.ContinueOnError)
	o.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		d.t.Fatal(err)
	}
	s, stop, err := targettest.Start(o)
	if err != nil {
		d.t.Fatal(err)
	}
	d.url = s.URL() + "/"
	d.stop = func() {
		if err := stop(); err != nil {
			d.t.Error(err)
		}
	}
}

// words splits a line as a shell does, as far as the documents need it: at spaces outside single
// quotes.
func words(line string) (list []string, err error) {
	parts := strings.Split(line, "'")
	if len(parts)%2 == 0 {
		return nil, fmt.Errorf("a quote is open")
	}
	for i, part := range parts {
		if i%2 == 1 { // the inside of a quote belongs to the word before it
			list[len(list)-1] += part
			continue
		}
		if strings.ContainsAny(part, "|<>\"\\$`;*") {
			return nil, fmt.Errorf("%q needs a shell", part)
		}
		list = append(list, strings.Split(part, " ")...)
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" }), nil
}
