// Package filelock locks files between processes. A lock ends when the file is closed or its process
// ends, in whatever way. No child inherits it.
package filelock

import "errors"

// ErrHeld says that another process holds the lock.
var ErrHeld = errors.New("another process has locked the file")
