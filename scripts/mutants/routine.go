package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"strings"
)

// routine is a declared function with a body. A test binary contains a copy of the function for each
// of its mutants, and the function itself begins with a jump to the copy in use.
type routine struct {
	from, body, end          int // offsets of func, of the opening brace and of the end
	receiver                 string
	name                     string
	types, params, results   string // with their brackets; all parameters have names
	method, given, arguments string // of a call: receiver and dot, types, and what it passes
}

// routineOf returns nil for a declaration that is not a function with a body, and for main and init,
// which nothing may call.
func (m *mutator) routineOf(d ast.Decl) *routine {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Body == nil || f.Recv == nil && (f.Name.Name == "main" || f.Name.Name == "init") {
		return nil
	}
	r := &routine{from: m.file.Offset(f.Pos()), body: m.file.Offset(f.Body.Pos()), end: m.file.Offset(f.Body.End()), name: f.Name.Name}
	r.params, r.arguments = m.fields(f.Type.Params, "argument")
	if f.Recv != nil {
		var name string
		r.receiver, name = m.fields(f.Recv, "receiver")
		r.method = strings.Trim(name, "()") + "."
	}
	if f.Type.TypeParams != nil {
		var names []string
		for _, t := range f.Type.TypeParams.List {
			for _, n := range t.Names {
				names = append(names, n.Name)
			}
		}
		r.types, r.given = m.text(f.Type.TypeParams), "["+strings.Join(names, ", ")+"]"
	}
	if f.Type.Results != nil {
		r.results = m.text(f.Type.Results)
	}
	return r
}

// fields returns a list of parameters in which each has a name, and the arguments that pass them on.
func (m *mutator) fields(list *ast.FieldList, blank string) (declared, passed string) {
	var all, arguments []string
	for _, f := range list.List {
		dots := ""
		if _, ok := f.Type.(*ast.Ellipsis); ok {
			dots = "..."
		}
		names := f.Names
		if len(names) == 0 {
			names = []*ast.Ident{{Name: "_"}}
		}
		for _, n := range names {
			name := n.Name
			if name == "_" {
				name = fmt.Sprint(blank, len(all))
			}
			all = append(all, name+" "+m.text(f.Type))
			arguments = append(arguments, name+dots)
		}
	}
	return "(" + strings.Join(all, ", ") + ")", "(" + strings.Join(arguments, ", ") + ")"
}

// head is the declaration of the function under a name, without its body.
func (r *routine) head(name string) string {
	return "func " + r.receiver + " " + name + r.types + r.params + " " + r.results + " "
}

// copied is the name of the function's copy for a mutant. It is not exported.
func (r *routine) copied(m *mutant) string { return fmt.Sprintf("mutant%d_%s", m.number, r.name) }

// jump is the statement that calls the copy and returns.
func (r *routine) jump(m *mutant) string {
	call := r.method + r.copied(m) + r.given + r.arguments
	if r.results == "" {
		return call + "; return"
	}
	return "return " + call
}

// inUse is the variable of the mutated package that has the number of the mutant.
const inUse = "mutantInUse"

// variable of the environment that sets inUse, because the tests of the project have no flag for it.
const variable = "MUTANT_IN_USE"

// selector is a file of the mutated package.
const selector = `package %s

import (
	"os"
	"strconv"
)

var ` + inUse + `, _ = strconv.Atoi(os.Getenv("` + variable + `"))
`

// withAll returns the source of a file with all these mutants of its functions, in the order of the
// text.
func withAll(source []byte, mutants []*mutant) []byte {
	var b, copies bytes.Buffer
	done := 0
	for i, m := range mutants {
		r := m.routine
		if i == 0 || mutants[i-1].routine != r {
			b.Write(source[done:r.from])
			b.WriteString(r.head(r.name) + "{ switch " + inUse + " {\n")
			done = r.body + 1
		}
		fmt.Fprintf(&b, "case %d: %s\n", m.number, r.jump(m))
		copies.WriteString("\n" + r.head(r.copied(m)) + m.body + "\n")
		if i == len(mutants)-1 || mutants[i+1].routine != r {
			b.WriteString("}\n")
		}
	}
	b.Write(source[done:])
	b.Write(copies.Bytes())
	return b.Bytes()
}
