package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// mutant is one change of one file.
type mutant struct {
	target   *target
	file     string // from the root of the repository
	function string // Type.Method for a method, "" outside of functions
	line     int
	nth      int // number among the mutants that look the same in this function, from 1
	before   string
	after    string   // the line in the mutant
	source   []byte   // the whole file in the mutant
	routine  *routine // nil: outside of the bodies of functions
	body     string   // of the function, in the mutant
	number   int      // in the test binary, from 1
}

// String is the line that is printed for a survivor.
func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d, %s: %s -> %s", m.file, m.line, m.function, m.before, m.after)
}

// key names the mutant in equivalent.txt. It has no line number, so that it stays the same when code
// above it changes.
func (m *mutant) key() string {
	head := strings.TrimSpace(m.file + " " + m.function)
	if m.nth > 1 {
		head += " #" + strconv.Itoa(m.nth)
	}
	return head + "\n- " + m.before + "\n+ " + m.after
}

// removed replaces the line when a whole statement is removed.
const removed = "(removed)"

// mutate returns all mutants of one file, in the order of its text.
func mutate(file string, source []byte) ([]*mutant, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	m := &mutator{file: fset.File(tree.Pos()), name: file, source: source, comments: tree.Comments, unseen: map[ast.Expr]bool{}}
	for _, d := range tree.Decls {
		m.function, m.routine = functionOf(d), m.routineOf(d)
		ast.Inspect(d, m.visit)
	}
	slices.SortStableFunc(m.found, func(a, b edit) int { return a.from - b.from })
	return m.mutants(), nil
}

// functionOf is the name of a declared function, with its receiver's type.
func functionOf(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok {
		return ""
	}
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	if name, ok := receiver.(*ast.Ident); ok {
		return name.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

// edit replaces source[from:to] by text.
type edit struct {
	from, to int
	text     string
	function string
	routine  *routine
	whole    bool // a whole statement is removed
}

type mutator struct {
	file     *token.File
	name     string
	source   []byte
	comments []*ast.CommentGroup
	function string
	routine  *routine
	unseen   map[ast.Expr]bool // constants without effect
	found    []edit
}

// replace adds a mutant with text instead of the source between two positions.
func (m *mutator) replace(from, to token.Pos, text string) {
	m.found = append(m.found, edit{from: m.file.Offset(from), to: m.file.Offset(to), text: text, function: m.function, routine: m.routine})
}

// operators maps each operator to its replacement.
var operators = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC,
}

// visit adds the mutants of a node and reports whether to visit its children.
func (m *mutator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.BinaryExpr:
		m.operator(n.OpPos, n.Op)
	case *ast.AssignStmt:
		m.operator(n.TokPos, n.Tok)
	case *ast.IncDecStmt:
		m.operator(n.TokPos, n.Tok)
	case *ast.BasicLit:
		m.constant(n)
	case *ast.CallExpr:
		m.overlook(noEffect(n)...)
		m.call(n)
	case *ast.ReturnStmt:
		if fails(n) {
			m.overlook(n.Results...)
		}
		m.booleans(n)
	case *ast.IfStmt:
		m.negate(n.Cond)
	case *ast.ForStmt:
		m.negate(n.Cond)
	case *ast.SwitchStmt:
		m.cases(n)
	case *ast.BlockStmt:
		m.statements(n.List)
	case *ast.CaseClause:
		m.statements(n.Body)
	case *ast.CommClause:
		m.statements(n.Body)
	}
	return true
}

func (m *mutator) operator(at token.Pos, op token.Token) {
	if other, ok := operators[op]; ok {
		m.replace(at, at+token.Pos(len(op.String())), other.String())
	}
}

// constant increases a number by one.
func (m *mutator) constant(n *ast.BasicLit) {
	if n.Kind != token.INT && n.Kind != token.FLOAT || m.unseen[n] {
		return
	}
	text := "(" + n.Value + " + 1)"
	if i, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
		text = strconv.FormatInt(i+1, 10)
	}
	m.replace(n.Pos(), n.End(), text)
}

// call swaps min and max.
func (m *mutator) call(n *ast.CallExpr) {
	name, ok := n.Fun.(*ast.Ident)
	if other := map[string]string{"min": "max", "max": "min"}; ok && other[name.Name] != "" {
		m.replace(name.Pos(), name.End(), other[name.Name])
	}
}

// booleans inverts each true and false that is returned.
func (m *mutator) booleans(n *ast.ReturnStmt) {
	for _, r := range n.Results {
		name, ok := r.(*ast.Ident)
		if other := map[string]string{"true": "false", "false": "true"}; ok && other[name.Name] != "" {
			m.replace(name.Pos(), name.End(), other[name.Name])
		}
	}
}

// negate inverts a condition, except for == and !=, which operator already inverts.
func (m *mutator) negate(cond ast.Expr) {
	if cond == nil {
		return
	}
	if b, ok := cond.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return
	}
	m.replace(cond.Pos(), cond.End(), "!("+m.text(cond)+")")
}

// cases inverts the conditions of a switch without a tag.
func (m *mutator) cases(n *ast.SwitchStmt) {
	if n.Tag != nil {
		return
	}
	for _, clause := range n.Body.List {
		for _, cond := range clause.(*ast.CaseClause).List {
			m.negate(cond)
		}
	}
}

// statements removes calls, assignments, ++, --, break, continue and a return without values.
func (m *mutator) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt:
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || allBlank(s.Lhs) {
				continue
			}
		case *ast.BranchStmt:
			if s.Tok != token.BREAK && s.Tok != token.CONTINUE {
				continue
			}
		case *ast.ReturnStmt:
			if len(s.Results) > 0 {
				continue
			}
		default:
			continue
		}
		m.found = append(m.found, edit{from: m.file.Offset(s.Pos()), to: m.file.Offset(s.End()), function: m.function, routine: m.routine, whole: true})
	}
}

// allBlank reports whether an assignment has only blanks on the left, as in _ = f().
func allBlank(left []ast.Expr) bool {
	return !slices.ContainsFunc(left, func(e ast.Expr) bool {
		name, ok := e.(*ast.Ident)
		return !ok || name.Name != "_"
	})
}

func (m *mutator) text(n ast.Node) string {
	return string(m.source[m.file.Offset(n.Pos()):m.file.Offset(n.End())])
}

// mutants applies each edit to a copy of the file.
func (m *mutator) mutants() []*mutant {
	var all []*mutant
	seen := map[string]int{}
	for _, e := range m.found {
		u := &mutant{file: m.name, function: e.function, line: m.file.Line(m.file.Pos(e.from))}
		u.source = slices.Concat(m.source[:e.from], []byte(e.text), m.source[e.to:])
		if r := e.routine; r != nil && e.from >= r.body {
			u.routine, u.body = r, string(u.source[r.body:r.end+len(u.source)-len(m.source)])
		}
		u.before, u.after = m.lines(e)
		key := u.key()
		seen[key]++
		u.nth = seen[key]
		all = append(all, u)
	}
	return all
}

// lines returns the source line of an edit before and after it, without indentation and without a
// comment at its end. Several lines are joined into one.
func (m *mutator) lines(e edit) (before, after string) {
	begin, end := e.from, e.to
	for begin > 0 && m.source[begin-1] != '\n' {
		begin--
	}
	for end < len(m.source) && m.source[end] != '\n' {
		end++
	}
	for _, c := range m.comments {
		if at := m.file.Offset(c.Pos()); e.to <= at && at < end {
			end = at
		}
	}
	before = oneLine(string(m.source[begin:end]))
	if after = oneLine(string(m.source[begin:e.from]) + e.text + string(m.source[e.to:end])); e.whole && after == "" {
		after = removed
	}
	return before, after
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
