//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package screen

import "os"

// mode is a terminal's settings, which takt does not know here.
type mode struct{}

func keyByKey(int) (*mode, error) { return nil, ErrNoTerminal }

func (*mode) restore(int) error { return nil }

func owns(int) bool { return false }

// Suspensions receives nothing here.
func Suspensions() (c <-chan os.Signal, stop func()) { return nil, func() {} }

// Suspend does nothing here.
func Suspend() {}
