//go:build !linux || !(amd64 || arm64)

package sandbox

import "errors"

// Quota limits the CPU time of programs, on Linux only.
type Quota struct{}

// NewQuota is always an error.
func NewQuota(float64) (*Quota, error) {
	return nil, errors.New("CPU quotas need the control groups of Linux")
}

func (*Quota) Add([]int) error { return nil }
func (*Quota) Remove() error   { return nil }
