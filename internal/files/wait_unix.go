//go:build unix

package files

import "syscall"

// doNotWait opens a pipe without waiting for its other end. Files ignore the flag.
const doNotWait = syscall.O_NONBLOCK
