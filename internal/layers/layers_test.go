// Package layers tests that packages import only lower layers.
package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers reads the list in docs/ARCHITECTURE.md: a line is a layer, lowest first, with its number
// and its packages. A package may import only packages of earlier lines. A trailing /* means all
// folders below that no line names.
func layers(t *testing.T) (list [][]string) {
	text, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Layers\n")
	_, block, _ := strings.Cut(section, "```text\n")
	block, _, found := strings.Cut(block, "\n```")
	if !found {
		t.Fatal("docs/ARCHITECTURE.md has no list of layers")
	}
	for line := range strings.Lines(block) {
		names := strings.Fields(line)[1:]
		for i, name := range names {
			if root, _, _ := strings.Cut(name, "/"); !slices.Contains([]string{"pkg", "cmd", "docker"}, root) {
				names[i] = "internal/" + name
			}
		}
		list = append(list, names)
	}
	return list
}

const module = "github.com/taktload/takt/"

// layer is the number of a package's line, or 0 if no line lists it. The package's own name
// wins over a folder's /*.
func layer(list [][]string, pkg string) (in int) {
	for i, names := range list {
		for _, name := range names {
			below, any := strings.CutSuffix(name, "/*")
			if pkg == name {
				return i + 1
			}
			if in == 0 && any && strings.HasPrefix(pkg, below+"/") {
				in = i + 1
			}
		}
	}
	return in
}

func TestImportsPointDown(t *testing.T) {
	list := layers(t)
	for pkg, all := range imports(t) {
		own := layer(list, pkg)
		if own == 0 {
			t.Errorf("%s has no layer; add it to a line of docs/ARCHITECTURE.md", pkg)
			continue
		}
		for _, imported := range all {
			if layer(list, imported) >= own {
				t.Errorf("%s (layer %d) imports %s (layer %d); only lower layers may be imported", pkg, own, imported, layer(list, imported))
			}
		}
	}
}

// imports reads which packages of takt each package imports, on any system, without those of its tests.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	const root = "../.."
	files, all := 0, map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name() == "testdata" || d.Name() == "scripts" || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg = filepath.ToSlash(pkg)
		all[pkg] = append(all[pkg], importsOf(t, path)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 {
		t.Errorf("only %d files were checked: the walk missed the tree", files)
	}
	for pkg := range all {
		slices.Sort(all[pkg])
		all[pkg] = slices.Compact(all[pkg])
	}
	return all
}

func importsOf(t *testing.T, path string) (ours []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range f.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // the parser has accepted it
		if pkg, ok := strings.CutPrefix(imported, module); ok {
			ours = append(ours, pkg)
		}
	}
	return ours
}
