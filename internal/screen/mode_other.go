//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package screen

import (
	"io"
	"os"
)

// mode is a terminal's settings, which takt does not know here.
type mode struct{}

type modes struct{ Before, View mode }

func keyByKey(int) (m modes, err error) { return m, ErrNoTerminal }

type guard struct{}

func startGuard(string, string, *os.File, modes) *guard { return nil }

func (*guard) release(bool) {}

// Guard does nothing here.
func Guard(io.Reader, *os.File) error { return ErrNoTerminal }

func (*mode) restore(int) error { return nil }

func owns(int) bool { return false }

// Suspensions receives nothing here.
func Suspensions() (c <-chan os.Signal, stop func()) { return nil, func() {} }

// Suspend does nothing here.
func Suspend() {}
