package outfile

import "errors"

// ErrLocked says that another process holds the lock of TryLock or TryLockShared. A lock ends when the file
// is closed or its process ends, in whatever way. No child inherits it.
var ErrLocked = errors.New("another process has locked the file")
