//go:build !linux

package apmserver

// self is not known here.
func self() string { return "" }

// alive: nobody knows, so nothing of it is removed.
func alive(string) bool { return true }
