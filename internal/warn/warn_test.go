package warn

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of warnings in docs/exit-codes.md")

const page = "../../docs/exit-codes.md"

// code is a takt.WarningCode with its sentence.
type code struct{ value, sentence string }

// codes are the constants of warn.go, a list for each block.
func codes(t *testing.T) (blocks [][]code) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "warn.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST || g.Specs[0].(*ast.ValueSpec).Type == nil { // or reasons
			continue
		}
		var block []code
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			block = append(block, code{text, strings.TrimSpace(v.Doc.Text())})
		}
		blocks = append(blocks, block)
	}
	return blocks
}

var (
	tables = regexp.MustCompile(`(?m)^\| warning \| rule \|\n\|---\|---\|\n((?:\|.*\n)*)`)
	row    = regexp.MustCompile("^\\| `(\\w+)` \\| (.*) \\|$")
	pages  = regexp.MustCompile(` \(\[[^\]]*\.md\]\([^)]*\)(, \[[^\]]*\.md\]\([^)]*\))*\)`)
	link   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// Each code has a row with its sentence in docs/exit-codes.md, and each row a code. A row may have links.
func TestWarningsHaveRows(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks, found := codes(t), tables.FindAllStringSubmatchIndex(string(text), -1)
	if len(blocks) != 2 || len(found) != len(blocks) {
		t.Fatalf("%d blocks of codes, %d tables", len(blocks), len(found))
	}
	want := string(text)
	for i, block := range slices.Backward(blocks) {
		from, to := found[i][2], found[i][3]
		want = want[:from] + rows(block, string(text[from:to])) + want[to:]
	}
	if want == string(text) {
		return
	}
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	had, has := strings.Split(string(text), "\n"), strings.Split(want, "\n")
	for _, line := range has {
		if !slices.Contains(had, line) {
			t.Errorf("docs/exit-codes.md lacks the row\n%s", line)
		}
	}
	for _, line := range had {
		if !slices.Contains(has, line) {
			t.Errorf("docs/exit-codes.md has a row that no code has\n%s", line)
		}
	}
	t.Error("go test ./internal/warn -run TestWarningsHaveRows -update writes the rows")
}

// rows are the rows of the codes: those of had that say the same, and new ones.
func rows(block []code, had string) string {
	known := map[code]string{}
	for line := range strings.Lines(had) {
		if m := row.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			known[code{m[1], link.ReplaceAllString(pages.ReplaceAllString(m[2], ""), "$1")}] = line
		}
	}
	var b strings.Builder
	for _, c := range block {
		if line, ok := known[c]; ok {
			b.WriteString(line)
		} else {
			b.WriteString("| `" + c.value + "` | " + c.sentence + " |\n")
		}
	}
	return b.String()
}

// The codes that can make a run invalid are those with a rule.
func TestRules(t *testing.T) {
	var with, invalid []string
	for _, r := range Rules() {
		with = append(with, string(r.Code))
	}
	for _, c := range codes(t)[0] {
		invalid = append(invalid, c.value)
	}
	slices.Sort(with)
	slices.Sort(invalid)
	if !slices.Equal(with, invalid) {
		t.Errorf("rules %q, codes %q", with, invalid)
	}
}

// A code is unique, and has a sentence.
func TestCodesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range slices.Concat(codes(t)...) {
		if seen[c.value] || c.sentence == "" {
			t.Errorf("%q occurs twice, or has no sentence", c.value)
		}
		seen[c.value] = true
	}
}

// The product names codes by their constants, and uses each of them.
func TestCodesAreConstants(t *testing.T) {
	takes := map[string]bool{"Warn": true, "Warned": true, "Invalidate": true, "Note": true, "warnOnce": true, "Warning": true}
	values := map[string]bool{}
	for _, c := range slices.Concat(codes(t)...) {
		values[c.value] = true
	}
	used := map[string]bool{}
	for _, root := range []string{"..", "../../pkg", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if p, ok := n.X.(*ast.Ident); ok && p.Name == "warn" {
						used[n.Sel.Name] = true
					}
				case *ast.CallExpr:
					for _, arg := range n.Args[:min(2, len(n.Args))] {
						if text, ok := arg.(*ast.BasicLit); ok && takes[called(n.Fun)] && values[strings.Trim(text.Value, `"`)] {
							t.Errorf("%s: the code %s is not a constant", files.Position(n.Pos()), text.Value)
						}
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	source, err := os.ReadFile("warn.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) takt.WarningCode`).FindAllStringSubmatch(string(source), -1) {
		if !used[m[1]] {
			t.Errorf("nothing warns with %s", m[1])
		}
	}
}

// called is the name of a function or method.
func called(f ast.Expr) string {
	switch f := f.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
