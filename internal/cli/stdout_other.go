//go:build !linux

package cli

func wasClosed() bool { return false }
