//go:build tools

// Package tools pins the developer tools. It is a separate module, so that takt does not depend on
// them.
package tools

import _ "honnef.co/go/tools/cmd/staticcheck"
