//go:build !linux

package core

func wasClosed() bool { return false }
