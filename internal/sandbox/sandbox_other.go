//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"errors"
	"io"
	"os/exec"
)

// Sandbox confines nothing here.
type Sandbox struct{}

var errSystem = errors.New("a sandbox needs Linux on amd64 or arm64")

// New refuses.
func New(Options) (*Sandbox, error) { return nil, errSystem }

// Check implements the sandbox of Linux.
func (s *Sandbox) Check(string) error { return errSystem }

// Unlimited implements the sandbox of Linux.
func (s *Sandbox) Unlimited() []string { return nil }

// Confine implements the sandbox of Linux: nil confines nothing.
func (s *Sandbox) Confine(*exec.Cmd, Folder) error {
	if s == nil {
		return nil
	}
	return errSystem
}

// Guard implements the sandbox of Linux.
func (s *Sandbox) Guard(string, <-chan struct{}) <-chan error { return nil }

// String implements fmt.Stringer.
func (s *Sandbox) String() string { return "none" }

// Close implements io.Closer.
func (s *Sandbox) Close() error { return nil }

// Enter refuses.
func Enter(io.Reader) error { return errSystem }
