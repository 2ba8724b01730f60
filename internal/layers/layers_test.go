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

// list is the layers of docs/ARCHITECTURE.md: a line has a layer's name and its packages.
type list [][]string

func layers(t *testing.T) (l list) {
	t.Helper()
	for line := range strings.Lines(block(t, "## Layers", "text")) {
		names := strings.Fields(line)
		for i, name := range names[1:] {
			names[i+1] = whole(name)
		}
		l = append(l, names)
	}
	return l
}

// block is the first block of that kind after a heading of docs/ARCHITECTURE.md.
func block(t *testing.T, heading, kind string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n"+heading+"\n")
	_, block, _ := strings.Cut(section, "```"+kind+"\n")
	block, _, found := strings.Cut(block, "\n```")
	if !found {
		t.Fatalf("docs/ARCHITECTURE.md has no block of %s after %q", kind, heading)
	}
	return block
}

// whole is the folder of a name of the list, which leaves out internal/.
func whole(name string) string {
	if root, _, _ := strings.Cut(name, "/"); slices.Contains([]string{"pkg", "cmd", "docker"}, root) {
		return name
	}
	return "internal/" + name
}

const module = "github.com/taktload/takt/"

// place is where the list has a package: line, and index in it. A package's own name fits better than a
// folder's /*, and a longer folder better than a shorter one.
type place struct {
	line, index int
	name        string // "": nowhere
}

func (l list) place(pkg string) (best place) {
	for i, names := range l {
		for j, name := range names[1:] {
			if fits(name, pkg) && (best.name == "" || name == pkg || best.name != pkg && len(name) > len(best.name)) {
				best = place{i, j, name}
			}
		}
	}
	return best
}

// fits reports whether a name of a list means a package.
func fits(name, pkg string) bool {
	folder, below := strings.CutSuffix(name, "/*")
	return name == pkg || below && strings.HasPrefix(pkg, folder+"/")
}

// mayImport reports whether a package at p may import one at q.
func (p place) mayImport(q place) bool {
	if p.name == q.name {
		return strings.HasSuffix(p.name, "/*")
	}
	return q.line < p.line || q.line == p.line && q.index < p.index
}

func TestImportsPointDown(t *testing.T) {
	l, used := layers(t), map[string]bool{}
	for pkg, all := range imports(t) {
		own := l.place(pkg)
		used[own.name] = true
		if own.name == "" {
			t.Errorf("%s has no layer; add it to a line of docs/ARCHITECTURE.md", pkg)
			continue
		}
		for _, imported := range all {
			if other := l.place(imported); !own.mayImport(other) {
				t.Errorf("%s (%s) imports %s (%s), which does not stand before it", pkg, l[own.line][0], imported, l[other.line][0])
			}
		}
	}
	for _, names := range l {
		for _, name := range names[1:] {
			if !used[name] {
				t.Errorf("%s of layer %s is no package, or a package that a better name fits", name, names[0])
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

// The order of the list is what the test believes it is.
func TestPlaces(t *testing.T) {
	l := list{{"low", "a", "b/*"}, {"high", "b/c", "d"}}
	for _, c := range []struct {
		from, to string
		may      bool
	}{
		{"d", "a", true}, {"d", "b/c", true}, {"b/x", "a", true}, {"b/x", "b/y/z", true}, {"b/c", "b/x", true},
		{"a", "d", false}, {"a", "b/x", false}, {"b/x", "b/c", false}, {"b/c", "d", false},
	} {
		if got := l.place(c.from).mayImport(l.place(c.to)); got != c.may {
			t.Errorf("%s imports %s: %v", c.from, c.to, got)
		}
	}
	if p := l.place("e"); p.name != "" {
		t.Error(p)
	}
}
