//go:build !linux

package sock

import "errors"

// NewHost is not to be had here.
func NewHost() (System, error) { return nil, errors.ErrUnsupported }
