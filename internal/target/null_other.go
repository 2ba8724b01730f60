//go:build !linux

package target

import (
	"context"
	"net"
)

// null is not there: the options with it are refused.
type null struct{}

func newNull([]byte) *null { return nil }

func (*null) serve(context.Context, *net.TCPListener) error { return errNoNull }

func (*null) truth() *Truth { return nil }
