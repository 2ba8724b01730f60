//go:build unix

package core

import (
	"io"
	"os"
	"syscall"
)

// LivePipe is the pipe on which a job passes on its run: the first file after standard error.
// Processes that the job starts do not get it.
func LivePipe() io.Writer {
	const fd = 3
	syscall.CloseOnExec(fd)
	return os.NewFile(fd, "live")
}
