//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package spool

import "syscall"

// openNow keeps the opening of a pipe from waiting for its other end.
const openNow = syscall.O_NONBLOCK | syscall.O_NOFOLLOW
