package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kinds has every kind of a function's head.
const kinds = `package p

var mutantInUse int

const size = 1

type queue[T any] struct{ n int }

func (q *queue[T]) add(n int, _ string) (sum int) {
	q.n += n
	return q.n
}

func (queue[T]) none(int, ...string) {
	println("none")
}

func first[T any, U comparable](_ [2]U, all ...T) T {
	return all[0]
}

func init() {
	println("init")
}
`

// A file with all mutants compiles. A mutant of a constant, of a type or of init is not in it.
func TestWithAll(t *testing.T) {
	found, err := mutate("p/q.go", []byte(kinds))
	if err != nil {
		t.Fatal(err)
	}
	var inside []*mutant
	apart := 0
	for i, m := range found {
		if m.routine == nil {
			apart++
			continue
		}
		m.number = i + 1
		inside = append(inside, m)
	}
	if len(inside) != 4 || apart != 3 {
		t.Errorf("%d mutants of functions and %d others, want 4 and 3", len(inside), apart)
	}
	text := string(withAll([]byte(kinds), inside))
	for _, want := range []string{
		"func (q *queue[T]) add(n int, argument1 string) (sum int) { switch mutantInUse {\ncase 2: return q.mutant2_add(n, argument1)\ncase 3: return q.mutant3_add(n, argument1)\n}\n\n\tq.n += n\n",
		"{ switch mutantInUse {\ncase 4: receiver0.mutant4_none(argument0, argument1...); return\n}\n",
		"case 6: return mutant6_first[T, U](argument0, all...)\n}\n",
		"func (q *queue[T]) mutant3_add(n int, argument1 string) (sum int) {\n\tq.n -= n\n\treturn q.n\n}\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, "q.go", text, 0)
	if err == nil {
		_, err = (&types.Config{}).Check("p", fset, []*ast.File{tree}, nil)
	}
	if err != nil || t.Failed() {
		t.Errorf("%v in\n%s", err, text)
	}
}

// The build of a mutant outside of functions leaves the files of all others as they are.
func TestOverlaysAreApart(t *testing.T) {
	r := runner{dir: t.TempDir()}
	for overlay, text := range map[string]string{"all.json": "all", "one.json": "one"} {
		if err := r.writeOverlay(filepath.Join(r.dir, overlay), map[string][]byte{"p/q.go": []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	for overlay, want := range map[string]string{"all.json": "all", "one.json": "one"} {
		b, err := os.ReadFile(filepath.Join(r.dir, overlay))
		var list struct{ Replace map[string]string }
		if err == nil {
			err = json.Unmarshal(b, &list)
		}
		for _, file := range list.Replace {
			b, err = os.ReadFile(file)
		}
		if err != nil || string(b) != want {
			t.Errorf("%s has the file %q, %v, want %q", overlay, b, err, want)
		}
	}
}
