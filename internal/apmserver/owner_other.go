//go:build !linux

package apmserver

// self is unknown here.
func self() string { return "" }

// alive is unknown here, so no container is removed.
func alive(string) bool { return true }
