//go:build !linux

package sock

import "errors"

// NewHost is not supported here.
func NewHost() (System, error) { return nil, errors.ErrUnsupported }
