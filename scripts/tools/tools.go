//go:build tools

// Package tools pins the developer tools, in a module of their own: they are no
// dependency of takt.
package tools

import _ "honnef.co/go/tools/cmd/staticcheck"
