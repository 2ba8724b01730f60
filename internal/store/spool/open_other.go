//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package spool

const openNow = 0
