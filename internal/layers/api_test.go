package layers

import (
	"bytes"
	"flag"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write pkg/api.txt")

// The exported API of pkg/* is that of pkg/api.txt. Who changes it changes the file, on purpose:
// go test -run TestAPI ./internal/layers -update
func TestAPI(t *testing.T) {
	const golden = "../../pkg/api.txt"
	folders, err := filepath.Glob("../../pkg/*")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			writeAPI(t, &got, folder)
		}
	}
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	old, now := strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")
	for _, line := range old {
		if !slices.Contains(now, line) {
			t.Errorf("the API lost %q; programs of users need it, see \"What is stable\" in docs/library.md", line)
		}
	}
	for _, line := range now {
		if !slices.Contains(old, line) {
			t.Errorf("the API has %q in addition", line)
		}
	}
	if t.Failed() || got.String() != string(want) {
		t.Error("pkg/api.txt is another API; if you want the change: go test -run TestAPI ./internal/layers -update")
	}
}

// writeAPI writes the exported declarations of a package, without comments and bodies, one in a line
// where they have lines of their own.
func writeAPI(t *testing.T, w *bytes.Buffer, folder string) {
	t.Helper()
	names, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset, files := token.NewFileSet(), []*ast.File(nil)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, "github.com/taktload/takt/pkg/"+filepath.Base(folder))
	if err != nil {
		t.Fatal(err)
	}
	w.WriteString("package " + p.ImportPath + "\n")
	decl := func(node ast.Node) {
		if f, ok := node.(*ast.FuncDecl); ok {
			f.Body = nil
		}
		var one bytes.Buffer
		if err := printer.Fprint(&one, fset, node); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(one.String()) {
			if text := strings.Join(strings.Fields(line), " "); text != "" {
				w.WriteString(p.Name + ": " + text + "\n")
			}
		}
	}
	values := func(list []*doc.Value) {
		for _, v := range list {
			decl(v.Decl)
		}
	}
	funcs := func(list []*doc.Func) {
		for _, f := range list {
			decl(f.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	funcs(p.Funcs)
	for _, one := range p.Types {
		decl(one.Decl)
		values(one.Consts)
		values(one.Vars)
		funcs(one.Funcs)
		funcs(one.Methods)
	}
}
