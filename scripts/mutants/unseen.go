package main

import (
	"go/ast"
	"slices"
)

// overlook notes that it changes nothing when one of the expressions is a number and grows by one.
func (m *mutator) overlook(all ...ast.Expr) {
	for _, e := range all {
		if sign, ok := e.(*ast.UnaryExpr); ok {
			e = sign.X
		}
		m.unseen[e] = true
	}
}

// noEffect returns the arguments of a call that have the same effect when they are one larger: the
// sign of math.Inf, the size in bits and the negative precision of a float as text, and the room of a
// map or slice.
func noEffect(call *ast.CallExpr) []ast.Expr {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		if f.Name != "make" || len(call.Args) < 2 {
			return nil
		}
		if _, ok := call.Args[0].(*ast.MapType); ok {
			return call.Args[1:]
		}
		return call.Args[2:]
	case *ast.SelectorExpr:
		of, ok := f.X.(*ast.Ident)
		if !ok {
			return nil
		}
		switch of.Name + "." + f.Sel.Name {
		case "math.Inf", "math.IsInf", "strconv.ParseFloat", "strconv.FormatFloat", "slices.Grow":
			return call.Args
		}
	}
	return nil
}

// fails reports whether a return says false or has a new or passed error, beside which nobody reads
// the other results.
func fails(n *ast.ReturnStmt) bool {
	return len(n.Results) > 1 && slices.ContainsFunc(n.Results, func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.Ident:
			return e.Name == "false" || e.Name == "err"
		case *ast.CallExpr:
			f, ok := e.Fun.(*ast.SelectorExpr)
			return ok && (f.Sel.Name == "Errorf" || f.Sel.Name == "New")
		}
		return false
	})
}
